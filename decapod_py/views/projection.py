"""Keeps the database equal to the fold of the ledgers.

Catching up compares the set of events on disk with the set that was folded, and folds anew exactly the subjects that
added or vanished events name. Folding only what is new on top of what is there gives another state than a rebuild after
half of all merges.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain import words
from decapod_py.domain.agents import agent_of
from decapod_py.domain.entry import Entry
from decapod_py.domain.event import Event
from decapod_py.domain.fold import (
    OUTCOMES,
    Promotion,
    entries_of,
    feedback_of,
    fold_entry,
    fold_promotion,
    promotions_of,
    recorded,
    redacted_by,
    texts,
    versions_of,
)
from decapod_py.domain.tasks import TASKS, Finding, Task, findings_of, fold_finding, fold_task, tasks_of
from decapod_py.foundation import workers
from decapod_py.storage import database, segments
from decapod_py.storage.segments import Segment
from decapod_py.views import link_index, pages, search
from decapod_py.views.state import COLUMNS, Lines, row_from_entry

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.foundation.progress import Progress

_BATCH = 500  # events at a time: what they hold fits a processor's cache, and larger batches are slower
_KEYS = 500  # in one statement; every SQLite takes as many
_BULK = 5_000  # from here on the index is worth tidying afterwards
_BULK_CACHE = 64 << 10  # kB of pages: with the 2 MB that SQLite takes, each page is written many times over
_REMEMBERED = 16 << 20  # bytes of segments whose events stay in memory until they are folded; more are read twice


class Arrival(NamedTuple):
    """What the database notes of an event: where it stands and what it acts on."""

    identity: bytes
    row: tuple[str, str, str, int, str, str, int, int, bool]  # of `events`: event id to `has_text`
    parents: list[bytes]
    subjects: list[str]
    feedback: tuple[str, list[str]] | None
    redacts: set[str]


class Reading(NamedTuple):
    """All that a segment holds."""

    arrivals: list[Arrival]
    problems: list[tuple[str, int, str, str, bool]]  # rows of `segment_problems`
    events: list[Event]  # if they are to be remembered


class Ready(NamedTuple):
    """A folded entry, turned into what is written of it."""

    row: tuple[Any, ...]  # of `entries`, without its number
    path: str
    digest: bytes
    stamp: str  # of the file there, if it is known to say just this
    indexed: search.Indexed | None  # nothing finds a deleted entry
    promotions: set[str] | None  # that any version of a procedural entry rests on
    cited: set[str]  # files
    noted: link_index.Noted


class Difference(NamedTuple):
    """How the segments on disk differ from those that were folded."""

    changed: list[Segment]  # new ones too
    removed: list[str]

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


def difference(connection: Connection, ledgers: str) -> Difference:
    found = segments.scan(ledgers)
    known = {segment.path: segment for segment in _known_segments(connection)}
    if found == known:
        return Difference([], [])
    changed = [segment for path, segment in sorted(found.items()) if known.get(path) != segment]
    return Difference(changed, sorted(known.keys() - found.keys()))


def _known_segments(connection: Connection) -> list[Segment]:
    return [
        Segment(*row) for row in connection.execute("SELECT path, size, mtime_ns, inode FROM segments ORDER BY path")
    ]


def catch_up(
    connection: Connection, ledgers: str, ahead: Difference, progress: Progress, knowledge: str | None = None
) -> None:
    """Takes in what changed on disk. The caller holds the transaction.

    Where `knowledge` is given and much changed, Markdown that says what its entry does is noted as such on the way: to
    look when the entry is at hand takes half as long as to come back for it.
    """
    touched: set[str] = set()
    remembered: dict[bytes, Event] = {}
    many = sum(segment.size for segment in ahead.changed) > _REMEMBERED
    if many:
        connection.execute(f"PRAGMA cache_size = -{_BULK_CACHE}")
    for path in ahead.removed:
        touched |= _forget_segment(connection, path)
    readings = workers.mapped(lambda segment: _read(ledgers, segment, not many), ahead.changed, many=many)
    for number, (segment, reading) in enumerate(zip(ahead.changed, readings, strict=True), 1):
        touched |= _forget_segment(connection, segment.path)
        connection.executemany("INSERT OR REPLACE INTO segment_problems VALUES (?, ?, ?, ?, ?)", reading.problems)
        for batch in _batches(reading.arrivals):
            touched |= take_in(connection, batch)
        # Not one that lost its text: a copy of it may stand that has it.
        remembered.update((bytes.fromhex(event["hash"]), event) for event in reading.events if "text" in event)
        note_segment(connection, segment)
        progress("reading ledgers", number, len(ahead.changed))
    refold(connection, ledgers, touched, remembered, progress, knowledge if many else None)


def folded_from_nothing(seen: Connection, ledgers: str, progress: Progress) -> Connection:
    """A database in memory that holds what the ledgers say, and nothing that anybody remembered.

    As far as another one has read them: others may write meanwhile, and segments only grow.
    """
    fresh = database.open_in_memory(search.UNINDEXED_DDL)
    catch_up(fresh, ledgers, Difference(_known_segments(seen), []), progress)
    return fresh


def _read(ledgers: str, segment: Segment, remember: bool) -> Reading:
    reading, path = Reading([], [], []), segment.path
    for line in segments.read(ledgers, path):
        if line.offset >= segment.size:
            break  # was written since we looked: the next look has it
        if line.event:
            reading.arrivals.append(arrival(line.event, path, line.offset, line.length))
            if remember:
                reading.events.append(line.event)
        elif line.problem:
            reading.problems.append((path, line.number, line.problem.code, line.problem.message, not line.terminated))
    return reading


def arrival(event: Event, segment: str, offset: int, length: int) -> Arrival:
    kind, time, has_text = event["type"], recorded(event), "text" in event
    return Arrival(
        bytes.fromhex(event["hash"]),
        (event["event_id"], event["ledger"], kind, time, agent_of(event), segment, offset, length, has_text),
        [_hash(parent) for parent in dict.fromkeys(event["prev"])],
        subjects_of(event),
        feedback_of(event),
        redacted_by([event]),
    )


def take_in(connection: Connection, batch: list[Arrival]) -> set[str]:
    """Notes where events are; returns the subjects they act on. An event that is here already is a copy."""
    touched: set[str] = set()
    number: int = connection.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()[0]
    rows, parents, subjects, feedback, redactions, copied = [], [], [], [], [], []
    identities = [event.identity for event in batch]
    seen = {row[0] for row in _rows_of(connection, "SELECT hash FROM events WHERE hash IN", identities)}
    for identity, row, built_on, named, outcome, redacts in batch:
        if identity in seen:
            connection.execute("INSERT OR REPLACE INTO event_copies VALUES (?, ?, ?, ?, ?)", (*row[5:], identity))
            copied.append(identity)
            continue
        seen.add(identity)
        number += 1
        rows.append((number, identity, *row))
        parents += [(parent, number) for parent in built_on]
        touched.update(named)
        subjects += [(subject, number) for subject in named]
        redactions += [(redacted, number) for redacted in redacts]
        if outcome:
            feedback += [(number, entry_id, outcome[0]) for entry_id in outcome[1]]
    arrived = {row[1] for row in rows}
    named_parents = {parent for parent, _ in parents}
    connection.executemany(
        "UPDATE events SET is_head = 0 WHERE hash = ?", [(parent,) for parent in named_parents - arrived]
    )
    # An event may arrive after one that was built on it.
    named_parents |= {
        row[0] for row in _rows_of(connection, "SELECT parent FROM event_parents WHERE parent IN", identities)
    }
    connection.executemany(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*row, row[1] not in named_parents) for row in rows],
    )
    connection.executemany("INSERT OR IGNORE INTO event_parents VALUES (?, ?)", parents)
    connection.executemany("INSERT OR IGNORE INTO event_subjects VALUES (?, ?)", subjects)
    connection.executemany("INSERT INTO redactions VALUES (?, ?)", redactions)
    _count_feedback(connection, feedback)
    for identity in copied:
        touched |= _show_best(connection, identity)
    return touched


_BEST_COPY = (
    "SELECT segment, offset, length, has_text FROM event_copies WHERE hash = ?"
    " ORDER BY has_text DESC, segment, offset LIMIT 1"
)


def _show_best(connection: Connection, identity: bytes) -> set[str]:
    """Of an event's copies one with its text stands, in any order of arrival: text lies outside the hash."""
    number, *standing = connection.execute(
        "SELECT number, segment, offset, length, has_text FROM events WHERE hash = ?", (identity,)
    ).fetchone()
    best = connection.execute(_BEST_COPY, (identity,)).fetchone()
    if best[3] <= standing[3]:
        return set()
    connection.execute("DELETE FROM event_copies WHERE segment = ? AND offset = ?", best[:2])
    connection.execute("INSERT OR REPLACE INTO event_copies VALUES (?, ?, ?, ?, ?)", (*standing, identity))
    _place(connection, number, best)
    return _subjects(connection, number)


def _place(connection: Connection, number: int, place: tuple[str, int, int, bool]) -> None:
    connection.execute(
        "UPDATE events SET segment = ?, offset = ?, length = ?, has_text = ? WHERE number = ?", (*place, number)
    )


def _subjects(connection: Connection, number: int) -> set[str]:
    return {row[0] for row in connection.execute("SELECT subject FROM event_subjects WHERE event = ?", (number,))}


def subjects_of(event: Event) -> list[str]:
    """What an event acts on, as the database names it."""
    if event["ledger"] == TASKS:
        return [f"t:{task}" for task in tasks_of(event)] + [f"f:{finding}" for finding in findings_of(event)]
    entries = [f"e:{entry_id}" for entry_id in entries_of(event)]
    return entries + [f"p:{promotion}" for promotion in promotions_of(event)]


def refold(
    connection: Connection,
    ledgers: str,
    subjects: set[str],
    remembered: dict[bytes, Event],
    progress: Progress,
    knowledge: str | None = None,
) -> None:
    """Folds each subject from all of its events and writes what changed."""
    lines = Lines(ledgers)
    total, done = len(subjects), 0
    stamp = pages.stamps_of_same(knowledge) if knowledge else _no_stamp
    try:
        placed = (_places_of(connection, batch) for batch in _batches(sorted(subjects)))
        fold = partial(_folded, lines=lines, remembered=remembered, stamp=stamp)
        for folded in workers.mapped(fold, placed, many=total >= _BULK):
            for promotion_id, promotion in folded.promotions.items():
                _write_promotion(connection, promotion_id, promotion)
            _write_tasks(connection, folded.tasks, folded.findings)
            _write_entries(connection, folded.entries)
            done += len(folded.promotions) + len(folded.tasks) + len(folded.findings) + len(folded.entries)
            progress("folding", done, total)
        if total >= _BULK:
            search.tidy(connection)
    finally:
        lines.close()


Places = dict[str, list[tuple[bytes, str, int, int]]]  # of the events of each subject: hash, segment, offset, length


def _places_of(connection: Connection, subjects: list[str]) -> Places:
    found: Places = {subject: [] for subject in subjects}
    rows = _rows_of(
        connection,
        "SELECT s.subject, e.hash, e.segment, e.offset, e.length"
        " FROM event_subjects s JOIN events e ON e.number = s.event WHERE s.subject IN",
        subjects,
    )
    for subject, *place in rows:
        found[subject].append(tuple(place))
    return found


class Folded(NamedTuple):
    """What became of subjects, by their ids; nothing where no event gives them a state."""

    entries: dict[str, Ready | None]
    promotions: dict[str, Promotion | None]
    tasks: dict[str, Task | None]
    findings: dict[str, Finding | None]


def _folded(placed: Places, lines: Lines, remembered: dict[bytes, Event], stamp: Callable[[Entry], str]) -> Folded:
    folded = Folded({}, {}, {}, {})
    for subject, places in placed.items():
        kind, subject_id = subject[:2], subject[2:]
        events = [remembered.get(place[0]) or lines.event(*place[1:]) for place in places]
        if kind == "e:":
            entry = fold_entry(subject_id, events)
            folded.entries[subject_id] = _ready(entry, events, stamp(entry)) if entry else None
        elif kind == "p:":
            folded.promotions[subject_id] = fold_promotion(subject_id, events)
        elif kind == "t:":
            folded.tasks[subject_id] = fold_task(subject_id, events)
        else:
            folded.findings[subject_id] = fold_finding(subject_id, events)
    return folded


def _no_stamp(entry: Entry) -> str:
    return ""


def _ready(entry: Entry, events: list[Event], stamp: str) -> Ready:
    digest = entry.digest()
    return Ready(
        (words.title_key(entry.title), digest, *row_from_entry(entry)),
        entry.path,
        digest,
        stamp,
        None if entry.status == "deleted" else search.indexed(entry),
        _promotions_used(entry, events) if entry.procedural else None,
        cited_paths(entry),
        link_index.noted(entry),
    )


def _write_entries(connection: Connection, folded: dict[str, Ready | None]) -> None:
    fresh: list[tuple[int, search.Indexed]] = []
    next_number: int = connection.execute("SELECT coalesce(max(number), 0) FROM entries").fetchone()[0] + 1
    rows, notes, same, cited, noted = [], [], [], [], []
    here = {
        row[0]: row[1:]
        for row in _rows_of(connection, "SELECT id, number, digest, path FROM entries WHERE id IN", list(folded))
    }
    for entry_id, entry in folded.items():
        known = here.get(entry_id)
        if entry is None:
            if known:
                _remove_entry(connection, known[0], entry_id)
            continue
        # Before the comparison: a version in the middle may come or go and leave the entry as it was.
        _note_promotion_uses(connection, entry_id, entry.promotions)
        if known and known[1] == entry.digest:
            continue
        if entry.stamp:
            same.append((entry.path, entry_id, entry.stamp))
        else:
            notes.append((entry.path, entry_id))
        if known and known[2] != entry.path:
            notes.append((known[2], entry_id))  # the file under the earlier path goes
        number = known[0] if known else next_number
        cited += [(path, number) for path in entry.cited]
        noted.append((number, entry.noted))
        if known:
            link_index.forget(connection, number)
            connection.execute("DELETE FROM cited_files WHERE number = ?", (number,))
            connection.execute("DELETE FROM entries WHERE number = ?", (number,))
            connection.execute(_INSERT_ENTRY, (number, *entry.row))
            if entry.indexed is None:
                search.unindex(connection, number)
            else:
                search.index(connection, number, entry.indexed)
        else:
            rows.append((next_number, *entry.row))
            if entry.indexed is not None:
                fresh.append((next_number, entry.indexed))
            next_number += 1
    connection.executemany(_INSERT_ENTRY, rows)
    connection.executemany("INSERT INTO cited_files VALUES (?, ?)", cited)
    link_index.note(connection, noted)
    pages.note(connection, notes, same)
    search.index_many(connection, fresh)


_INSERT_ENTRY = (
    f"INSERT INTO entries (number, title_key, digest, {COLUMNS}) VALUES ({', '.join('?' * (3 + len(Entry._fields)))})"
)


def cited_paths(entry: Entry) -> set[str]:
    """The files an entry cites: where it is anchored, or as it says where it is not."""
    anchors = entry.anchors or (None,) * len(entry.provenances)
    return {
        anchor.path if anchor else provenance.removeprefix("file:").partition("#")[0]
        for provenance, anchor in zip(entry.provenances, anchors, strict=True)
        if provenance.startswith("file:")
    }


def _promotions_used(entry: Entry, events: list[Event]) -> set[str]:
    """The promotions that any version of a procedural entry rests on."""
    return {
        reference.removeprefix("event:")
        for version in versions_of(entry.id, events)
        for reference in texts(version, "provenance")
        if reference.startswith("event:")
    }


def _note_promotion_uses(connection: Connection, entry_id: str, promotions: set[str] | None) -> None:
    if promotions is not None:
        connection.execute("DELETE FROM promotion_uses WHERE entry_id = ?", (entry_id,))
        used = [(promotion, entry_id) for promotion in promotions]
        connection.executemany("INSERT INTO promotion_uses VALUES (?, ?)", used)


def _remove_entry(connection: Connection, number: int, entry_id: str) -> None:
    search.unindex(connection, number)
    link_index.forget(connection, number)
    connection.execute("DELETE FROM entries WHERE number = ?", (number,))
    connection.execute("DELETE FROM cited_files WHERE number = ?", (number,))
    connection.execute("DELETE FROM promotion_uses WHERE entry_id = ?", (entry_id,))
    connection.execute("DELETE FROM pending_markdown WHERE entry_id = ?", (entry_id,))
    connection.execute("DELETE FROM markdown_files WHERE entry_id = ?", (entry_id,))


def _write_promotion(connection: Connection, promotion_id: str, promotion: Promotion | None) -> None:
    connection.execute("DELETE FROM promotions WHERE id = ?", (promotion_id,))
    if promotion:
        values = promotion._replace(evidence_refs=json.dumps(promotion.evidence_refs))  # type: ignore[arg-type]
        connection.execute(f"INSERT INTO promotions VALUES ({', '.join('?' * len(values))})", values)


def _write_tasks(connection: Connection, tasks: dict[str, Task | None], findings: dict[str, Finding | None]) -> None:
    connection.executemany("DELETE FROM tasks WHERE id = ?", [(task_id,) for task_id in tasks])
    rows = [task._replace(tags=json.dumps(task.tags)) for task in tasks.values() if task]  # type: ignore[arg-type]
    connection.executemany(f"INSERT INTO tasks VALUES ({', '.join('?' * len(Task._fields))})", rows)
    connection.executemany("DELETE FROM findings WHERE id = ?", [(finding_id,) for finding_id in findings])
    posted = [finding for finding in findings.values() if finding]
    connection.executemany(f"INSERT INTO findings VALUES ({', '.join('?' * len(Finding._fields))})", posted)


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
    standing = connection.execute("SELECT number, hash, has_text FROM events WHERE segment = ?", (path,)).fetchall()
    for number, identity, has_text in standing:
        copy = connection.execute(_BEST_COPY, (identity,)).fetchone()
        if copy:
            _place(connection, number, copy)
            connection.execute("DELETE FROM event_copies WHERE segment = ? AND offset = ?", copy[:2])
            if copy[3] != has_text:
                touched |= _subjects(connection, number)
        else:
            touched |= _forget_event(connection, number)
    return touched


def _forget_event(connection: Connection, number: int) -> set[str]:
    touched = _subjects(connection, number)
    parents = connection.execute("SELECT parent FROM event_parents WHERE child = ?", (number,)).fetchall()
    for entry_id, outcome in connection.execute(
        "SELECT entry_id, outcome FROM event_feedback WHERE event = ?", (number,)
    ).fetchall():
        _add_feedback(connection, entry_id, outcome, -1)
    connection.execute("DELETE FROM event_feedback WHERE event = ?", (number,))
    connection.execute("DELETE FROM event_subjects WHERE event = ?", (number,))
    connection.execute("DELETE FROM redactions WHERE redaction = ?", (number,))
    connection.execute("DELETE FROM event_parents WHERE child = ?", (number,))
    connection.execute("DELETE FROM events WHERE number = ?", (number,))
    connection.executemany(
        "UPDATE events SET is_head = 1 WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM event_parents WHERE parent = ?1)",
        parents,
    )
    return touched


def note_segment(connection: Connection, segment: Segment) -> None:
    """The segment, as it is now, is folded."""
    connection.execute("INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?)", segment)


def _hash(text: str) -> bytes:
    """A parent's hash; one that is no hash at all is a parent that is not here."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return text.encode()


def _rows_of(connection: Connection, query: str, keys: list[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows that a query ending in IN finds for these keys: one statement for hundreds of them."""
    for start in range(0, len(keys), _KEYS):
        chunk = keys[start : start + _KEYS]
        yield from connection.execute(f"{query} ({', '.join('?' * len(chunk))})", chunk)


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
