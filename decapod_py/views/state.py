"""What the ledgers say now, read from the database that `projection` keeps."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain.anchors import Anchor
from decapod_py.domain.entry import Entry
from decapod_py.domain.event import Event
from decapod_py.domain.fold import OUTCOMES, Citation, Promotion, citations_of, versions_of
from decapod_py.foundation.canonical import encoder

if TYPE_CHECKING:
    from sqlite3 import Connection

COLUMNS = ", ".join(Entry._fields)
# By place and not by name: these run once for every entry of a rebuild.
_LISTS = tuple(map(Entry._fields.index, ("provenances", "tags", "supersedes", "contributors", "heads", "aliases")))
_FLAGS = tuple(map(Entry._fields.index, ("expires_by_default", "filed")))
_ANCHORS = Entry._fields.index("anchors")
_encode_list = encoder(separators=(", ", ": "), sort_keys=False)


def entry_from_row(row: Sequence[Any]) -> Entry:
    """An entry from the columns in `COLUMNS`."""
    values = list(row)
    for place in _LISTS:
        values[place] = () if values[place] == "[]" else tuple(json.loads(values[place]))
    for place in _FLAGS:
        values[place] = bool(values[place])
    values[_ANCHORS] = () if values[_ANCHORS] == "[]" else anchors_from_text(values[_ANCHORS])
    return Entry(*values)


def anchors_from_text(text: str) -> tuple[Anchor | None, ...]:
    return tuple(Anchor(*fields) if fields else None for fields in json.loads(text))


def row_from_entry(entry: Entry) -> list[Any]:
    row: list[Any] = list(entry)
    for place in (*_LISTS, _ANCHORS):
        row[place] = _encode_list(row[place]) if row[place] else "[]"
    return row


class Placed(NamedTuple):
    """An event and where it stands."""

    event: Event
    segment: str
    offset: int


_LARGE = 16_384  # one decay run may name every entry: it is parsed once, not once an entry
LargeEvents = dict[tuple[str, int], Event]  # by segment and offset


class Lines:
    """Reads events back from where the database says they are."""

    def __init__(self, ledgers: str, large: LargeEvents | None = None) -> None:
        self._ledgers = ledgers
        self._handles: dict[str, int] = {}
        self._large: LargeEvents = {} if large is None else large

    def event(self, segment: str, offset: int, length: int) -> Event:
        found = self._large.get((segment, offset))
        if found is None:
            found = self._read(segment, offset, length)
            if length > _LARGE:
                if len(self._large) >= 16:
                    self._large.clear()
                self._large[segment, offset] = found
        return found

    def _read(self, segment: str, offset: int, length: int) -> Event:
        handle = self._handles.get(segment)
        if handle is None:
            if len(self._handles) >= 64:
                self.close()
            handle = self._handles[segment] = os.open(os.path.join(self._ledgers, segment), os.O_RDONLY)
        found: Event = json.loads(os.pread(handle, length, offset))
        return found

    def close(self) -> None:
        for handle in self._handles.values():
            os.close(handle)
        self._handles.clear()


class State:
    """Questions about the folded state. It never writes."""

    def __init__(self, connection: Connection, ledgers: str) -> None:
        self.connection = connection
        self.ledgers = ledgers
        self._large: LargeEvents = {}

    def entry(self, entry_id: str) -> Entry | None:
        row = self.connection.execute(f"SELECT {COLUMNS} FROM entries WHERE id = ?", (entry_id,)).fetchone()
        return entry_from_row(row) if row else None

    def entries(self, where: str = "1", arguments: Iterable[Any] = (), order: str = "id") -> Iterator[Entry]:
        query = f"SELECT {COLUMNS} FROM entries WHERE {where} ORDER BY {order}"
        for row in self.connection.execute(query, tuple(arguments)):
            yield entry_from_row(row)

    def entries_beginning(self, prefix: str, limit: int = 5) -> list[str]:
        """Ids that begin with this text."""
        rows = self.connection.execute(
            "SELECT id FROM entries WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
            (prefix, prefix + "\U0010ffff", limit),
        )
        return [row[0] for row in rows]

    def cited_paths(self) -> list[str]:
        """Every file that some entry cites."""
        return [row[0] for row in self.connection.execute("SELECT DISTINCT path FROM cited_files ORDER BY path")]

    def holders(self, merge_key: str, scope: str) -> list[Entry]:
        """The active entries that hold a merge key, smallest id first."""
        return list(self.entries("merge_key = ? AND scope = ? AND status = 'active'", (merge_key, scope)))

    def clashes(self) -> list[tuple[str, str, list[str]]]:
        """Merge keys that more than one active entry holds."""
        rows = self.connection.execute(
            "SELECT merge_key, scope, json_group_array(id) FROM entries"
            " WHERE merge_key IS NOT NULL AND status = 'active' GROUP BY merge_key, scope HAVING count(*) > 1"
            " ORDER BY merge_key, scope"
        )
        return [(key, scope, sorted(json.loads(ids))) for key, scope, ids in rows]

    def diverged(self) -> list[str]:
        rows = self.connection.execute(
            "SELECT id FROM entries WHERE json_array_length(heads) > 1 AND status != 'deleted' ORDER BY id"
        )
        return [row[0] for row in rows]

    def path_is_taken(self, path: str) -> bool:
        return self.connection.execute("SELECT 1 FROM entries WHERE path = ?", (path,)).fetchone() is not None

    def promotion(self, promotion_id: str) -> Promotion | None:
        columns = ", ".join(Promotion._fields)
        row = self.connection.execute(f"SELECT {columns} FROM promotions WHERE id = ?", (promotion_id,)).fetchone()
        return promotion_from_row(row) if row else None

    def promotions(self) -> list[Promotion]:
        columns = ", ".join(Promotion._fields)
        return [
            promotion_from_row(row) for row in self.connection.execute(f"SELECT {columns} FROM promotions ORDER BY id")
        ]

    def promotion_uses(self, promotion_id: str) -> list[str]:
        """The procedural entries that rest on a promotion."""
        rows = self.connection.execute(
            "SELECT entry_id FROM promotion_uses WHERE promotion = ? ORDER BY entry_id", (promotion_id,)
        )
        return [row[0] for row in rows]

    def feedback(self, entry_id: str) -> dict[str, int]:
        row = self.connection.execute(
            f"SELECT {', '.join(OUTCOMES)} FROM feedback WHERE entry_id = ?", (entry_id,)
        ).fetchone()
        return dict(zip(OUTCOMES, row or (0, 0, 0, 0), strict=True))

    def heads(self, ledger: str) -> list[str]:
        """The hashes that the next event of a ledger builds on."""
        rows = self.connection.execute("SELECT hash FROM events WHERE ledger = ? AND is_head", (ledger,))
        return sorted(row[0].hex() for row in rows)

    def newest_id(self) -> str | None:
        newest: str | None = self.connection.execute("SELECT max(event_id) FROM events").fetchone()[0]
        return newest

    def has_event(self, event_id: str) -> bool:
        return self.connection.execute("SELECT 1 FROM events WHERE event_id = ?", (event_id,)).fetchone() is not None

    def event_of_hash(self, identity: str) -> Event | None:
        try:
            digest = bytes.fromhex(identity)
        except ValueError:
            return None
        row = self.connection.execute("SELECT segment, offset, length FROM events WHERE hash = ?", (digest,)).fetchone()
        return self._read([row])[0] if row else None

    def citations(self, entry: Entry) -> list[Citation]:
        """The citations of an entry with the text they cited, which only its events have."""
        return citations_of(entry.id, self.events_of(f"e:{entry.id}"), entry.version)

    def hash_of(self, entry: Entry) -> str:
        """The hash of the version that shows. Its id alone would not do: other events may have been given it too."""
        versions = versions_of(entry.id, self.events_of(f"e:{entry.id}"))
        return str(next(version["hash"] for version in versions[::-1] if version["event_id"] == entry.version))

    def events_of(self, subject: str) -> list[Event]:
        """Every event that acts on a subject, in order."""
        return self._read(self._places_of(subject))

    def unredacted_events_of(self, subject: str) -> list[Event]:
        """The same with whatever text the lines still have: to recognise it elsewhere, never to show it."""
        return self._read_lines(self._places_of(subject))

    def unredacted_events(self, event_id: str) -> list[Event]:
        """The events of this id, one in sound ledgers, with whatever text their lines still have."""
        rows = self.connection.execute(
            "SELECT segment, offset, length FROM events WHERE event_id = ? ORDER BY hash", (event_id,)
        ).fetchall()
        return self._read_lines(rows)

    def redactions(self) -> list[Event]:
        """The events by which texts were redacted."""
        return self.events("number IN (SELECT redaction FROM redactions)")

    def redacted(self) -> set[str]:
        """The events whose text is to be shown no more."""
        return {row[0] for row in self.connection.execute("SELECT event_id FROM redactions")}

    def events(self, where: str = "1", arguments: Iterable[Any] = (), limit: int | None = None) -> list[Event]:
        """The newest events that match, oldest first."""
        rows = self.connection.execute(
            f"SELECT segment, offset, length FROM events WHERE {where} ORDER BY event_id DESC, hash DESC LIMIT ?",
            (*arguments, -1 if limit is None else limit),
        ).fetchall()
        return self._read(rows[::-1])

    def placed_events(self, where: str = "1", arguments: Iterable[Any] = ()) -> Iterator[Placed]:
        """The events that match, in the order of the segments."""
        query = f"SELECT segment, offset, length FROM events WHERE {where} ORDER BY segment, offset"
        lines = Lines(self.ledgers)
        try:
            for segment, offset, length in self.connection.execute(query, tuple(arguments)).fetchall():
                yield Placed(self._obeyed(lines.event(segment, offset, length)), segment, offset)
        finally:
            lines.close()

    def is_redacted(self, event_id: str) -> bool:
        row = self.connection.execute("SELECT 1 FROM redactions WHERE event_id = ?", (event_id,)).fetchone()
        return row is not None

    def redacted_entries(self) -> list[str]:
        """The entries that some redaction is about."""
        rows = self.connection.execute(
            "SELECT DISTINCT substr(s.subject, 3) FROM redactions r JOIN event_subjects s ON s.event = r.redaction"
            " WHERE s.subject LIKE 'e:%' ORDER BY 1"
        )
        return [row[0] for row in rows]

    def undone_redactions(self) -> list[tuple[str, int, str]]:
        """The lines that still, or again, have a text that was redacted: segment, offset and event id."""
        return self.connection.execute(
            "SELECT e.segment, e.offset, e.event_id FROM events e"
            " WHERE e.has_text AND e.event_id IN (SELECT event_id FROM redactions)"
            " UNION SELECT c.segment, c.offset, e.event_id FROM events e JOIN event_copies c ON c.hash = e.hash"
            " WHERE c.has_text AND e.event_id IN (SELECT event_id FROM redactions) ORDER BY 1, 2"
        ).fetchall()

    def count(self, table: str, where: str = "1", arguments: Iterable[Any] = ()) -> int:
        found: int = self.connection.execute(
            f"SELECT count(*) FROM {table} WHERE {where}", tuple(arguments)
        ).fetchone()[0]
        return found

    def digest(self) -> str:
        """One word for the whole folded state: equal wherever the same events are."""
        whole = sha256()
        for (entry_digest,) in self.connection.execute("SELECT digest FROM entries ORDER BY id"):
            whole.update(entry_digest)
        for row in self.connection.execute("SELECT * FROM promotions ORDER BY id"):
            whole.update(json.dumps(row).encode())
        for row in self.connection.execute(f"SELECT entry_id, {', '.join(OUTCOMES)} FROM feedback ORDER BY entry_id"):
            whole.update(json.dumps(row).encode())
        for table in ("tasks", "findings"):
            for row in self.connection.execute(f"SELECT * FROM {table} ORDER BY id"):
                whole.update(json.dumps(row).encode())
        return whole.hexdigest()

    def _places_of(self, subject: str) -> list[tuple[str, int, int]]:
        return self.connection.execute(
            "SELECT e.segment, e.offset, e.length FROM event_subjects s JOIN events e ON e.number = s.event"
            " WHERE s.subject = ? ORDER BY e.event_id, e.hash",
            (subject,),
        ).fetchall()

    def _read(self, rows: list[tuple[str, int, int]]) -> list[Event]:
        return [self._obeyed(event) for event in self._read_lines(rows)]

    def _read_lines(self, rows: list[tuple[str, int, int]]) -> list[Event]:
        lines = Lines(self.ledgers, self._large)
        try:
            return [lines.event(*row) for row in rows]
        finally:
            lines.close()

    def _obeyed(self, event: Event) -> Event:
        """Without a text that was redacted: an old line that reappears still has it."""
        if "text" in event and self.is_redacted(event["event_id"]):
            return {name: value for name, value in event.items() if name != "text"}
        return event


def promotion_from_row(row: tuple[Any, ...]) -> Promotion:
    values = dict(zip(Promotion._fields, row, strict=True))
    values["evidence_refs"] = tuple(json.loads(values["evidence_refs"]))
    values["revoked"] = bool(values["revoked"])
    return Promotion(**values)
