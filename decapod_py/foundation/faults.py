"""A named step of a write, at which a test may kill the process for real."""

from __future__ import annotations

import os

_DEADLY_STEP = os.environ.get("DECAPOD_TEST_KILL_AT")


def step(name: str) -> None:
    if name == _DEADLY_STEP:
        os.kill(os.getpid(), 9)


def tears_a_line() -> bool:
    """Whether a test wants the process to die with half a line written."""
    return _DEADLY_STEP == "half-written"
