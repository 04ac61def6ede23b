"""`decapod watch`: takes hand edits in as they are made."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

_LOOK_EVERY = 0.2  # seconds
_QUIET_FOR = 0.5  # an editor may write, rename and write again: nothing is taken in before it is done


def watch(show: Callable[[dict[str, Any]], None]) -> int:
    """Runs `sync` whenever the Markdown has changed and been left alone for half a second, until it is interrupted."""
    from types import SimpleNamespace

    from decapod_py.operations import catalogue
    from decapod_py.views.pages import on_disk
    from decapod_py.workspace import Workspace

    sync = catalogue.find("sync", "sync").function
    request = SimpleNamespace(dry_run=False, allow_deletions=False, actor=None)
    folder = Workspace(".").knowledge
    while True:
        workspace = Workspace(".")
        try:
            result = sync(workspace, request)
        finally:
            workspace.close()
        if any(result[name] for name in ("edited", "moved", "added", "deprecated", "problems")):
            show(result)
        _wait_for_a_change(lambda: on_disk(folder) if os.path.isdir(folder) else {})


def _wait_for_a_change(look: Callable[[], dict[str, str]]) -> None:
    left = seen = look()
    changed_at = 0.0
    while seen == left or time.monotonic() - changed_at < _QUIET_FOR:
        time.sleep(_LOOK_EVERY)
        now = look()
        if now != seen:
            changed_at = time.monotonic()
        seen = now
