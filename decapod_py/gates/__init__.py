"""The gates of `decapod validate`: one file a gate, `check(context) -> findings`. A gate never repairs."""
