"""`decapod knowledge`: the whole life of an entry."""
