"""One thread that runs every operation, one after the other, on one workspace that stays open.

Operations are synchronous and a database connection belongs to its thread; keeping both makes the second call fast.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from decapod_py.workspace import Workspace

P = ParamSpec("P")
R = TypeVar("R")


class Worker:
    """Everything but `run` happens in the worker's own thread."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="operations")
        self._workspace: Workspace | None = None
        self._actor: str | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Waits for the operation that is running: the client has gone, what it asked for is still done whole.
        self._thread.submit(self.close)
        self._thread.shutdown(wait=True)

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.wrap_future(self._thread.submit(function, *args, **kwargs))

    def workspace(self, actor: str) -> Workspace:
        """The workspace as this actor, with no warnings of an earlier call."""
        from decapod_py.workspace import Workspace

        if self._workspace is None or self._actor != actor:
            self.close()
            self._workspace, self._actor = Workspace(self._directory, actor=actor, agent=True), actor
        self._workspace.warnings.clear()
        return self._workspace

    def close(self) -> None:
        """After a failed call too, so that the next one starts from nothing doubtful."""
        workspace, self._workspace = self._workspace, None
        if workspace is not None:
            workspace.close()
