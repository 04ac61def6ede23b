"""`decapod watch`: takes hand edits in as they are made."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from decapod_py.foundation.errors import DecapodError

_LOOK_EVERY = 0.2  # seconds
_QUIET_FOR = 0.5  # an editor may write, rename and write again: nothing is taken in before it is done


def watch(show: Callable[[dict[str, Any]], None], complain: Callable[[DecapodError], object]) -> int:
    """Runs `sync` whenever the Markdown has changed and been left alone for half a second, until it is interrupted."""
    from decapod_py.views.pages import on_disk
    from decapod_py.workspace import Workspace

    folder = Workspace(".").knowledge
    complaint = ""
    while True:
        # From before: what is saved while the sync runs is a change, too.
        left = on_disk(folder)
        try:
            result = _sync()
            complaint = ""
            if any(result[name] for name in ("edited", "moved", "added", "deprecated", "revived", "problems")):
                show(result)
        except DecapodError as problem:
            # Another branch may be checked out that has no `.decapod`, and this one again after it.
            if problem.message != complaint:
                complain(problem)
            complaint = problem.message
        _wait_for_a_change(left, lambda: on_disk(folder))


def _sync() -> dict[str, Any]:
    from types import SimpleNamespace

    from decapod_py.operations import catalogue
    from decapod_py.workspace import Workspace

    workspace = Workspace(".")
    try:
        request = SimpleNamespace(dry_run=False, allow_deletions=False, actor=None)
        result: dict[str, Any] = catalogue.find("sync", "sync").function(workspace, request)
        return result
    finally:
        workspace.close()


def _wait_for_a_change(left: dict[str, str], look: Callable[[], dict[str, str]]) -> None:
    seen = left
    changed_at = 0.0
    while seen == left or time.monotonic() - changed_at < _QUIET_FOR:
        time.sleep(_LOOK_EVERY)
        now = look()
        if now != seen:
            changed_at = time.monotonic()
        seen = now
