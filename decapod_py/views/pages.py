"""The Markdown files on disk: written from notes in the database, never over something that no event recorded.

A note is made in the transaction that folds a change and goes only when the file equals the fold, so a crash between
the two leaves nothing half done. A file that a person changed is left alone and its note says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from errno import EDQUOT, ENOSPC, EROFS
from functools import cache, partial
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.entry import Entry
from decapod_py.domain.event import Event
from decapod_py.domain.fold import fold_entry, versions_of, was
from decapod_py.domain.naming import is_named_for
from decapod_py.foundation.faults import step
from decapod_py.foundation.files import stamp, sync_directory, write_whole
from decapod_py.foundation.progress import Progress
from decapod_py.storage import git
from decapod_py.views.markdown import Recorded, adds_nothing, classify, recorded_values, render_entry
from decapod_py.views.state import State, entry_from_row

if TYPE_CHECKING:
    from sqlite3 import Connection

LARGEST_FILE = 16 * 1024 * 1024
_REMEMBERED_STATES = 200  # how far back a file may be and still be known as ours


# What is wrong with a file in each state, and what to do about it.
SAID = {
    "missing": ("the file is not there", "decapod rebuild writes it again"),
    "stale": ("the file shows an earlier version", "decapod rebuild writes the present one"),
    "edited": ("the file was edited by hand and the edit is not recorded", "decapod sync takes it in"),
    "diverged": ("the entry has several head versions, and the file waits", "decapod knowledge settle"),
    "conflicted": (
        "the file holds conflict markers around unrecorded text",
        "resolve them in an editor, or restore the file",
    ),
    "damaged": ("the file is empty or cannot be read", "restore it with git, or remove it and run decapod rebuild"),
    "orphaned": (
        "the file names an entry that no event recorded",
        "bring the ledgers back: git checkout -- .decapod/ledgers, or decapod ledger restore",
    ),
    "unknown": ("no entry has this file, so it is not knowledge", "decapod sync takes it in"),
    "crowded": ("another entry has a file of this name", "decapod sync gives it another name"),
    "returned": ("the file was taken away and came back", "decapod sync revives its entry; or remove the file"),
    "undeleted": ("the entry was deleted and its file is still there", "remove the file"),
}


class Pages(NamedTuple):
    """Where the files are, and what they should say."""

    state: State
    knowledge: str
    scratch: str
    repository: git.Repository | None

    def file(self, path: str) -> str:
        return f"{self.knowledge}/{path}"


class Page(NamedTuple):
    """One file that is not what the fold says."""

    path: str
    entry_id: str
    state: str


def has_pending(connection: Connection) -> bool:
    return connection.execute("SELECT 1 FROM pending_markdown WHERE blocked IS NULL LIMIT 1").fetchone() is not None


def note(connection: Connection, to_write: list[tuple[str, str]], same: list[tuple[str, str, str]]) -> None:
    """Notes, for entries that changed, files to be written, and files with their stamps that need not be."""
    connection.executemany("INSERT OR REPLACE INTO pending_markdown VALUES (?, ?, NULL)", to_write)
    if same:
        connection.executemany("INSERT OR REPLACE INTO markdown_files VALUES (?, ?, ?, 'same')", same)
        connection.executemany("DELETE FROM pending_markdown WHERE path = ?", [(path,) for path, _, _ in same])


def take(connection: Connection, path: str, entry_id: str, stamp: str) -> None:
    """Notes that all that a file says was taken in or refused: as long as nobody touches it, it may be written anew."""
    connection.execute("INSERT OR REPLACE INTO markdown_files VALUES (?, ?, ?, 'same')", (path, entry_id, stamp))


def stamps_of_same(knowledge: str) -> Callable[[Entry], str]:
    """A question: the stamp of an entry's file if it says what the entry does, else nothing."""
    stays_inside = cache(partial(_stays_inside, knowledge))

    def stamp_of_same(entry: Entry) -> str:
        file = os.path.join(knowledge, entry.path)
        if entry.status == "deleted" or not entry.filed or not stays_inside(os.path.dirname(file)):
            return ""
        now = _stamp(file)
        return now if now and _read(file) == render_entry(entry) else ""

    return stamp_of_same


def finish_pending(
    connection: Connection, pages: Pages, *, taken_away: Callable[[str], bool], durable: bool, progress: Progress
) -> list[str]:
    """Writes the files that notes ask for; returns a warning for each file that is left as it is.

    A missing file that somebody has `taken_away` stays away: that is for `sync` to take in.
    """
    if not has_pending(connection):
        return []
    total = pages.state.count("pending_markdown", "blocked IS NULL")
    hidden = outside_sparse_checkout(pages)
    stays_inside = cache(partial(_stays_inside, pages.knowledge))

    outcomes = []
    for path, entry_id, noted in _noted(connection):
        entry = _owner(pages.state, path, noted) if noted else None
        if entry is None:
            seen = GONE
        elif stays_inside(os.path.dirname(pages.file(path))):
            stays_away = partial(_stays_away, pages.state, entry, hidden, taken_away)
            seen = _finish(connection, pages, path, entry, stays_away, durable)
        else:
            seen = Seen("outside", "")
        outcomes.append((path, entry.id if entry else entry_id, seen))
        if not len(outcomes) % 100:
            progress("writing Markdown", len(outcomes), total)
    if not durable:
        os.sync()  # one for all: a note may only go when the file is safe
    step("markdown-renamed")
    _clear(connection, outcomes)
    step("note-cleared")
    return [_warning(path, entry_id, seen.state) for path, entry_id, seen in outcomes if seen.state in _LEFT_ALONE]


def _noted(connection: Connection) -> Iterator[tuple[str, str, Entry | None]]:
    columns = ", ".join(f"e.{name}" for name in Entry._fields)
    for path, entry_id, *row in connection.execute(
        f"SELECT p.path, p.entry_id, {columns} FROM pending_markdown p LEFT JOIN entries e ON e.id = p.entry_id"
        " WHERE p.blocked IS NULL ORDER BY p.path"
    ):
        yield path, entry_id, entry_from_row(tuple(row)) if row[0] is not None else None


def _owner(state: State, path: str, entry: Entry) -> Entry:
    """Whose file it is, where several entries say that it is theirs, or the one that left it is not the last."""
    if entry.path == path and is_named_for(path.rsplit("/", 1)[-1], entry.id):
        return entry
    holders = {found.id: found for found in state.entries("path = ? AND status != 'deleted' AND filed", (path,))}
    return holders[rightful(path, list(holders))] if holders else entry


def rightful(path: str, entry_ids: list[str]) -> str:
    """Of entries that name one file, the one whose digest it bears, or else the smallest id."""
    name = path.rsplit("/", 1)[-1]
    return next((entry_id for entry_id in entry_ids if is_named_for(name, entry_id)), min(entry_ids))


class Seen(NamedTuple):
    """What a file was, and its stamp from before it was read: whatever happens to it later shows."""

    state: str
    stamp: str


GONE = Seen("gone", "")
_SETTLED = ("same", "missing", "gone")
_LEFT_ALONE = {
    "edited": "was edited by hand; it is left as it is, so it does not show this change",
    "conflicted": "holds conflict markers around text that no event recorded; it is left as it is",
    "damaged": "is empty or cannot be read; it is left as it is",
    "diverged": "waits until the entry, which has several head versions, is settled",
    "outside": "lies behind a link that leaves the repository; it is not written",
    "returned": "was taken away and came back; decapod sync revives the entry",
    "unwritable": "cannot be written; decapod doctor --fix tries again",
}


def _warning(path: str, entry_id: str, state: str) -> str:
    return f".decapod/knowledge/{path} (entry {entry_id}) {_LEFT_ALONE[state]}"


def _finish(
    connection: Connection, pages: Pages, path: str, entry: Entry, stays_away: Callable[[str], bool], durable: bool
) -> Seen:
    """Makes one file equal the fold if that loses nothing; returns what it is afterwards."""
    seen = _look(connection, pages, path, entry)
    if entry.status == "deleted" or entry.path != path:
        return _removed(pages, path, seen, durable)
    if not entry.filed:  # nobody but a person brings such a file back
        return GONE if seen.state == "missing" else seen._replace(state="returned")
    if seen.state != "stale" and (seen.state != "missing" or stays_away(path)):
        return seen
    try:
        written = write_whole(pages.file(path), render_entry(entry), scratch=pages.scratch, durable=durable)
    except OSError as problem:
        if problem.errno in (ENOSPC, EDQUOT, EROFS):
            raise  # true of every file: the notes wait
        return Seen("unwritable", "")
    return Seen("same", repr(written))


def _stays_away(state: State, entry: Entry, hidden: set[str], taken_away: Callable[[str], bool], path: str) -> bool:
    """Whether a missing file is missing for a reason. A removal that was taken in and revived since is none."""
    if path in hidden:
        return True
    return taken_away(path) and not any(event.get("unfiled") for event in state.events_of(f"e:{entry.id}"))


def _removed(pages: Pages, path: str, seen: Seen, durable: bool) -> Seen:
    """Takes away the file of a deleted entry, or one under an earlier path, unless it holds something of its own."""
    if seen.state in ("same", "stale"):
        os.unlink(pages.file(path))
        step("markdown-unlinked")
        if durable:
            sync_directory(os.path.dirname(pages.file(path)))
        return GONE
    return GONE if seen.state == "missing" else seen


def _look(connection: Connection, pages: Pages, path: str, entry: Entry) -> Seen:
    """What the file is. One that this workspace wrote for this entry and nobody touched is known to be no edit."""
    now = _stamp(pages.file(path))
    data = _read(pages.file(path))
    if data is None:
        return Seen("missing", now)
    if data == render_entry(entry):
        return Seen("same", now)
    known = connection.execute(
        "SELECT stamp FROM markdown_files WHERE path = ? AND entry_id = ? AND state = 'same'", (path, entry.id)
    ).fetchone()
    if data and known and known[0] == now:
        return Seen("stale", now)
    return Seen(classify(data, entry, lambda: recorded_states(pages.state, entry.id)), now)


def _read(file: str) -> bytes | None:
    """The bytes of a regular file: none where there is no file, empty where there is something else in its place."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # a link, or nothing of ours
        return b""
    try:
        found = os.fstat(handle)
        if not S_ISREG(found.st_mode) or found.st_size > LARGEST_FILE:
            return b""
        return os.read(handle, found.st_size)
    finally:
        os.close(handle)


def _clear(connection: Connection, outcomes: list[tuple[str, str, Seen]]) -> None:
    gone = [(path,) for path, _, seen in outcomes if seen.state == "gone"]
    known = [(path, entry_id, seen.stamp, seen.state) for path, entry_id, seen in outcomes if seen.state != "gone"]
    done = [(path,) for path, _, seen in outcomes if seen.state in _SETTLED]
    blocked = [(seen.state, path) for path, _, seen in outcomes if seen.state not in _SETTLED]
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("DELETE FROM markdown_files WHERE path = ?", gone)
    connection.executemany("INSERT OR REPLACE INTO markdown_files VALUES (?, ?, ?, ?)", known)
    connection.executemany("DELETE FROM pending_markdown WHERE path = ?", done)
    connection.executemany("UPDATE pending_markdown SET blocked = ? WHERE path = ?", blocked)
    connection.execute("COMMIT")


def write_redacted(connection: Connection, pages: Pages, entry_ids: Iterable[str]) -> list[Page]:
    """Takes redacted texts out of files while the ledgers still tell them from an edit; returns what is left alone.

    A diverged entry's file does not wait here: what git joined from recorded parts is nobody's edit.
    """
    found = [entry for entry_id in entry_ids if (entry := pages.state.entry(entry_id))]
    outcomes = [(entry.path, entry.id, _rewritten(connection, pages, entry)) for entry in found]
    _clear(connection, outcomes)
    step("redacted-files-written")
    return [Page(path, entry_id, seen.state) for path, entry_id, seen in outcomes if seen.state in _LEFT_ALONE]


def _rewritten(connection: Connection, pages: Pages, entry: Entry) -> Seen:
    file = pages.file(entry.path)
    if not _stays_inside(pages.knowledge, os.path.dirname(file)):
        return Seen("outside", "")
    if not entry.filed:
        return _removed(pages, entry.path, _look(connection, pages, entry.path, entry), durable=True)
    seen = _finish(connection, pages, entry.path, entry, lambda _: True, durable=True)
    if seen.state not in ("diverged", "edited"):
        return seen
    if not adds_nothing(_read(file) or b"", entry, recorded_states(pages.state, entry.id)):
        return seen._replace(state="edited")
    if entry.status == "deleted":
        return _removed(pages, entry.path, Seen("stale", ""), True)
    return Seen("same", repr(write_whole(file, render_entry(entry), scratch=pages.scratch)))


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
        if not _stamp(pages.file(path)):
            # Somebody, or git, took the file away: that is theirs to say, and not undone behind their back.
            connection.execute("UPDATE markdown_files SET stamp = '', state = 'missing' WHERE path = ?", (path,))
        else:
            connection.execute("INSERT OR REPLACE INTO pending_markdown VALUES (?, ?, NULL)", (path, entry_id))
    connection.execute("COMMIT")


def survey(pages: Pages) -> list[Page]:
    """Every file compared with the fold, byte for byte; returns those that differ, and those of no entry."""
    return _unlike(pages, {}) + _strangers(pages)


def unlike_the_fold(connection: Connection, pages: Pages) -> list[Page]:
    """The same question, answered from what is known: only files that changed since are read."""
    known = dict(connection.execute("SELECT path, stamp FROM markdown_files WHERE state = 'same'").fetchall())
    return _unlike(pages, known) + _strangers(pages)


def still_unlike_the_fold(pages: Pages) -> list[Page]:
    """The same question right after all files were looked at: those that were right are not looked at again."""
    return _unlike(pages, {}, "path NOT IN (SELECT path FROM markdown_files WHERE state = 'same')") + _strangers(pages)


def _unlike(pages: Pages, known: dict[str, str], where: str = "1") -> list[Page]:
    hidden = outside_sparse_checkout(pages)
    found = []
    rows = pages.state.connection.execute(
        f"SELECT path, id, status, status != 'deleted' AND filed FROM entries WHERE {where} ORDER BY path, 4 DESC, id"
    ).fetchall()
    rightful_owners = _shared_paths(pages.state)
    for path, entry_id, status, filed in rows:
        now = _stamp(pages.file(path))
        if rightful_owners.get(path, entry_id) != entry_id:
            if filed:
                found.append(Page(path, entry_id, "crowded"))
            continue
        if not filed:
            if now:
                found.append(Page(path, entry_id, unwanted(status)))
        elif not now:
            if path not in hidden:
                found.append(Page(path, entry_id, "missing"))
        elif known.get(path) != now:
            entry = pages.state.entry(entry_id)
            assert entry
            state = classify(_read(pages.file(path)), entry, lambda: recorded_states(pages.state, entry_id))  # noqa: B023
            if state != "same":
                found.append(Page(path, entry_id, state))
    return found


def owners(state: State) -> dict[str, str]:
    """Whose each file is."""
    living = state.connection.execute("SELECT path, id FROM entries WHERE status != 'deleted' AND filed")
    return {**dict(living.fetchall()), **_shared_paths(state)}


def _shared_paths(state: State) -> dict[str, str]:
    """The files that more than one entry names, and whose each is."""
    rows = state.connection.execute(
        "SELECT path, json_group_array(id), json_group_array(CASE WHEN status != 'deleted' AND filed THEN id END)"
        " FROM entries GROUP BY path HAVING count(*) > 1"
    )
    owners = {}
    for path, everybody, living in rows:
        named = [entry_id for entry_id in json.loads(living) if entry_id] or json.loads(everybody)
        owners[path] = rightful(path, named)
    return owners


def _strangers(pages: Pages) -> list[Page]:
    """Markdown that no entry has: one that names an id has lost its events, any other is not knowledge yet."""
    ours = {path for (path,) in pages.state.connection.execute("SELECT path FROM entries")}
    return [Page(path, "", _claim(pages, path)) for path, _ in sorted(_files(pages.knowledge)) if path not in ours]


def on_disk(knowledge: str) -> dict[str, str]:
    """Every Markdown file below the knowledge folder, with its stamp."""
    return {path: _stamp(file) for path, file in _files(knowledge)}


def _files(knowledge: str) -> Iterator[tuple[str, str]]:
    """Markdown files, seen from the knowledge folder and as they are opened. What begins with a dot is an editor's."""
    for folder, folders, names in os.walk(knowledge):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inner = os.path.relpath(folder, knowledge).replace(os.sep, "/")
        prefix = "" if inner == "." else f"{inner}/"
        for name in names:
            if name.lower().endswith(".md") and not name.startswith("."):
                yield prefix + name, f"{folder}/{name}"


def bytes_of(pages: Pages, path: str) -> bytes:
    """What stands in a file; empty for what is no file that can be read."""
    if not _stays_inside(pages.knowledge, os.path.dirname(pages.file(path))):
        return b""
    return _read(pages.file(path)) or b""


def _claim(pages: Pages, path: str) -> str:
    return _claimed(_read(pages.file(path)) or b"")


def _claimed(data: bytes) -> str:
    return "orphaned" if data.startswith(b"---\nid: ") else "unknown"


def page_of(state: State, path: str, entry: Entry | None, data: bytes | None) -> Page:
    """What one file is, given its bytes, wherever they come from."""
    if entry is None or entry.path != path:
        return Page(path, "", "same" if data is None else _claimed(data))
    if entry.status == "deleted" or not entry.filed:
        return Page(path, entry.id, "same" if data is None else unwanted(entry.status))
    return Page(path, entry.id, classify(data, entry, lambda: recorded_states(state, entry.id)))


def unwanted(status: str) -> str:
    """What the file of an entry that should have none is."""
    return "undeleted" if status == "deleted" else "returned"


def recorded_states(state: State, entry_id: str) -> Recorded:
    """Every state the entry had on any branch: of each event with its ancestors, and of the events in their order."""
    events = state.unredacted_events_of(f"e:{entry_id}")
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


def outside_sparse_checkout(pages: Pages) -> set[str]:
    """Files that git was asked not to check out: their absence means nothing."""
    if pages.repository is None or not git.has_sparse_checkout(pages.repository):
        return set()
    top = pages.repository.worktree
    folder = os.path.relpath(os.path.realpath(pages.knowledge), top).replace(os.sep, "/") + "/"
    try:
        # Asked from the top: the folder itself may be among what is not checked out.
        listed = git.ask(top, "ls-files", "-t", "-z", "--", folder)
    except git.GitFailed:
        return set()
    return {line[2:].removeprefix(folder) for line in listed.split("\0") if line.startswith("S ")}


def _stays_inside(knowledge: str, folder: str) -> bool:
    """Whether no link on the way leads out: an entry's path comes from a ledger, and ledgers from strangers."""
    if os.path.islink(knowledge):
        return False
    return folder == knowledge or os.path.realpath(folder).startswith(os.path.realpath(knowledge) + os.sep)


def _stamp(file: str) -> str:
    try:
        found = stamp(file)
    except OSError:  # a circle of links, a name that is too long
        return "unreadable"
    return repr(found) if found else ""
