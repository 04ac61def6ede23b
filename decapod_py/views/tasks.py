"""Tasks and findings as the ledgers have them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from decapod_py.domain.tasks import Finding, Task

if TYPE_CHECKING:
    from decapod_py.views.state import State

_TASK = ", ".join(Task._fields)
_FINDING = ", ".join(Finding._fields)


def task(state: State, task_id: str) -> Task | None:
    return next(iter(tasks(state, "id = ?", (task_id,))), None)


def tasks(
    state: State, where: str = "1", arguments: Iterable[Any] = (), limit: int | None = None, offset: int = 0
) -> list[Task]:
    """The tasks that match, newest first."""
    rows = state.connection.execute(
        f"SELECT {_TASK} FROM tasks WHERE {where} ORDER BY id DESC LIMIT ? OFFSET ?",
        (*arguments, -1 if limit is None else limit, offset),
    )
    return [_task_from(row) for row in rows]


def tasks_beginning(state: State, prefix: str, limit: int = 5) -> list[str]:
    """Ids that begin with this text."""
    rows = state.connection.execute(
        "SELECT id FROM tasks WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", (prefix, prefix + "\U0010ffff", limit)
    )
    return [row[0] for row in rows]


def findings(state: State, where: str, arguments: Iterable[Any], limit: int) -> list[Finding]:
    """The newest findings that match, oldest first."""
    rows = state.connection.execute(
        f"SELECT {_FINDING} FROM findings WHERE {where} ORDER BY id DESC LIMIT ?", (*arguments, limit)
    ).fetchall()
    return [Finding(*row) for row in rows[::-1]]


def finding_counts(state: State, task_ids: list[str]) -> dict[str, int]:
    rows = state.connection.execute(
        "SELECT task_id, count(*) FROM findings WHERE task_id IN (SELECT value FROM json_each(?)) GROUP BY task_id",
        (json.dumps(task_ids),),
    )
    return dict(rows.fetchall())


def _task_from(row: tuple[Any, ...]) -> Task:
    found = Task(*row)
    return found._replace(tags=tuple(json.loads(found.tags)))  # type: ignore[arg-type]
