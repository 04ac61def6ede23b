"""How long work tells that it goes on."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]  # what is being done, how much is done, of how much


def silent(label: str, done: int, total: int | None) -> None:
    """Nobody watches."""
