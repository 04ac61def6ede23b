"""What was known earlier: the fold of the events recorded by a time, or of those in a commit's ledgers.

Never a filter on today's rows. A text that was redacted since is not shown as of an earlier time either.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from decapod_py.domain.event import Event
from decapod_py.domain.fold import OUTCOMES, feedback_of, fold_entry
from decapod_py.views.state import Lines, State

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.storage import git

Feedback = dict[str, dict[str, int]]


class Past(Protocol):
    moment: int  # when that was: recency and expiry are measured from there

    def entry(self, entry_id: str) -> Entry | None: ...

    def entries(self) -> list[Entry]:
        """Every entry as it was, smallest id first."""

    def feedback(self) -> Feedback: ...


class PastTime:
    """Recorded by then."""

    def __init__(self, state: State, moment: int) -> None:
        self.moment = moment
        self._state = state

    def entry(self, entry_id: str) -> Entry | None:
        rows = self._state.connection.execute(_EVENTS + " AND s.subject = ?", (self.moment, f"e:{entry_id}")).fetchall()
        return _folded(self._state, [rows])[0] if rows else None

    def entries(self) -> list[Entry]:
        query = _EVENTS + " AND s.subject LIKE 'e:%' ORDER BY s.subject"
        rows = self._state.connection.execute(query, (self.moment,)).fetchall()
        groups = [list(group) for _, group in groupby(rows, key=lambda row: row[0])]
        return sorted((entry for entry in _folded(self._state, groups) if entry), key=lambda entry: entry.id)

    def feedback(self) -> Feedback:
        counted: Feedback = {}
        rows = self._state.connection.execute(
            "SELECT f.entry_id, f.outcome, count(*) FROM event_feedback f JOIN events e ON e.number = f.event"
            " WHERE e.recorded <= ? GROUP BY f.entry_id, f.outcome",
            (self.moment,),
        )
        for entry_id, outcome, count in rows:
            counted.setdefault(entry_id, dict.fromkeys(OUTCOMES, 0))[outcome] = count
        return counted


_EVENTS = (
    "SELECT s.subject, e.segment, e.offset, e.length FROM event_subjects s JOIN events e ON e.number = s.event"
    " WHERE (e.recorded <= ? OR e.type = 'event.redacted')"
)


def _folded(state: State, groups: list[list[tuple[str, str, int, int]]]) -> list[Entry | None]:
    lines = Lines(state.ledgers)
    try:
        return [fold_entry(group[0][0][2:], [lines.event(*row[1:]) for row in group]) for group in groups]
    finally:
        lines.close()


class PastCommit:
    """What the ledgers of a commit say: exactly what the repository knew there."""

    def __init__(self, state: State, root: str, repository: git.Repository, commit: str) -> None:
        from decapod_py.storage import git

        self._state = state
        self._root = root
        self._repository = repository
        self._commit = commit
        self.moment = int(git.ask(root, "show", "-s", "--format=%ct", commit).strip() or 0) * 1000

    def entry(self, entry_id: str) -> Entry | None:
        events = self._by_subject.get(f"e:{entry_id}")
        return fold_entry(entry_id, events) if events else None

    def entries(self) -> list[Entry]:
        subjects = sorted(subject for subject in self._by_subject if subject.startswith("e:"))
        found = [self.entry(subject[2:]) for subject in subjects]
        return sorted((entry for entry in found if entry), key=lambda entry: entry.id)

    def feedback(self) -> Feedback:
        counted: Feedback = {}
        for event in self._events:
            outcome = feedback_of(event)
            for entry_id in outcome[1] if outcome else ():
                counted.setdefault(entry_id, dict.fromkeys(OUTCOMES, 0))[outcome[0]] += 1  # type: ignore[index]
        return counted

    @cached_property
    def _events(self) -> list[Event]:
        from decapod_py.views.change import events_at

        return list(events_at(self._root, self._repository, self._commit).values())

    @cached_property
    def _by_subject(self) -> dict[str, list[Event]]:
        redactions = self._state.events("type = 'event.redacted'")
        return _grouped([*self._events, *redactions])


def _grouped(events: Iterable[Event]) -> dict[str, list[Event]]:
    from decapod_py.views.projection import subjects_of

    grouped: dict[str, list[Event]] = {}
    for event in events:
        for subject in subjects_of(event):
            grouped.setdefault(subject, []).append(event)
    return grouped
