"""The composition root: opens ledgers, database and repository on first use, and holds the clock.

A write happens in one order, here and nowhere else: lock, catch up, decide, append and fsync (the commit point), fold,
write the Markdown. Reads catch up too, and on a read-only checkout they fold what is missing in memory.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain.event import FORMAT, Event, seal, to_line
from decapod_py.foundation.clock import Clock, format_time, system_clock
from decapod_py.foundation.errors import Call, Misused, Refused
from decapod_py.foundation.faults import step
from decapod_py.foundation.files import stamp
from decapod_py.foundation.ids import milliseconds_of, ulid
from decapod_py.foundation.progress import Progress, silent
from decapod_py.storage import database, git, lock, segments
from decapod_py.storage.segments import Segment
from decapod_py.views import pages, projection, search
from decapod_py.views.projection import Placed
from decapod_py.views.state import State

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.domain.policy import Policy

FOLDER = ".decapod"


class Draft(NamedTuple):
    """An event that is decided and not yet written."""

    ledger: str
    type: str
    fields: dict[str, Any]
    text: dict[str, Any]


class Workspace:
    """The opened `.decapod` of one working tree; everything opens on first use."""

    def __init__(
        self,
        directory: str = ".",
        *,
        actor: str | None = None,
        agent: bool = False,
        clock: Clock = system_clock,
        progress: Progress | None = None,
    ) -> None:
        self.directory = os.path.abspath(directory)
        self.agent = agent  # the caller is an agent: it proposes, it never approves
        self.clock = clock
        self.progress = progress or silent
        self.warnings: list[str] = []
        self._actor = actor
        self._connection: sqlite3.Connection | None = None
        self._connected_to: tuple[int, int] | None = None
        self._writable = True
        self._policy: tuple[object, Policy] | None = None

    @cached_property
    def root(self) -> str:
        """The directory that holds `.decapod`."""
        place = self.directory
        while not os.path.isdir(os.path.join(place, FOLDER, "ledgers")) and not os.path.isfile(
            os.path.join(place, FOLDER, "config.toml")
        ):
            parent = os.path.dirname(place)
            if parent == place:
                raise Refused("not-initialised", f"there is no {FOLDER} in {self.directory} or above", Call("init"))
            place = parent
        return place

    @property
    def ledgers(self) -> str:
        return os.path.join(self.root, FOLDER, "ledgers")

    @property
    def knowledge(self) -> str:
        return os.path.join(self.root, FOLDER, "knowledge")

    @property
    def local(self) -> str:
        return os.path.join(self.root, FOLDER, "local")

    @property
    def database_path(self) -> str:
        return os.path.join(self.local, "knowledge.db")

    @cached_property
    def repository(self) -> git.Repository | None:
        return git.find_repository(self.root)

    @property
    def policy(self) -> Policy:
        """What config.toml says now: a server lives longer than a policy."""
        now = stamp(os.path.join(self.root, FOLDER, "config.toml"))
        if self._policy is None or self._policy[0] != now:
            self._policy = (now, _read_policy(self.root))
        return self._policy[1]

    def actor(self, given: str | None = None) -> str:
        """Who acts: as given, as the caller is known, as DECAPOD_ACTOR says, or as git does."""
        from decapod_py.domain.text import check_label

        if given is not None:
            return check_label(given, "actor")
        known = self._actor or os.environ.get("DECAPOD_ACTOR") or git.user_name(self.root) or _system_user()
        return check_label(known, "actor")

    def state(self) -> State:
        """The state as of now, for a question."""
        self._make_current()
        return State(self._open(), self.ledgers)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Holds the lock while something is decided and written. Refuse by raising: then nothing has changed."""
        self._open()
        if not self._writable:
            raise Refused("read-only", f"{self.local} cannot be written, so nothing can be recorded here")
        with lock.held(self._lock_path):
            step("locked")
            connection = self._open()
            self._catch_up(connection)
            self._refuse_newer_data(connection)
            step("caught-up")
            writer = Writer(self, connection)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield writer
                step("folded")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            step("committed")
            self._finish_markdown(connection, durable=writer.appended <= 8)

    def rebuild(self) -> None:
        """Throws the database away and makes it anew, with the Markdown that is missing or out of date."""
        self._open()
        if not self._writable:
            raise Refused("read-only", f"{self.local} cannot be written")
        with lock.held(self._lock_path):
            self.close()
            for suffix in ("", "-wal", "-shm", "-journal"):
                if os.path.exists(self.database_path + suffix):
                    os.unlink(self.database_path + suffix)
            connection = self._open()
            self._catch_up(connection)

    def unlike_the_fold(self) -> list[pages.Page]:
        """The Markdown files that are not what the fold says."""
        connection = self._open()
        return pages.unlike_the_fold(connection, self.pages(connection))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _lock_path(self) -> str:
        return os.path.join(self.local, "lock")

    def _open(self) -> sqlite3.Connection:
        """The database; opened again where somebody replaced the file under a long-running process."""
        if self._connection is not None and (not self._writable or self._connected_to == _identity(self.database_path)):
            return self._connection
        self.close()
        try:
            make_local(self.local)
            self._connection = self._open_writable()
            self._connected_to = _identity(self.database_path)
        except OSError:
            self._writable = False
        except sqlite3.OperationalError as problem:
            if not _means_read_only(problem):
                raise
            self._writable = False
        if not self._writable:
            self._connection = self._open_in_memory()
        assert self._connection is not None
        return self._connection

    def _open_writable(self) -> sqlite3.Connection:
        if not os.access(self.local, os.W_OK):
            raise PermissionError(self.local)
        try:
            return database.open_database(self.database_path, search.DDL)
        except database.Unreadable:
            # The lock is held for the swap alone: two processes may have found the same damage.
            with lock.held(self._lock_path):
                try:
                    return database.open_database(self.database_path, search.DDL)
                except database.Unreadable as problem:
                    other_version = database.is_other_version(self.database_path, search.DDL)
                    aside = database.move_aside(self.database_path)
                    if aside and other_version:
                        os.unlink(aside)
                    elif aside:
                        self.warnings.append(
                            f"the database was unreadable ({problem}); it was moved to"
                            f" {os.path.relpath(aside, self.root)} and made anew from the ledgers"
                        )
                    return database.open_database(self.database_path, search.DDL)

    def _open_in_memory(self) -> sqlite3.Connection:
        found = database.open_read_only(self.database_path, search.DDL)
        if found is None:
            return database.open_in_memory(search.DDL)
        if projection.difference(found, self.ledgers):
            copy = database.copy_to_memory(found)
            found.close()
            return copy
        return found

    def _make_current(self) -> None:
        connection = self._open()
        if not self._writable:
            ahead = projection.difference(connection, self.ledgers)
            if ahead:
                connection.execute("BEGIN")
                projection.catch_up(connection, self.ledgers, ahead, self.progress)
                connection.execute("COMMIT")
        elif self._is_behind(connection):
            with lock.held(self._lock_path):
                connection = self._open()
                self._catch_up(connection)
        self._refuse_newer_data(connection)

    def _is_behind(self, connection: sqlite3.Connection) -> bool:
        return bool(
            projection.difference(connection, self.ledgers)
            or pages.has_pending(connection)
            or _meta(connection, "position") != git.position(self.repository)
        )

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Steps one and two of every write; the lock is held."""
        position = git.position(self.repository)
        ahead = projection.difference(connection, self.ledgers)
        if ahead:
            connection.execute("BEGIN IMMEDIATE")
            try:
                projection.catch_up(connection, self.ledgers, ahead, self.progress)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        if _meta(connection, "position") != position:
            pages.recheck(connection, self.pages(connection))
            _set_meta(connection, "position", position)
        if pages.has_pending(connection):
            self._finish_markdown(connection, durable=True)

    def _finish_markdown(self, connection: sqlite3.Connection, *, durable: bool) -> None:
        self.warnings += pages.finish_pending(
            connection, self.pages(connection), durable=durable, progress=self.progress
        )

    def pages(self, connection: sqlite3.Connection) -> pages.Pages:
        return pages.Pages(State(connection, self.ledgers), self.knowledge, self.local, self.repository)

    def _refuse_newer_data(self, connection: sqlite3.Connection) -> None:
        row = connection.execute(
            "SELECT segment, line, message FROM segment_problems WHERE code = 'newer-format' LIMIT 1"
        ).fetchone()
        if row:
            raise Refused(
                "newer-data", f"{FOLDER}/ledgers/{row[0]} line {row[1]}: {row[2]}", "upgrade the package decapod-py"
            )


class Writer:
    """Decides against the state and appends. Lives only inside `Workspace.writing`."""

    def __init__(self, workspace: Workspace, connection: sqlite3.Connection) -> None:
        self.workspace = workspace
        self.state = State(connection, workspace.ledgers)
        self.appended = 0
        self._connection = connection
        self.now = workspace.clock()

    def append(self, actor: str, draft: Draft) -> Event:
        """Writes one event. When this returns it has happened."""
        return self.append_many(actor, [draft])[0]

    def append_many(self, actor: str, drafts: list[Draft]) -> list[Event]:
        """Writes events of one ledger, each building on the one before, with one fsync for all."""
        ledger = drafts[0].ledger
        assert all(draft.ledger == ledger for draft in drafts)
        events = self._sealed(actor, drafts)
        lines = [to_line(event) for event in events]
        position = git.position(self.workspace.repository)
        path, offset = self._open_segment(ledger, events[0]["event_id"], position)
        segment = segments.append(self.workspace.ledgers, path, b"".join(lines))
        step("appended")
        if not offset:
            segments.keep(self.workspace.ledgers, os.path.join(self.workspace.local, "kept"), path)
        self._fold(events, lines, segment, offset)
        _set_meta(self._connection, f"open:{ledger}", json.dumps([path, segment.size, segment.inode, position]))
        self.appended += len(events)
        return events

    def new_entry_id(self) -> str:
        return ulid(self.now)

    def file_of(self, event: Event) -> str:
        """The segment an event was written to, seen from the top of the working tree."""
        row = self._connection.execute(
            "SELECT segment FROM events WHERE hash = ?", (bytes.fromhex(event["hash"]),)
        ).fetchone()
        return f"{FOLDER}/ledgers/{row[0]}"

    def was(self, *entries: Entry) -> dict[str, list[str]]:
        """The versions a change to these entries is decided from."""
        return {entry.id: list(entry.heads) for entry in entries}

    def _sealed(self, actor: str, drafts: list[Draft]) -> list[Event]:
        newest = self.state.newest_id()
        milliseconds = max(self.now, milliseconds_of(newest) + 1 if newest else 0)
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
            event = seal(fields, draft.text, os.urandom(16).hex())
            events.append(event)
            parents = [event["hash"]]
        return events

    def _open_segment(self, ledger: str, event_id: str, position: str) -> tuple[str, int]:
        """The segment that may grow, or a new one: whatever git may have taken in is never touched again."""
        note = _meta(self._connection, f"open:{ledger}")
        if note:
            path, size, inode, left_at = json.loads(note)
            found = stamp(os.path.join(self.workspace.ledgers, path))
            if left_at == position and found and (found[0], found[2]) == (inode, size) and size < segments.FULL:
                return path, size
        return segments.new_path(ledger, event_id, segments.month_of(event_id)), 0

    def _fold(self, events: list[Event], lines: list[bytes], segment: Segment, offset: int) -> None:
        placed = []
        for event, line in zip(events, lines, strict=True):
            placed.append(Placed(event, segment.path, offset, len(line)))
            offset += len(line)
        touched = projection.take_in(self._connection, placed)
        projection.note_own_write(self._connection, segment)
        remembered = {bytes.fromhex(event["hash"]): event for event in events}
        projection.refold(self._connection, self.workspace.ledgers, touched, remembered, silent)


def _read_policy(root: str) -> Policy:
    import tomllib

    from decapod_py.domain.policy import Policy, read_policy

    place = f"{FOLDER}/config.toml"
    try:
        with open(os.path.join(root, place), "rb") as file:
            return read_policy(tomllib.load(file), place)
    except FileNotFoundError:
        return Policy()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise Misused("bad-config", f"{place} is not TOML: {problem}") from None


def make_local(path: str) -> None:
    """The local folder ignores itself, so that no one has to edit a .gitignore."""
    ignore = os.path.join(path, ".gitignore")
    if not os.path.exists(ignore):
        os.makedirs(path, exist_ok=True)
        with open(ignore, "w", encoding="utf-8") as file:
            file.write("*\n")


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _means_read_only(problem: sqlite3.OperationalError) -> bool:
    return any(words in str(problem) for words in ("readonly", "read-only", "unable to open"))


def _meta(connection: sqlite3.Connection, key: str) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def _set_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _system_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
