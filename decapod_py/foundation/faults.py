"""A named step of a write, at which a test may kill the process for real."""

from __future__ import annotations

import os

_KILL = 9

_deadly_step = os.environ.get("DECAPOD_TEST_KILL_AT")
_signal = _KILL


def die_at(name: str | None, signal: int = _KILL) -> None:
    """Chooses the step in a process that is forked after this module was imported."""
    global _deadly_step, _signal
    _deadly_step, _signal = name, signal


def step(name: str) -> None:
    if name == _deadly_step:
        os.kill(os.getpid(), _signal)


def tears_a_line() -> bool:
    """Whether a test wants the process to die with half a line written."""
    return _deadly_step == "half-written"
