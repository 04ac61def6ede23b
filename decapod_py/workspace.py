"""The composition root: opens ledgers, database and repository on first use, and holds the clock.

A write happens in one order, here and nowhere else: lock, catch up, decide, append and fsync (the commit point), fold,
write the Markdown. Reads catch up too, and on a read-only checkout they fold what is missing in memory.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from zlib import crc32

from decapod_py.domain.event import refuse_newer_format
from decapod_py.foundation.clock import Clock, system_clock
from decapod_py.foundation.errors import Call, DecapodError, Misused, Refused, refused_by_the_machine
from decapod_py.foundation.faults import step
from decapod_py.foundation.files import forget_left_over, read_bytes, stamp, write_whole
from decapod_py.foundation.progress import Progress, silent
from decapod_py.storage import database, git, lock
from decapod_py.views import pages, projection, search
from decapod_py.views.state import State
from decapod_py.writer import Writer

if TYPE_CHECKING:
    from decapod_py.domain.policy import Policy
    from decapod_py.storage.claims import Claims
    from decapod_py.storage.trees import Tree
    from decapod_py.views.meaning import Meaning
    from decapod_py.views.standing import Standings
    from decapod_py.views.watch import Watch

FOLDER = ".decapod"
Answer = TypeVar("Answer")
CONFIG = f"{FOLDER}/config.toml"


class Scrubbed(NamedTuple):
    """What came of taking redacted texts out."""

    segments: list[str]  # written anew
    kept: list[str]  # the same below `kept`
    left: list[pages.Page]  # Markdown that is not ours to overwrite
    moved_aside: list[str]  # databases that were removed
    forgotten: bool  # whether the database remembers nothing: who reads it may be in the way


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
        self._locked = False
        self._asking = False
        self._obstacle = ""  # why it is not writable
        self._hands_off = False  # whoever only looks must not mend what is wrong
        self._policy: tuple[object, Policy] | None = None
        self._afterwards: list[Callable[[sqlite3.Connection], None]] = []
        self._meaning: Meaning | None = None
        self._worked_out_from: tuple[sqlite3.Connection, int, int] | None = None
        self._answers: dict[Callable[[State], Any], Any] = {}

    @cached_property
    def root(self) -> str:
        """The directory that holds `.decapod`."""
        place = self.directory
        while not os.path.isdir(os.path.join(place, FOLDER, "ledgers")) and not os.path.isfile(
            os.path.join(place, CONFIG)
        ):
            parent = os.path.dirname(place)
            if parent == place:
                raise Refused("not-initialised", f"there is no {FOLDER} in {self.directory} or above", Call("init"))
            place = parent
        refuse_links(place)
        return place

    @cached_property
    def ledgers(self) -> str:
        return os.path.join(self.root, FOLDER, "ledgers")

    @cached_property
    def knowledge(self) -> str:
        return os.path.join(self.root, FOLDER, "knowledge")

    @cached_property
    def local(self) -> str:
        return os.path.join(self.root, FOLDER, "local")

    @cached_property
    def _config_path(self) -> str:
        return os.path.join(self.root, CONFIG)

    @cached_property
    def database_path(self) -> str:
        return os.path.join(self.local, "knowledge.db")

    @cached_property
    def repository(self) -> git.Repository | None:
        return git.find_repository(self.root)

    @cached_property
    def claims(self) -> Claims:
        """Who works on what, in all worktrees of this clone; where there is no git, in this one."""
        from decapod_py.storage.claims import Claims

        if self.repository is None:
            return Claims(self.local)
        # Two workspaces in one repository have tasks, and so claims, of their own.
        prefix = git.prefix_of(self.repository, self.root)
        name = f"claims-{crc32(os.fsencode(prefix)):08x}" if prefix else "claims"
        return Claims(os.path.join(self.repository.common_dir, "decapod"), name)

    @property
    def policy(self) -> Policy:
        """What config.toml says now: a server lives longer than a policy."""
        now = stamp(self._config_path)
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
        """The state as of now, for a question: it stands still, whoever writes, until the question ends."""
        self._make_current()
        return State(self._begin_question(), self.ledgers)

    def watch(self, state: State) -> Watch:
        """Looks at the citations of entries in the working tree, and remembers what it found."""
        from decapod_py.views import watch

        found = watch.Watch(state, self.working_tree(), self.root, self.repository)
        self._afterwards.append(lambda connection: watch.remember(connection, found.fresh))
        return found

    def meaning(self, state: State) -> Meaning:
        """The meaning of all entries; what had to be worked out is remembered."""
        from decapod_py.views import embedding, meaning

        if self._meaning is None:
            self._meaning = meaning.Meaning(embedding.load())
        learned = self._meaning.learn(state.connection, self.progress)
        if learned:
            self._afterwards.append(lambda connection: meaning.remember(connection, learned))
        return self._meaning

    def worked_out(self, state: State, work: Callable[[State], Answer]) -> Answer:
        """What follows from the whole state: worked out once for as long as nobody writes."""
        connection = state.connection
        seen = (connection, connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes)
        if self._worked_out_from != seen:
            self._worked_out_from, self._answers = seen, {}
        if work not in self._answers:
            self._answers[work] = work(state)
        answer: Answer = self._answers[work]
        return answer

    def working_tree(self) -> Tree:
        from decapod_py.storage.trees import working_tree

        return working_tree(self.root, self.repository)

    def staged_watch(self, state: State, tree: Tree) -> Watch:
        """The same in what the next commit has."""
        from decapod_py.views import watch

        return watch.Watch(state, tree, self.root, self.repository, staged=True, remembers=False)

    def past_watch(self, state: State, commit: str) -> Watch:
        """The same in a commit of this history."""
        from decapod_py.storage.trees import Objects, commit_tree
        from decapod_py.views import watch

        assert self.repository
        prefix = git.prefix_of(self.repository, self.root)
        tree = commit_tree(self.repository, commit, Objects(self.repository.worktree), prefix)
        return watch.Watch(state, tree, self.root, self.repository, remembers=False)

    def staged_tree(self, index: str | None = None) -> Tree:
        """The files that the next commit has."""
        from decapod_py.storage.trees import Objects, staged_tree

        assert self.repository
        prefix = git.prefix_of(self.repository, self.root)
        return staged_tree(self.repository, Objects(self.repository.worktree), prefix, index)

    def staged_state(self, index: str | None = None) -> State:
        """The state of the ledgers that the next commit has; nothing is mended on the way."""
        from decapod_py.views.staging import staged_state

        state = self.inspected()
        assert self.repository
        return staged_state(state, self.root, self.repository, index, self.scratch, self.progress)

    @property
    def scratch(self) -> str | None:
        """Where temp files may be made that git does not see; nothing where this cannot be written."""
        return self.local if self._writable and os.path.isdir(self.local) else None

    def file_at(self, commit: str, path: str) -> bytes | None:
        """What a file said in a commit; nothing where that has none."""
        from decapod_py.storage.trees import Objects, commit_tree

        assert self.repository
        objects = Objects(self.repository.worktree)
        try:
            tree = commit_tree(self.repository, commit, objects, git.prefix_of(self.repository, self.root), path)
            return tree.read(path).data
        finally:
            objects.close()

    def policy_at(self, commit: str) -> Policy | None:
        """What config.toml said in a commit; nothing where that has none, or none that can be read."""
        data = self.file_at(commit, CONFIG)
        try:
            return None if data is None else parse_policy(data)
        except DecapodError:
            return None

    def config_format(self) -> int:
        # Without a TOML reader, which costs every question more than the question itself.
        found = re.search(rb"^format\s*=\s*(\d+)", read_bytes(self._config_path) or b"", re.MULTILINE)
        return int(found[1]) if found else 0

    def standings(self, state: State) -> Standings:
        from decapod_py.views import standing

        found = standing.Standings(state, self.root, self.repository)
        self._afterwards.append(
            lambda connection: standing.remember_merged(connection, found.fresh) if found.fresh else None
        )
        return found

    def _remember(self) -> None:
        """Keeps what a question learned for the next one, if nobody is in the way: it can be learned again."""
        learned, self._afterwards = self._afterwards, []
        if not learned or not self._writable or self._connection is None or self._locked:
            return
        try:
            with lock.held_if_free(self._lock_path) as free:
                if free:
                    with database.transaction(self._connection):
                        for keep in learned:
                            keep(self._connection)
        except (OSError, sqlite3.Error):
            return

    def inspected(self) -> State:
        """The state for a gate: nothing is mended on the way, and data of a newer version is not refused but found."""
        self._hands_off = True
        return self.state()

    def _begin_question(self) -> sqlite3.Connection:
        connection = self._open()
        connection.execute("BEGIN")
        self._asking = True
        return connection

    def end_question(self) -> None:
        """Lets go of the state that a question looked at, so that it keeps nobody from writing."""
        self._let_go()
        self._hands_off = False

    def _let_go(self) -> None:
        if self._asking and self._connection is not None:
            self._connection.rollback()
            self._remember()
        self._asking = False

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Holds the lock while something is decided and written. Refuse by raising: then nothing has changed."""
        self._refuse_read_only()
        with self.locked():
            step("locked")
            connection = self._caught_up()
            self._refuse_newer_data(connection)
            step("caught-up")
            writer = Writer(connection, self.ledgers, self.local, self.repository, self.clock())
            try:
                with database.transaction(connection):
                    yield writer
                    step("folded")
            except BaseException as problem:
                if writer.appended and isinstance(problem, OSError | sqlite3.Error):
                    raise _unfinished(problem) from problem
                raise
            step("committed")
            self._finish_markdown(connection, durable=writer.appended <= 8)

    def rebuild(self) -> list[pages.Page]:
        """Throws the database away and makes it anew, with the Markdown that is missing or out of date.

        Returns the files that are not what the fold says even so.
        """
        self._refuse_read_only()
        with self.locked():
            connection = self._open()
            if not database.is_sound(connection):
                connection = self._without_damage("it is damaged")
            self._refill(connection)
            forget_left_over(self.local)
            self._finish_markdown(connection, durable=True)  # what somebody took away, too
            self._catch_up(connection)
            return pages.still_unlike_the_fold(self.pages(connection))

    def obey_redactions(self) -> Scrubbed:
        """Takes every redacted text out of Markdown, segments, what is kept of them, and the database."""
        from decapod_py.storage import redaction

        self._refuse_read_only()
        with self.locked():
            self.refuse_at_work()
            connection = self._caught_up()
            state = State(connection, self.ledgers)
            # Files first: without the texts in the ledgers nothing would tell a redacted text from an edit.
            left = pages.write_redacted(connection, self.pages(connection), state.redacted_entries())
            _refuse_unwritable(left)
            redacted = state.redacted()
            stripped = redaction.strip(self.ledgers, self.local, redacted)
            kept = redaction.strip(os.path.join(self.local, "kept"), self.local, redacted)
            forget_left_over(self.local)
            aside = database.forget_moved_aside(self.database_path)
            connection = self._caught_up()
            search.forget_deleted(connection)
            return Scrubbed(stripped, kept, left, aside, database.forget_deleted(connection))

    def refuse_at_work(self) -> None:
        """Segments that git may have taken in change only while it rests."""
        if not self._may_write_markdown():
            raise Refused(
                "git-at-work",
                "git is at work here (index.lock), and may be reading the very files that would change",
                "wait until it is done; if none runs, remove index.lock",
            )

    def unlike_the_fold(self) -> list[pages.Page]:
        """The Markdown files that are not what the fold says."""
        connection = self._open()
        found = pages.unlike_the_fold(connection, self.pages(connection))
        if not found or not self._writable:
            return found
        # Somebody may be writing those very files: look again while nobody is.
        with self.locked():
            self._caught_up()
            connection = self._begin_question()
            return pages.unlike_the_fold(connection, self.pages(connection))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps every other writer out; whoever holds the lock already may ask for it again."""
        if self._locked or not self._writable:
            yield
            return
        self._let_go()  # whoever holds the lock may be waiting for readers to go
        make_local(self.local)
        with lock.held(self._lock_path):
            self._locked = True
            try:
                yield
            finally:
                self._locked = False

    def replace_damaged(self, problem: BaseException) -> bool:
        """Moves the database aside if it is what is wrong; the next question makes it anew."""
        if not self._writable or not database.means_damage(problem):
            return False
        with self.locked():
            self._without_damage(str(problem))
        return True

    def lost_a_segment(self, problem: BaseException) -> bool:
        """Whether a segment went away, packed or taken by git, while a question was reading it."""
        return isinstance(problem, FileNotFoundError) and str(problem.filename).endswith(".jsonl")

    def close(self) -> None:
        self._asking = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @cached_property
    def _lock_path(self) -> str:
        return os.path.join(self.local, "lock")

    def _open(self) -> sqlite3.Connection:
        """The database; opened again where somebody replaced the file under a long-running process."""
        if self._connection is not None and (not self._writable or self._is_connected()):
            return self._connection
        self.close()
        try:
            self._connection = self._open_writable()
            self._connected_to = _identity(self.database_path)
        except OSError as problem:
            self._writable, self._obstacle = False, problem.strerror or str(problem)
        except sqlite3.OperationalError as problem:
            if not _means_unwritable(problem):
                raise
            self._writable, self._obstacle = False, str(problem)
        if not self._writable:
            self._connection = self._open_in_memory()
        assert self._connection is not None
        return self._connection

    def _is_connected(self) -> bool:
        return self._connected_to is not None and self._connected_to == _identity(self.database_path)

    def _open_writable(self) -> sqlite3.Connection:
        make_local(self.local)
        if not os.access(self.local, os.W_OK):
            raise PermissionError(self.local)
        try:
            if os.path.exists(self.database_path):
                return database.open_database(self.database_path, search.DDL)
            # One at a time: SQLite does not wait for another process that turns the write-ahead log on.
            with self.locked():
                return database.open_database(self.database_path, search.DDL)
        except database.Unreadable:
            # The lock is held for the swap alone: two processes may have found the same damage.
            with self.locked():
                try:
                    return database.open_database(self.database_path, search.DDL)
                except database.Unreadable as problem:
                    other_version = database.is_other_version(self.database_path, search.DDL)
                    self._move_aside(str(problem), worth_keeping=not other_version)
                    return database.open_database(self.database_path, search.DDL)

    def _move_aside(self, reason: str, *, worth_keeping: bool) -> None:
        aside = database.move_aside(self.database_path)
        if aside and not worth_keeping:
            os.unlink(aside)
        elif aside:
            self.warnings.append(
                f"the database was unreadable ({reason}); it was moved to {os.path.relpath(aside, self.root)}"
                " and made anew from the ledgers"
            )

    def _without_damage(self, reason: str) -> sqlite3.Connection:
        """A new database in the place of a damaged one; the lock is held."""
        self.close()
        self._move_aside(reason, worth_keeping=True)
        return self._open()

    def _refuse_read_only(self) -> None:
        self._let_go()
        if not self._writable:
            # What was in the way when a question was asked, a full disk say, may be gone.
            self.close()
            self._writable = True
        self._open()
        if not self._writable:
            message = f"{self.local} cannot be written ({self._obstacle}), so nothing can be recorded here"
            raise Refused("read-only", message)

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
        self._let_go()
        connection = self._open()
        if self._writable and self._is_behind(connection):
            try:
                with self.locked():
                    connection = self._caught_up()
            except (OSError, sqlite3.OperationalError) as problem:
                if not refused_by_the_machine(problem):
                    raise
                self.close()
                # A full disk, say: a question is answered all the same.
                self._writable, self._obstacle = False, str(problem)
        if not self._writable:
            connection = self._folded_in_memory()
        if not self._hands_off:
            self._refuse_newer_data(connection)

    def _is_behind(self, connection: sqlite3.Connection) -> bool:
        try:
            return bool(
                projection.difference(connection, self.ledgers)
                or (self._may_write_markdown() and self._markdown_is_behind(connection))
            )
        except sqlite3.Error as problem:
            if database.means_damage(problem):
                return True
            raise

    def _folded_in_memory(self) -> sqlite3.Connection:
        if self._connection is None or projection.difference(self._connection, self.ledgers):
            self.close()
            self._connection = self._open_in_memory()
            ahead = projection.difference(self._connection, self.ledgers)
            if ahead:
                self._connection.execute("BEGIN")
                projection.catch_up(self._connection, self.ledgers, ahead, self.progress)
                self._connection.execute("COMMIT")
        return self._connection

    def _caught_up(self) -> sqlite3.Connection:
        """The database when it is up to date; a damaged one is replaced. The lock is held."""
        self._let_go()
        connection = self._open()
        try:
            self._catch_up(connection)
        except sqlite3.Error as problem:
            if not database.means_damage(problem):
                raise
            connection = self._without_damage(str(problem))
            self._catch_up(connection)
        return connection

    def _refill(self, connection: sqlite3.Connection) -> None:
        position = git.position(self.repository)
        with database.transaction(connection):
            database.empty(connection, search.DDL)
            ahead = projection.difference(connection, self.ledgers)
            projection.catch_up(connection, self.ledgers, ahead, self.progress, self.knowledge)
            if self._may_write_markdown():
                # Every file is looked at after this, here or by its note, so none has to be checked again.
                database.remember(connection, "position", position)
            step("refilled")

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Steps one and two of every write; the lock is held."""
        position = git.position(self.repository)
        ahead = projection.difference(connection, self.ledgers)
        if ahead:
            with database.transaction(connection):
                projection.catch_up(connection, self.ledgers, ahead, self.progress, self.knowledge)
                step("others-folded")
            step("others-committed")
        if not self._may_write_markdown():
            return
        if database.remembered(connection, "position") != position:
            pages.recheck(connection, self.pages(connection))
            step("rechecked")
            database.remember(connection, "position", position)
        if pages.has_pending(connection):
            forget_left_over(self.local)
            self._finish_markdown(connection, durable=True, taken_away=self._taken_away())

    def _may_write_markdown(self) -> bool:
        """Not while git is at work: a checkout may have taken a file away and be about to take its ledger too."""
        return not self._hands_off and not git.is_at_work(self.repository)

    def _markdown_is_behind(self, connection: sqlite3.Connection) -> bool:
        return pages.has_pending(connection) or database.remembered(connection, "position") != git.position(
            self.repository
        )

    def _taken_away(self) -> Callable[[str], bool]:
        """Whether git says that somebody deleted a file that is missing: only `sync` decides what that means."""
        from decapod_py.views.file_history import FileHistory

        return FileHistory(self.root, self.repository, f"{FOLDER}/knowledge").deleted

    def _finish_markdown(
        self, connection: sqlite3.Connection, *, durable: bool, taken_away: Callable[[str], bool] = lambda _: False
    ) -> None:
        """What is recorded stays recorded: a file that cannot be written waits for the next command."""
        if self._hands_off:
            return
        if not self._may_write_markdown():
            self.warnings.append("git is at work here (index.lock); the next command writes the Markdown")
            return
        try:
            self.warnings += pages.finish_pending(
                connection, self.pages(connection), taken_away=taken_away, durable=durable, progress=self.progress
            )
        except (OSError, sqlite3.Error) as problem:
            connection.rollback()
            self.warnings.append(f"the Markdown is not up to date ({problem}); the next command tries again")

    def pages(self, connection: sqlite3.Connection) -> pages.Pages:
        return pages.Pages(State(connection, self.ledgers), self.knowledge, self.local, self.repository)

    def _refuse_newer_data(self, connection: sqlite3.Connection) -> None:
        refuse_newer_format(self.config_format())
        row = connection.execute(
            "SELECT segment, line, message FROM segment_problems WHERE code = 'newer-format' LIMIT 1"
        ).fetchone()
        if row:
            raise Refused(
                "newer-data", f"{FOLDER}/ledgers/{row[0]} line {row[1]}: {row[2]}", "upgrade the package decapod-py"
            )


def refuse_links(root: str) -> None:
    """A repository of a stranger's could have us write somewhere else."""
    for name in ("", "ledgers", "knowledge", "local", "local/kept", "local/lock", "local/knowledge.db"):
        path = os.path.join(root, FOLDER, name).rstrip(os.sep)
        if os.path.islink(path):
            raise Refused(
                "link", f"{path} is a link; nothing is read or written through it", "put a folder in its place"
            )


def _read_policy(root: str) -> Policy:
    return parse_policy(read_bytes(os.path.join(root, CONFIG)) or b"")


def parse_policy(data: bytes) -> Policy:
    """What the bytes of a config.toml say."""
    import tomllib

    from decapod_py.domain.policy import read_policy

    try:
        return read_policy(tomllib.loads(data.decode()), CONFIG)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Misused("bad-config", f"{CONFIG} is not TOML: {problem}") from None


def make_local(path: str) -> None:
    """The local folder ignores itself, so that no one has to edit a .gitignore."""
    ignore = os.path.join(path, ".gitignore")
    if not os.path.exists(ignore):
        os.makedirs(path, exist_ok=True)
        write_whole(ignore, b"*\n", scratch=path)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _refuse_unwritable(left: list[pages.Page]) -> None:
    for page in left:
        if page.state == "unwritable":
            raise Refused(
                "unfinished",
                f"{FOLDER}/knowledge/{page.path} cannot be written: redacted texts are hidden, and still in the files",
                "make it writable and do the same again",
            )


def _unfinished(problem: Exception) -> Refused:
    return Refused(
        "unfinished",
        f"the change is recorded in the ledger, but the database could not take it in: {problem}",
        "do not repeat it; the next command takes it in",
    )


def _means_unwritable(problem: sqlite3.OperationalError) -> bool:
    """Read-only or full; a database that is only busy is neither."""
    kind = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    return kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)


def _system_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
