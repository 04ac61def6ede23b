"""Claims and presence: who works on what right now, in this clone.

They are leases and not history, so they live in no ledger but in one small database in git's common directory, which
all worktrees of a clone share. It notes how tasks stand, too: what one worktree completed is closed in the others at
once, long before a merge brings them the event.

Two agents must never hold one aspect. So nothing here is quietly local, and nothing is quietly made anew: where the
database cannot be written or read, claiming is refused. It has a rollback journal, for a write-ahead log needs shared
memory, which bind mounts and network file systems fake; and it is opened for each call, so that no process is left with
a file that others do not see.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from decapod_py.domain.tasks import MINUTE, Claim, Standing, aspect_key, later
from decapod_py.foundation.clock import DAY
from decapod_py.foundation.errors import Refused
from decapod_py.foundation.faults import step
from decapod_py.storage import database, lock

_VERSION = 1
_WAIT = 30.0  # seconds, for whoever writes
_KEPT = 30 * DAY  # how long a note is kept: by then the ledgers have what it says
_DDL = (
    "CREATE TABLE claims (task_id TEXT, aspect_key TEXT, aspect TEXT NOT NULL, agent TEXT NOT NULL,"
    " claimed INTEGER NOT NULL, expires INTEGER NOT NULL, PRIMARY KEY (task_id, aspect_key)) WITHOUT ROWID",
    "CREATE TABLE standings (task_id TEXT PRIMARY KEY, status TEXT NOT NULL, decided TEXT NOT NULL,"
    " noted INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE agents (id TEXT PRIMARY KEY, first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL) WITHOUT ROWID",
    f"PRAGMA user_version = {_VERSION}",
)
_CLAIM = "SELECT task_id, aspect, agent, claimed, expires FROM claims"


class Taken(NamedTuple):
    """The aspect is the agent's that asked."""

    claim: Claim


class Held(NamedTuple):
    """The aspect is another agent's."""

    claim: Claim


class Free(NamedTuple):
    """The aspect is nobody's."""


class Closed(NamedTuple):
    """The task is not open, so nobody can claim any of it."""

    standing: Standing


class Board(NamedTuple):
    """All that is known at one moment."""

    claims: list[Claim]  # that hold
    standings: dict[str, Standing]
    agents: dict[str, tuple[int, int]]  # when each was first and last seen


NOTHING = Board([], {}, {})


class Claims:
    """The claims of one workspace, in all worktrees of its clone."""

    def __init__(self, folder: str, name: str = "claims") -> None:
        self.folder = folder
        self.path = os.path.join(folder, f"{name}.db")
        self._lock = os.path.join(folder, f"{name}.lock")

    def take(self, standing: Standing, wanted: Claim) -> Taken | Held | Closed:
        """The aspect for this agent, anew or for longer, unless another agent holds it."""
        now = wanted.claimed
        with self._writing() as connection:
            known = self._note(connection, standing, wanted.agent, now)
            if not known.is_open:
                return Closed(known)
            holder = _holder(connection, wanted, now)
            if holder and holder.agent != wanted.agent:
                return Held(holder)
            _put(connection, wanted)
            step("claim-written")
        step("claim-committed")
        return Taken(wanted)

    def renew(self, standing: Standing, wanted: Claim) -> Taken | Held | Free | Closed:
        """More time for the agent that holds the aspect, and for no other."""
        now = wanted.claimed
        with self._writing() as connection:
            known = self._note(connection, standing, wanted.agent, now)
            if not known.is_open:
                return Closed(known)
            holder = _holder(connection, wanted, now)
            if holder is None:
                return Free()
            if holder.agent != wanted.agent:
                return Held(holder)
            renewed = holder._replace(expires=wanted.expires)
            _put(connection, renewed)
            step("claim-written")
        step("claim-committed")
        return Taken(renewed)

    def release(self, wanted: Claim) -> Taken | Held | Free:
        """Gives the aspect up for the agent that holds it, and for no other."""
        with self._writing() as connection:
            _see(connection, wanted.agent, wanted.claimed)
            holder = _holder(connection, wanted, wanted.claimed)
            if holder is None:
                return Free()
            if holder.agent != wanted.agent:
                return Held(holder)
            connection.execute(
                "DELETE FROM claims WHERE task_id = ? AND aspect_key = ?", (wanted.task_id, aspect_key(wanted.aspect))
            )
        return Taken(holder)

    def note(self, standing: Standing, agent: str, now: int) -> list[Claim]:
        """Tells all worktrees how a task stands; of one that is closed every claim ends. Returns those that did."""
        with self._writing() as connection:
            known = self._note(connection, standing, agent, now)
            ended = [] if known.is_open else _claims(connection, now, standing.task_id)
            if not known.is_open:
                connection.execute("DELETE FROM claims WHERE task_id = ?", (standing.task_id,))
        return ended

    def see(self, agent: str, now: int) -> None:
        """An agent was here."""
        with self._writing() as connection:
            _see(connection, agent, now)

    def board(self, now: int) -> Board:
        """Everything, to look at. Nobody has claimed anything where there is no database."""
        self._refuse_links()
        if not os.path.exists(self.path):
            return NOTHING
        with self._told(), closing(self._connect(make=False)) as connection:
            if not _version(connection):  # somebody is making it
                return NOTHING
            connection.execute("BEGIN")
            standings = connection.execute("SELECT task_id, status, decided FROM standings")
            agents = connection.execute("SELECT id, first_seen, last_seen FROM agents")
            return Board(
                _claims(connection, now),
                {row[0]: Standing(*row) for row in standings},
                {agent: (first, last) for agent, first, last in agents},
            )

    def forget(self, now: int) -> bool:
        """Removes all of it, unless some agent holds something; says whether it is gone."""
        self._refuse_links()
        if not os.path.isdir(self.folder):
            return True
        with self._told(), lock.held(self._lock):
            if self.board(now).claims:
                return False
            for path in (self.path, f"{self.path}-journal", self._lock):
                if os.path.exists(path):
                    os.unlink(path)
            if not os.listdir(self.folder):
                os.rmdir(self.folder)
        return True

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One writer at a time, by a lock that dies with its holder, and all of it or nothing."""
        self._refuse_links()
        with self._told():
            os.makedirs(self.folder, exist_ok=True)
            # Both: the lock is fair to fifty who wait, and the transaction holds where a lock is only pretended.
            with (
                lock.held(self._lock),
                closing(self._connect(make=True)) as connection,
                database.transaction(connection),
            ):
                if not _version(connection):
                    _make(connection)
                step("claims-locked")
                yield connection

    def _connect(self, *, make: bool) -> sqlite3.Connection:
        quoted = self.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        mode = "rwc" if make else "rw"  # a reader too may have to undo what a killed writer left
        connection = sqlite3.connect(f"file:{quoted}?mode={mode}", uri=True, isolation_level=None, timeout=_WAIT)
        try:
            version = _version(connection)
            if version > _VERSION:
                raise Refused(
                    "newer-data", f"{self.path} was made by a newer version", "upgrade the package decapod-py"
                )
            if make:
                connection.execute("PRAGMA journal_mode=TRUNCATE")
                connection.execute("PRAGMA synchronous=NORMAL")  # what a power cut takes, its agents lost too
        except BaseException:
            connection.close()
            raise
        return connection

    def _note(self, connection: sqlite3.Connection, standing: Standing, agent: str, now: int) -> Standing:
        """How the task stands, by what this worktree knows and what others told; notes it for them."""
        _see(connection, agent, now)
        row = connection.execute(
            "SELECT task_id, status, decided FROM standings WHERE task_id = ?", (standing.task_id,)
        ).fetchone()
        told = Standing(*row) if row else None
        known = later(standing, told)
        if known != told:
            connection.execute("INSERT OR REPLACE INTO standings VALUES (?, ?, ?, ?)", (*known, now))
            connection.execute("DELETE FROM standings WHERE noted < ?", (now - _KEPT,))
        return known

    def _refuse_links(self) -> None:
        """A repository of a stranger's could have us write somewhere else."""
        for path in (self.folder, self.path, self._lock):
            if os.path.islink(path):
                raise Refused("claims-unwritable", f"{path} is a link; no claim goes through it", "remove the link")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the machine or SQLite refuses, in words of ours: nobody may take it for the projection's database."""
        try:
            yield
        except (OSError, sqlite3.Error) as problem:
            if database.means_damage(problem) or _is_foreign(problem):
                raise Refused(
                    "claims-damaged",
                    f"{self.path} is damaged ({problem}), so nobody knows who holds what",
                    "when no agent works on a claim, remove it: the next claim makes it anew",
                ) from problem
            raise Refused(
                "claims-unwritable",
                f"claims are kept in {self.folder}, which cannot be used: {_reason(problem)}",
                "make it writable, or work where it is; everything but claiming goes on without it",
            ) from problem


def _make(connection: sqlite3.Connection) -> None:
    for statement in _DDL:
        connection.execute(statement)
    step("claims-made")


def _version(connection: sqlite3.Connection) -> int:
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return found


def _see(connection: sqlite3.Connection, agent: str, now: int) -> None:
    """To a minute: whoever asks for a held aspect again and again writes nothing."""
    connection.execute(
        "INSERT INTO agents VALUES (?1, ?2, ?2)"
        " ON CONFLICT (id) DO UPDATE SET last_seen = max(last_seen, ?2), first_seen = min(first_seen, ?2)"
        " WHERE ?2 >= last_seen + ?3 OR ?2 < first_seen",
        (agent, now, MINUTE),
    )


def _holder(connection: sqlite3.Connection, wanted: Claim, now: int) -> Claim | None:
    row = connection.execute(
        f"{_CLAIM} WHERE task_id = ? AND aspect_key = ?", (wanted.task_id, aspect_key(wanted.aspect))
    ).fetchone()
    found = Claim(*row) if row else None
    return found if found and found.holds(now) else None


def _put(connection: sqlite3.Connection, claim: Claim) -> None:
    connection.execute("DELETE FROM claims WHERE expires < ?", (claim.claimed - DAY,))
    connection.execute(
        "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)",
        (claim.task_id, aspect_key(claim.aspect), claim.aspect, claim.agent, claim.claimed, claim.expires),
    )


def _claims(connection: sqlite3.Connection, now: int, task_id: str | None = None) -> list[Claim]:
    """The claims that hold now; one that expired may still have its row."""
    rows = connection.execute(f"{_CLAIM} WHERE ?1 IS NULL OR task_id = ?1 ORDER BY task_id, aspect_key", (task_id,))
    return [claim for row in rows if (claim := Claim(*row)).holds(now)]


def _is_foreign(problem: Exception) -> bool:
    """Whether the file is a sound database that is not ours: tables are missing, or were there before."""
    return isinstance(problem, sqlite3.OperationalError) and problem.sqlite_errorcode == sqlite3.SQLITE_ERROR


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)
