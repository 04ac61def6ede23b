"""The composition root (skeleton while it is being built)."""

from __future__ import annotations

from collections.abc import Callable

from decapod_py.foundation.clock import Clock, system_clock

Progress = Callable[[str, int, int | None], None]  # label, done, total


class Workspace:
    """The opened `.decapod` of one working tree; everything opens on first use."""

    def __init__(
        self,
        directory: str = ".",
        *,
        actor: str | None = None,
        agent: bool = False,
        clock: Clock = system_clock,
        progress: Progress | None = None,
    ) -> None: ...

    root: str  # absolute path of the directory that holds .decapod; raises Refused("not-initialised") on first use
    agent: bool  # the caller is an agent (MCP): it proposes, it never approves
    warnings: list[str]  # sentences for the user, collected while an operation ran

    def close(self) -> None: ...
