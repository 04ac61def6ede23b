"""Bytes: segments, database, git, locks, front matter."""
