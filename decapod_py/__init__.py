"""Decapod keeps what a team and its agents know inside the git repository, and keeps it true."""

__version__ = "0.1.0"
