"""The embedded database: a projection that may be thrown away at any time.

It speaks `sqlite3` alone: SQLAlchemy costs 130 ms to import, fifteen times Python itself. The DDL comes from
`tables.py`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from zlib import crc32

from decapod_py.foundation.faults import step

PROJECTION = 9  # raise it when the same events fold to other rows
_WAIT = 30_000  # milliseconds, for whoever writes
_WAIT_FOR_READERS = 5_000
_DDL_FILE = os.path.join(os.path.dirname(__file__), "schema.sql")


class Unreadable(Exception):
    """The file is no database, or is damaged. It is moved aside and made anew."""


def open_database(path: str, search_ddl: str) -> sqlite3.Connection:
    """Opens the database for writing, making it if there is none or if it is of another version."""
    if os.path.isdir(path):
        raise Unreadable("it is a folder")
    try:
        connection = _connect(path)
        if connection.execute("PRAGMA user_version").fetchone()[0] != _version(search_ddl):
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise Unreadable("made by another version")
            _create(connection, search_ddl)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as problem:
        raise Unreadable(str(problem)) from None
    return connection


def open_in_memory(search_ddl: str) -> sqlite3.Connection:
    """An empty database that no disk sees: for a read-only checkout, and to compare with."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _create(connection, search_ddl)
    return connection


def open_read_only(path: str, search_ddl: str) -> sqlite3.Connection | None:
    """The database as it is, if it can be read without writing anything."""
    # Without a write-ahead file nothing is outstanding, and only then may SQLite be told that the file will not change.
    mode = "mode=ro" if os.path.exists(path + "-wal") else "immutable=1"
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        connection = sqlite3.connect(f"file:{quoted}?{mode}", uri=True, isolation_level=None)
        if connection.execute("PRAGMA user_version").fetchone()[0] == _version(search_ddl):
            return connection
    except sqlite3.DatabaseError:
        pass
    return None


def copy_to_memory(source: sqlite3.Connection) -> sqlite3.Connection:
    target = sqlite3.connect(":memory:", isolation_level=None)
    source.backup(target)
    return target


def move_aside(path: str) -> str | None:
    """Keeps an unreadable database for whoever wants to look, and makes room for a new one."""
    if not os.path.exists(path):
        return None
    number = 1
    while os.path.exists(f"{path}.unreadable-{number}"):
        number += 1
    os.replace(path, f"{path}.unreadable-{number}")
    step("database-moved-aside")
    for suffix in ("-wal", "-shm", "-journal"):
        if os.path.exists(path + suffix):
            os.unlink(path + suffix)
    return f"{path}.unreadable-{number}"


def forget_moved_aside(path: str) -> list[str]:
    """Removes databases that were moved aside; returns their paths."""
    folder, name = os.path.split(path)
    found = sorted(other for other in os.listdir(folder) if other.startswith(f"{name}.unreadable-"))
    for other in found:
        os.unlink(os.path.join(folder, other))
    return [os.path.join(folder, other) for other in found]


def forget_deleted(connection: sqlite3.Connection) -> bool:
    """Leaves nothing of deleted rows, in the file or in its log; says whether nobody who reads was in the way."""
    connection.execute(f"PRAGMA busy_timeout={_WAIT_FOR_READERS}")
    try:
        connection.execute("VACUUM")
        step("vacuumed")
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        step("log-emptied")
        return not busy
    except sqlite3.OperationalError as problem:
        if getattr(problem, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout={_WAIT}")


def is_other_version(path: str, search_ddl: str) -> bool:
    """Whether the file is a sound database that another version of the program made."""
    try:
        connection = sqlite3.connect(path)
        try:
            return bool(connection.execute("PRAGMA user_version").fetchone()[0] != _version(search_ddl))
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        return False


def is_sound(connection: sqlite3.Connection) -> bool:
    """Whether every page of the file can be read."""
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return False


def means_damage(problem: BaseException) -> bool:
    """Whether SQLite found the file itself to be wrong, wherever it noticed."""
    kind = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    return kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def empty(connection: sqlite3.Connection, search_ddl: str) -> None:
    """Takes everything out, in the caller's transaction: whoever reads meanwhile sees the old rows, then the new ones.

    Deleting the file instead would pull the write-ahead log from under a process that opens it at that moment.
    """
    for kind in ("CREATE VIRTUAL TABLE%", "CREATE TABLE%"):
        tables = connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE ?", (kind,)).fetchall()
        for (name,) in tables:
            connection.execute(f'DROP TABLE "{name}"')
    _make_tables(connection, search_ddl)


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=_WAIT / 1_000)
    _choose_journal(connection)
    connection.execute("PRAGMA synchronous=NORMAL")  # the ledger is the truth; a lost row is folded again
    connection.execute("PRAGMA wal_autocheckpoint=4000")  # pages; each time a writer waits for the disk
    return connection


def _choose_journal(connection: sqlite3.Connection) -> None:
    """A write-ahead log where the file system can share memory, a rollback journal where it cannot."""
    try:
        mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    except sqlite3.OperationalError as problem:
        if getattr(problem, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            return  # others are at work in the mode it has, and that will do
        mode = "failed"
    if mode != "wal":
        connection.execute("PRAGMA journal_mode=TRUNCATE")


def _create(connection: sqlite3.Connection, search_ddl: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have made the tables while this one waited.
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        _make_tables(connection, search_ddl)
    connection.execute("COMMIT")


def _make_tables(connection: sqlite3.Connection, search_ddl: str) -> None:
    for statement in (_tables_ddl() + search_ddl).split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version={_version(search_ddl)}")
    step("tables-made")


def _tables_ddl() -> str:
    with open(_DDL_FILE, encoding="utf-8") as file:
        return file.read()


def _version(search_ddl: str) -> int:
    """A number that changes with the tables, so that no one has to remember to raise it."""
    return crc32(f"{PROJECTION}\n{_tables_ddl()}\n{search_ddl}".encode()) & 0x7FFFFFFF


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or none of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Not by statement: SQLite may have rolled back by itself, and that would hide the real error.
        connection.rollback()
        raise


def remembered(connection: sqlite3.Connection, key: str) -> str | None:
    """A word that this workspace left for its next command."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def remember(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
