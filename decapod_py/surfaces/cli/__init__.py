"""The command line: a fast route for what is surely right, Typer for everything else, one way to run and to answer."""
