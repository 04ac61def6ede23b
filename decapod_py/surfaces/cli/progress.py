"""A progress bar on standard error, for work that takes long enough to wonder about."""

from __future__ import annotations

import time
from typing import Any

_PATIENCE = 0.4  # seconds; most work is over before, and then Rich is never imported


class Meter:
    """The `progress(label, done, total)` a workspace reports to."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __call__(self, label: str, done: int, total: int | None) -> None:
        if self._bar is None:
            if time.monotonic() - self._started < _PATIENCE:
                return
            self._bar = _started_bar()
        if label not in self._tasks:
            self._tasks[label] = self._bar.add_task(label, total=total)
        self._bar.update(self._tasks[label], completed=done, total=total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _started_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar
