"""Entries that supersede each other in a circle: none of them would be the one that holds."""

from __future__ import annotations

import json
from collections.abc import Iterator

from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding


def check(context: Context) -> Iterator[Finding]:
    rows = context.state.connection.execute("SELECT id, supersedes FROM entries WHERE supersedes != '[]' ORDER BY id")
    replaced = {entry_id: json.loads(named) for entry_id, named in rows}
    for circle in _circles(replaced):
        if context.change is None or not set(circle).isdisjoint(context.change.entry_ids):
            yield context.finding(
                "supersede-cycle",
                f"these entries supersede each other in a circle: {' -> '.join([*circle, circle[0]])}",
                f"revive the one that holds, such as: decapod knowledge revive {circle[0]}",
                entry=circle[0],
            )


def _circles(replaced: dict[str, list[str]]) -> list[list[str]]:
    """A circle for each step that leads back, found without recursion; each begins with its smallest id."""
    found: list[list[str]] = []
    done: set[str] = set()
    for start in replaced:
        path: list[str] = []
        waiting = [(start, 0)]
        while waiting:
            entry_id, depth = waiting.pop()
            del path[depth:]
            if entry_id in path:
                circle = path[path.index(entry_id) :]
                smallest = circle.index(min(circle))
                found.append(circle[smallest:] + circle[:smallest])
            elif entry_id not in done:
                done.add(entry_id)
                path.append(entry_id)
                waiting += [(named, len(path)) for named in replaced.get(entry_id, ())]
    return found
