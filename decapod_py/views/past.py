"""What was known at an earlier time: the fold of the events recorded by then, never a filter on today's rows."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from decapod_py.domain.fold import OUTCOMES, fold_entry
from decapod_py.views.state import Lines, State

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry


def entry_as_of(state: State, entry_id: str, moment: int) -> Entry | None:
    rows = state.connection.execute(_EVENTS + " AND s.subject = ?", (moment, f"e:{entry_id}")).fetchall()
    return _folded(state, [rows])[0] if rows else None


def entries_as_of(state: State, moment: int) -> list[Entry]:
    """Every entry as it was, smallest id first."""
    rows = state.connection.execute(_EVENTS + " AND s.subject LIKE 'e:%' ORDER BY s.subject", (moment,)).fetchall()
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row[0])]
    return sorted((entry for entry in _folded(state, groups) if entry), key=lambda entry: entry.id)


def feedback_as_of(state: State, moment: int) -> dict[str, dict[str, int]]:
    counted: dict[str, dict[str, int]] = {}
    rows = state.connection.execute(
        "SELECT f.entry_id, f.outcome, count(*) FROM event_feedback f JOIN events e ON e.number = f.event"
        " WHERE e.recorded <= ? GROUP BY f.entry_id, f.outcome",
        (moment,),
    )
    for entry_id, outcome, count in rows:
        counted.setdefault(entry_id, dict.fromkeys(OUTCOMES, 0))[outcome] = count
    return counted


_EVENTS = (
    "SELECT s.subject, e.segment, e.offset, e.length FROM event_subjects s JOIN events e ON e.number = s.event"
    # A text that was redacted since is not shown as of an earlier time either.
    " WHERE (e.recorded <= ? OR e.type = 'event.redacted')"
)


def _folded(state: State, groups: list[list[tuple[str, str, int, int]]]) -> list[Entry | None]:
    lines = Lines(state.ledgers)
    try:
        return [fold_entry(group[0][0][2:], [lines.event(*row[1:]) for row in group]) for group in groups]
    finally:
        lines.close()
