"""Keeps the database equal to the fold of the ledgers.

Catching up compares the set of events on disk with the set that was folded, and folds anew exactly the subjects that
added or vanished events name. Folding only what is new on top of what is there gives another state than a rebuild after
half of all merges.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain import words
from decapod_py.domain.entry import Entry
from decapod_py.domain.event import Event
from decapod_py.domain.fold import (
    OUTCOMES,
    Promotion,
    entries_of,
    feedback_of,
    fold_entry,
    fold_promotion,
    promotion_of,
    recorded,
    texts,
    versions_of,
)
from decapod_py.foundation.canonical import canonical
from decapod_py.storage import segments
from decapod_py.storage.segments import Segment
from decapod_py.views import search
from decapod_py.views.state import COLUMNS, Lines, row_from_entry

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.foundation.progress import Progress

_BATCH = 2_000
_BULK = 5_000  # from here on the index is worth tidying afterwards
_REMEMBERED = 20_000  # events held in memory between reading and folding; beyond that they are read twice


class Placed(NamedTuple):
    """An event and where it stands."""

    event: Event
    segment: str
    offset: int
    length: int


class Difference(NamedTuple):
    """How the segments on disk differ from those that were folded."""

    changed: list[Segment]  # new ones too
    removed: list[str]

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


def difference(connection: Connection, ledgers: str) -> Difference:
    found = segments.scan(ledgers)
    known = {row[0]: Segment(*row) for row in connection.execute("SELECT path, size, mtime_ns, inode FROM segments")}
    if found == known:
        return Difference([], [])
    changed = [segment for path, segment in sorted(found.items()) if known.get(path) != segment]
    return Difference(changed, sorted(known.keys() - found.keys()))


def catch_up(connection: Connection, ledgers: str, ahead: Difference, progress: Progress) -> None:
    """Takes in what changed on disk. The caller holds the transaction."""
    touched: set[str] = set()
    remembered: dict[bytes, Event] = {}
    for path in ahead.removed:
        touched |= _forget_segment(connection, path)
    for number, segment in enumerate(ahead.changed, 1):
        touched |= _forget_segment(connection, segment.path)
        for batch in _batches(_read_segment(connection, ledgers, segment)):
            touched |= take_in(connection, batch)
            if len(remembered) < _REMEMBERED:
                remembered.update((bytes.fromhex(placed.event["hash"]), placed.event) for placed in batch)
        _note_segment(connection, segment)
        progress("reading ledgers", number, len(ahead.changed))
    if len(remembered) >= _REMEMBERED:
        remembered.clear()
    refold(connection, ledgers, touched, remembered, progress)


def take_in(connection: Connection, batch: list[Placed]) -> set[str]:
    """Notes where events are; returns the subjects they act on. An event that is here already is a copy."""
    touched: set[str] = set()
    number: int = connection.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()[0]
    rows, parents, subjects, feedback = [], [], [], []
    seen: set[bytes] = set()
    for event, segment, offset, length in batch:
        identity = bytes.fromhex(event["hash"])
        if identity in seen or connection.execute("SELECT 1 FROM events WHERE hash = ?", (identity,)).fetchone():
            connection.execute(
                "INSERT OR REPLACE INTO event_copies VALUES (?, ?, ?, ?)", (segment, offset, length, identity)
            )
            continue
        seen.add(identity)
        number += 1
        rows.append(
            (
                number,
                identity,
                event["event_id"],
                event["ledger"],
                event["type"],
                recorded(event),
                segment,
                offset,
                length,
            )
        )
        parents += [(_hash(parent), number) for parent in dict.fromkeys(event["prev"])]
        named = subjects_of(event)
        touched.update(named)
        subjects += [(subject, number) for subject in named]
        outcome = feedback_of(event)
        if outcome:
            feedback += [(number, entry_id, outcome[0]) for entry_id in outcome[1]]
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)", rows)
    connection.executemany("INSERT OR IGNORE INTO event_parents VALUES (?, ?)", parents)
    connection.executemany("INSERT OR IGNORE INTO event_subjects VALUES (?, ?)", subjects)
    connection.executemany("UPDATE events SET is_head = 0 WHERE hash = ?", [(parent,) for parent, _ in parents])
    # An event may arrive after one that was built on it.
    connection.executemany(
        "UPDATE events SET is_head = 0 WHERE number = ?1 AND EXISTS"
        " (SELECT 1 FROM event_parents WHERE parent = (SELECT hash FROM events WHERE number = ?1))",
        [(row[0],) for row in rows],
    )
    _count_feedback(connection, feedback)
    return touched


def subjects_of(event: Event) -> list[str]:
    """What an event acts on, as the database names it."""
    promotion = promotion_of(event)
    return [f"e:{entry_id}" for entry_id in entries_of(event)] + ([f"p:{promotion}"] if promotion else [])


def note_own_write(connection: Connection, segment: Segment) -> None:
    """This process appended to the segment and folded what it appended."""
    _note_segment(connection, segment)


def refold(
    connection: Connection, ledgers: str, subjects: set[str], remembered: dict[bytes, Event], progress: Progress
) -> None:
    """Folds each subject from all of its events and writes what changed."""
    lines = Lines(ledgers)
    total, done = len(subjects), 0
    try:
        for batch in _batches(sorted(subjects)):
            entries = []
            for subject in batch:
                events = _events_of(connection, lines, subject, remembered)
                if subject.startswith("e:"):
                    entries.append((subject[2:], fold_entry(subject[2:], events), events))
                else:
                    _write_promotion(connection, subject[2:], fold_promotion(subject[2:], events))
            _write_entries(connection, entries)
            done += len(batch)
            progress("folding", done, total)
        if total >= _BULK:
            search.tidy(connection)
    finally:
        lines.close()


def _events_of(connection: Connection, lines: Lines, subject: str, remembered: dict[bytes, Event]) -> list[Event]:
    rows = connection.execute(
        "SELECT e.hash, e.segment, e.offset, e.length FROM event_subjects s JOIN events e ON e.number = s.event"
        " WHERE s.subject = ?",
        (subject,),
    )
    return [remembered.get(row[0]) or lines.event(*row[1:]) for row in rows]


def _write_entries(connection: Connection, folded: list[tuple[str, Entry | None, list[Event]]]) -> None:
    fresh: list[tuple[int, Entry]] = []
    next_number: int = connection.execute("SELECT coalesce(max(number), 0) FROM entries").fetchone()[0] + 1
    rows = []
    for entry_id, entry, events in folded:
        known = connection.execute("SELECT number, digest, path FROM entries WHERE id = ?", (entry_id,)).fetchone()
        if entry is None:
            if known:
                _remove_entry(connection, known[0], entry_id)
            continue
        digest = sha256(canonical(entry.as_json())).digest()
        if known and known[1] == digest:
            continue
        _note_promotion_uses(connection, entry, events, known is not None)
        connection.execute("INSERT OR REPLACE INTO pending_markdown VALUES (?, ?, NULL)", (entry.path, entry_id))
        if known and known[2] != entry.path:
            connection.execute("DELETE FROM pending_markdown WHERE path = ? AND entry_id = ?", (known[2], entry_id))
        number = known[0] if known else next_number
        row = (number, words.title_key(entry.title), digest, *row_from_entry(entry))
        if known:
            connection.execute("DELETE FROM entries WHERE number = ?", (number,))
            connection.execute(_INSERT_ENTRY, row)
            if entry.status == "deleted":
                search.unindex(connection, number)
            else:
                search.index(connection, number, entry)
        else:
            next_number += 1
            rows.append(row)
            if entry.status != "deleted":
                fresh.append((number, entry))
    connection.executemany(_INSERT_ENTRY, rows)
    search.index_many(connection, fresh)


_INSERT_ENTRY = (
    f"INSERT INTO entries (number, title_key, digest, {COLUMNS}) VALUES ({', '.join('?' * (3 + len(Entry._fields)))})"
)


def _note_promotion_uses(connection: Connection, entry: Entry, events: list[Event], known: bool) -> None:
    """Remembers which promotions any version of a procedural entry rests on."""
    if not entry.procedural:
        return
    if known:
        connection.execute("DELETE FROM promotion_uses WHERE entry_id = ?", (entry.id,))
    used = {
        reference.removeprefix("event:")
        for version in versions_of(entry.id, events)
        for reference in texts(version, "provenance")
        if reference.startswith("event:")
    }
    connection.executemany("INSERT INTO promotion_uses VALUES (?, ?)", [(event_id, entry.id) for event_id in used])


def _remove_entry(connection: Connection, number: int, entry_id: str) -> None:
    search.unindex(connection, number)
    connection.execute("DELETE FROM entries WHERE number = ?", (number,))
    connection.execute("DELETE FROM promotion_uses WHERE entry_id = ?", (entry_id,))
    connection.execute("DELETE FROM pending_markdown WHERE entry_id = ?", (entry_id,))
    connection.execute("DELETE FROM markdown_files WHERE entry_id = ?", (entry_id,))


def _write_promotion(connection: Connection, promotion_id: str, promotion: Promotion | None) -> None:
    connection.execute("DELETE FROM promotions WHERE id = ?", (promotion_id,))
    if promotion:
        values = promotion._replace(evidence_refs=json.dumps(promotion.evidence_refs))  # type: ignore[arg-type]
        connection.execute(f"INSERT INTO promotions VALUES ({', '.join('?' * len(values))})", values)


def _count_feedback(connection: Connection, rows: list[tuple[int, str, str]]) -> None:
    connection.executemany("INSERT INTO event_feedback VALUES (?, ?, ?)", rows)
    for _, entry_id, outcome in rows:
        _add_feedback(connection, entry_id, outcome, 1)


def _add_feedback(connection: Connection, entry_id: str, outcome: str, amount: int) -> None:
    assert outcome in OUTCOMES
    connection.execute("INSERT OR IGNORE INTO feedback VALUES (?, 0, 0, 0, 0)", (entry_id,))
    connection.execute(f"UPDATE feedback SET {outcome} = {outcome} + ? WHERE entry_id = ?", (amount, entry_id))
    # No trace of an event that is gone: the state must equal a rebuild's.
    connection.execute("DELETE FROM feedback WHERE entry_id = ? AND helped + neutral + hurt + unknown = 0", (entry_id,))


def _forget_segment(connection: Connection, path: str) -> set[str]:
    """Takes out the events of a segment, but for those that stand in another one too."""
    connection.execute("DELETE FROM segments WHERE path = ?", (path,))
    connection.execute("DELETE FROM segment_problems WHERE segment = ?", (path,))
    connection.execute("DELETE FROM event_copies WHERE segment = ?", (path,))
    touched: set[str] = set()
    for number, identity in connection.execute("SELECT number, hash FROM events WHERE segment = ?", (path,)).fetchall():
        copy = connection.execute(
            "SELECT segment, offset, length FROM event_copies WHERE hash = ? ORDER BY segment LIMIT 1", (identity,)
        ).fetchone()
        if copy:
            connection.execute(
                "UPDATE events SET segment = ?, offset = ?, length = ? WHERE number = ?", (*copy, number)
            )
            connection.execute("DELETE FROM event_copies WHERE segment = ? AND offset = ?", copy[:2])
        else:
            touched |= _forget_event(connection, number)
    return touched


def _forget_event(connection: Connection, number: int) -> set[str]:
    touched = {row[0] for row in connection.execute("SELECT subject FROM event_subjects WHERE event = ?", (number,))}
    parents = connection.execute("SELECT parent FROM event_parents WHERE child = ?", (number,)).fetchall()
    for entry_id, outcome in connection.execute(
        "SELECT entry_id, outcome FROM event_feedback WHERE event = ?", (number,)
    ).fetchall():
        _add_feedback(connection, entry_id, outcome, -1)
    connection.execute("DELETE FROM event_feedback WHERE event = ?", (number,))
    connection.execute("DELETE FROM event_subjects WHERE event = ?", (number,))
    connection.execute("DELETE FROM event_parents WHERE child = ?", (number,))
    connection.execute("DELETE FROM events WHERE number = ?", (number,))
    connection.executemany(
        "UPDATE events SET is_head = 1 WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM event_parents WHERE parent = ?1)",
        parents,
    )
    return touched


def _read_segment(connection: Connection, ledgers: str, segment: Segment) -> Iterator[Placed]:
    for line in segments.read(ledgers, segment.path):
        if line.event:
            yield Placed(line.event, segment.path, line.offset, line.length)
        elif line.problem:
            connection.execute(
                "INSERT OR REPLACE INTO segment_problems VALUES (?, ?, ?, ?, ?)",
                (segment.path, line.number, line.problem.code, line.problem.message, not line.terminated),
            )


def _note_segment(connection: Connection, segment: Segment) -> None:
    connection.execute("INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?)", segment)


def _hash(text: str) -> bytes:
    """A parent's hash; one that is no hash at all is a parent that is not here."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return text.encode()


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
