"""The Markdown files on disk: written from notes in the database, never over something that no event recorded.

A note is made in the transaction that folds a change and goes only when the file equals the fold, so a crash between
the two leaves nothing half done. A file that a person changed is left alone and its note says so.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.entry import Entry
from decapod_py.domain.event import Event
from decapod_py.domain.fold import fold_entry, versions_of, was
from decapod_py.foundation.faults import step
from decapod_py.foundation.files import read_bytes, stamp, sync_directory, write_whole
from decapod_py.foundation.progress import Progress
from decapod_py.storage import git
from decapod_py.views.markdown import Recorded, classify, recorded_values, render_entry
from decapod_py.views.state import State

if TYPE_CHECKING:
    from sqlite3 import Connection

_REMEMBERED_STATES = 200  # how far back a file may be and still be known as ours


class Pages(NamedTuple):
    """Where the files are, and what they should say."""

    state: State
    knowledge: str
    scratch: str
    repository: git.Repository | None

    def file(self, path: str) -> str:
        return os.path.join(self.knowledge, path)


class Page(NamedTuple):
    """One file that is not what the fold says."""

    path: str
    entry_id: str
    state: str


def has_pending(connection: Connection) -> bool:
    return connection.execute("SELECT 1 FROM pending_markdown WHERE blocked IS NULL LIMIT 1").fetchone() is not None


def finish_pending(connection: Connection, pages: Pages, *, durable: bool, progress: Progress) -> list[str]:
    """Writes the files that notes ask for; returns a warning for each file that is left as it is."""
    notes = connection.execute(
        "SELECT path, entry_id FROM pending_markdown WHERE blocked IS NULL ORDER BY path"
    ).fetchall()
    if not notes:
        return []
    hidden = _outside_sparse_checkout(pages)
    outcomes = []
    for number, (path, entry_id) in enumerate(notes, 1):
        outcomes.append((path, entry_id, _finish(connection, pages, path, entry_id, hidden, durable)))
        if len(notes) > 100:
            progress("writing Markdown", number, len(notes))
    if not durable:
        os.sync()  # one for all: a note may only go when the file is safe
    step("markdown-renamed")
    _clear(connection, pages, outcomes)
    step("note-cleared")
    return [_warning(path, entry_id, state) for path, entry_id, state in outcomes if state in _LEFT_ALONE]


_LEFT_ALONE = {
    "edited": "was edited by hand; it is left as it is and the change is recorded in the ledger",
    "conflicted": "holds conflict markers around text that no event recorded; it is left as it is",
    "damaged": "is empty or cannot be read; it is left as it is",
    "diverged": "waits until the entry, which has several head versions, is settled",
    "outside": "lies behind a link that leaves the repository; it is not written",
}


def _warning(path: str, entry_id: str, state: str) -> str:
    return f".decapod/knowledge/{path} (entry {entry_id}) {_LEFT_ALONE[state]}"


def _finish(connection: Connection, pages: Pages, path: str, entry_id: str, hidden: set[str], durable: bool) -> str:
    """Makes one file equal the fold if that loses nothing; returns what it is afterwards."""
    entry = pages.state.entry(entry_id)
    if entry is None:
        return "gone"
    file = pages.file(path)
    if not _stays_inside(pages.knowledge, file):
        return "outside"
    expected = render_entry(entry)
    state = _look(connection, pages, entry, file, expected)
    if entry.status == "deleted":
        if state in ("same", "stale"):
            os.unlink(file)
            step("markdown-unlinked")
            if durable:
                sync_directory(os.path.dirname(file))
            return "gone"
        return "gone" if state == "missing" else state
    if state == "stale" or (state == "missing" and path not in hidden):
        write_whole(file, expected, scratch=pages.scratch, durable=durable)
        return "same"
    return state


def _look(connection: Connection, pages: Pages, entry: Entry, file: str, expected: bytes) -> str:
    """What the file is. One that this workspace wrote and nobody touched is known without reading it."""
    known = connection.execute("SELECT stamp, state FROM markdown_files WHERE path = ?", (entry.path,)).fetchone()
    if known and known[1] == "same" and known[0] == _stamp(file):
        return "same" if read_bytes(file) == expected else "stale"
    return _classified(pages, entry)


def _classified(pages: Pages, entry: Entry) -> str:
    return classify(read_bytes(pages.file(entry.path)), entry, lambda: recorded_states(pages.state, entry.id))


def _clear(connection: Connection, pages: Pages, outcomes: list[tuple[str, str, str]]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for path, entry_id, state in outcomes:
        if state == "gone":
            connection.execute("DELETE FROM markdown_files WHERE path = ?", (path,))
            connection.execute("DELETE FROM pending_markdown WHERE path = ?", (path,))
            continue
        connection.execute(
            "INSERT OR REPLACE INTO markdown_files VALUES (?, ?, ?, ?)",
            (path, entry_id, _stamp(pages.file(path)), state),
        )
        if state == "same" or state == "missing":
            connection.execute("DELETE FROM pending_markdown WHERE path = ?", (path,))
        else:
            connection.execute("UPDATE pending_markdown SET blocked = ? WHERE path = ?", (state, path))
    connection.execute("COMMIT")


def recheck(connection: Connection, pages: Pages) -> None:
    """After git moved: looks again at every file that is not as it was left."""
    moved = [
        (path, entry_id)
        for path, entry_id, known in connection.execute("SELECT path, entry_id, stamp FROM markdown_files").fetchall()
        if known != _stamp(pages.file(path))
    ]
    if not moved:
        return
    connection.execute("BEGIN IMMEDIATE")
    for path, entry_id in moved:
        if stamp(pages.file(path)) is None:
            # Somebody, or git, took the file away: that is theirs to say, and not undone behind their back.
            connection.execute("UPDATE markdown_files SET stamp = '', state = 'missing' WHERE path = ?", (path,))
        else:
            connection.execute("INSERT OR REPLACE INTO pending_markdown VALUES (?, ?, NULL)", (path, entry_id))
    connection.execute("COMMIT")


def note_missing(connection: Connection, pages: Pages) -> None:
    """Asks for every file that is not there."""
    for path, entry_id in connection.execute("SELECT path, id FROM entries WHERE status != 'deleted'").fetchall():
        if stamp(pages.file(path)) is None:
            connection.execute("INSERT OR REPLACE INTO pending_markdown VALUES (?, ?, NULL)", (path, entry_id))


def survey(connection: Connection, pages: Pages) -> list[Page]:
    """Every file compared with the fold, byte for byte; returns those that differ."""
    hidden = _outside_sparse_checkout(pages)
    found = []
    for entry in pages.state.entries():
        if entry.status == "deleted":
            if stamp(pages.file(entry.path)):
                found.append(Page(entry.path, entry.id, "undeleted"))
            continue
        state = _classified(pages, entry)
        if state != "same" and not (state == "missing" and entry.path in hidden):
            found.append(Page(entry.path, entry.id, state))
    return found


def unlike_the_fold(connection: Connection, pages: Pages) -> list[Page]:
    """The same question, answered from what is known: only files that changed since are read."""
    hidden = _outside_sparse_checkout(pages)
    known = {
        path: (state, mark) for path, state, mark in connection.execute("SELECT path, state, stamp FROM markdown_files")
    }
    found = []
    for path, entry_id in connection.execute("SELECT path, id FROM entries WHERE status != 'deleted' ORDER BY path"):
        state, mark = known.get(path, ("missing", ""))
        now = _stamp(pages.file(path))
        if now == mark and state == "same":
            continue
        entry = pages.state.entry(entry_id)
        if entry:
            state = _classified(pages, entry)
        if state != "same" and not (state == "missing" and path in hidden):
            found.append(Page(path, entry_id, state))
    return found


def recorded_states(state: State, entry_id: str) -> Recorded:
    """Every state the entry had on any branch: of each event with its ancestors, and of the events in their order."""
    events = state.events_of(f"e:{entry_id}")
    versions = {version["event_id"]: version for version in versions_of(entry_id, events)}
    latest = range(max(1, len(events) + 1 - _REMEMBERED_STATES), len(events) + 1)
    groups: list[list[Event]] = [events[:count] for count in latest]
    groups += [
        _with_ancestors(version, versions, entry_id) for version in list(versions.values())[-_REMEMBERED_STATES:]
    ]
    folded = [fold_entry(entry_id, group) for group in groups]
    return recorded_values(entry for entry in folded if entry)


def _with_ancestors(version: Event, versions: dict[str, Event], entry_id: str) -> list[Event]:
    found: dict[str, Event] = {}
    waiting = [version]
    while waiting:
        event = waiting.pop()
        if event["event_id"] not in found:
            found[event["event_id"]] = event
            waiting += [versions[named] for named in was(event, entry_id) if named in versions]
    return list(found.values())


def _outside_sparse_checkout(pages: Pages) -> set[str]:
    """Files that git was asked not to check out: their absence means nothing."""
    if not git.has_sparse_checkout(pages.repository):
        return set()
    try:
        listed = git.ask(pages.knowledge, "ls-files", "-t", "-z", "--", ".")
    except git.GitFailed:
        return set()
    return {line[2:] for line in listed.split("\0") if line.startswith("S ")}


def _stays_inside(knowledge: str, file: str) -> bool:
    """Whether no link on the way leads out: an entry's path comes from a ledger, and ledgers from strangers."""
    top = os.path.realpath(knowledge)
    folder = os.path.realpath(os.path.dirname(file))
    return not os.path.islink(knowledge) and (folder == top or folder.startswith(top + os.sep))


def _stamp(file: str) -> str:
    found = stamp(file)
    return repr(found) if found else ""
