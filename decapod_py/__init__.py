"""Decapod keeps what a team and its agents know inside the git repository, and keeps it true."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"
__all__ = ["Decapod", "DecapodError", "__version__", "open"]


def __getattr__(name: str) -> Any:
    """The Python call, imported when it is asked for: the command line starts without it."""
    if name in ("open", "Decapod"):
        from decapod_py import client

        return getattr(client, name)
    if name == "DecapodError":
        from decapod_py.foundation.errors import DecapodError

        return DecapodError
    raise AttributeError(name)
