"""Appends events: the one place where something becomes true."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from decapod_py.domain.event import FORMAT, Event, seal, to_line
from decapod_py.foundation.clock import LATEST, format_time
from decapod_py.foundation.errors import Refused
from decapod_py.foundation.faults import step
from decapod_py.foundation.files import stamp
from decapod_py.foundation.ids import milliseconds_of, ulid
from decapod_py.foundation.progress import silent
from decapod_py.storage import git, segments
from decapod_py.storage.database import remember, remembered
from decapod_py.storage.segments import Segment
from decapod_py.views import projection
from decapod_py.views.state import State

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.domain.entry import Entry


class Draft(NamedTuple):
    """An event that is decided and not yet written."""

    ledger: str
    type: str
    fields: dict[str, Any]
    text: dict[str, Any]


class Writer:
    """Decides against the state and appends. Lives only inside `Workspace.writing`."""

    def __init__(
        self, connection: Connection, ledgers: str, local: str, repository: git.Repository | None, now: int
    ) -> None:
        self.state = State(connection, ledgers)
        self.now = now
        self.appended = 0
        self._connection = connection
        self._ledgers = ledgers
        self._kept = os.path.join(local, "kept")
        self._repository = repository

    def append(self, actor: str, draft: Draft, after: str = "") -> Event:
        """Writes one event. When this returns it has happened."""
        return self.append_many(actor, [draft], after)[0]

    def append_many(self, actor: str, drafts: list[Draft], after: str = "") -> list[Event]:
        """Writes events of one ledger, each building on the one before, with one fsync for all.

        What they were decided from may be an event that is not here yet: their ids sort `after` that one, too.
        """
        ledger = drafts[0].ledger
        assert all(draft.ledger == ledger for draft in drafts)
        events = self._sealed(actor, drafts, after)
        lines = [to_line(event) for event in events]
        position = self._position()
        path, offset = self._open_segment(ledger, events[0]["event_id"], position)
        segment = segments.append(self._ledgers, path, b"".join(lines))
        self.appended += len(events)
        step("appended")
        if not offset:
            segments.keep(self._ledgers, self._kept, path)
        self._fold(events, lines, segment, offset)
        if self._position() == position:
            remember(self._connection, f"open:{ledger}", json.dumps([path, segment.size, segment.inode, position]))
        return events

    def _position(self) -> str | None:
        """Where git stands; nothing while it works, for it may be reading the very bytes that would grow."""
        return None if git.is_at_work(self._repository) else git.position(self._repository)

    def new_entry_id(self) -> str:
        return ulid(self.now)

    def file_of(self, event: Event) -> str:
        """The segment an event was written to, seen from the top of the working tree."""
        row = self._connection.execute(
            "SELECT segment FROM events WHERE hash = ?", (bytes.fromhex(event["hash"]),)
        ).fetchone()
        return f".decapod/ledgers/{row[0]}"

    def was(self, *entries: Entry) -> dict[str, list[str]]:
        """The versions a change to these entries is decided from."""
        return {entry.id: list(entry.heads) for entry in entries}

    def _sealed(self, actor: str, drafts: list[Draft], after: str) -> list[Event]:
        newest = max(self.state.newest_id() or "", after)
        milliseconds = max(self.now, milliseconds_of(newest) + 1 if newest else 0)
        if milliseconds + len(drafts) > LATEST:
            raise Refused("clock", f"no id sorts after the event {newest}, which some broken clock wrote")
        parents = self.state.heads(drafts[0].ledger)
        events = []
        for number, draft in enumerate(drafts):
            fields = {
                **draft.fields,
                "v": FORMAT,
                # An id sorts after everything the event was decided from, whatever this machine's clock says.
                "event_id": ulid(milliseconds + number),
                "ts": format_time(self.now),
                "type": draft.type,
                "ledger": draft.ledger,
                "actor": actor,
                "prev": parents,
            }
            event = seal(fields, draft.text, os.urandom(16).hex(), self._shift(draft))
            events.append(event)
            parents = [event["hash"]]
        return events

    def _shift(self, draft: Draft) -> int:
        """Another place for each version of an entry, so that git finds no two segments alike."""
        entry_id = draft.fields.get("entry_id", "")
        earlier = (
            self.state.count("event_subjects", "subject = ?", (f"e:{entry_id}",)) if draft.fields.get("was") else 0
        )
        return crc32(entry_id.encode()) + earlier

    def _open_segment(self, ledger: str, event_id: str, position: str | None) -> tuple[str, int]:
        """The segment that may grow, or a new one: whatever git may have taken in is never touched again."""
        note = remembered(self._connection, f"open:{ledger}")
        if note and position is not None:
            path, size, inode, left_at = json.loads(note)
            found = stamp(os.path.join(self._ledgers, path))
            if left_at == position and found and (found[0], found[2]) == (inode, size) and size < segments.FULL:
                return path, size
        return segments.new_path(ledger, event_id, segments.month_of(event_id)), 0

    def _fold(self, events: list[Event], lines: list[bytes], segment: Segment, offset: int) -> None:
        arrivals = []
        for event, line in zip(events, lines, strict=True):
            arrivals.append(projection.arrival(event, segment.path, offset, len(line)))
            offset += len(line)
        touched = projection.take_in(self._connection, arrivals)
        projection.note_segment(self._connection, segment)
        at_hand = {bytes.fromhex(event["hash"]): event for event in events}
        projection.refold(self._connection, self._ledgers, touched, at_hand, silent)
