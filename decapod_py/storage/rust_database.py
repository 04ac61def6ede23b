"""The knowledge of the Rust tool of the same name: its database, read without touching a byte of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlite3 import Connection

_MAGIC = b"SQLite format 3\0"
_COLUMNS = (
    "id",
    "title",
    "content",
    "provenance",
    "claim_id",
    "tags",
    "created_at",
    "scope",
    "status",
    "merge_key",
    "supersedes_id",
    "ttl_policy",
    "expires_ts",
)


class NotOurs(Exception):
    """A file that is no such database."""


def is_database(file: str) -> bool:
    """Whether a regular file begins as SQLite's do."""
    if not os.path.isfile(file):
        return False
    try:
        with open(file, "rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def rows(file: str) -> list[dict[str, Any]]:
    """Every entry, in the order they were written, as far as this version of the database has the columns."""
    import sqlite3

    try:
        with _opened(file) as connection:
            known = {row[1] for row in connection.execute("PRAGMA table_info(knowledge)")}
            if not {"id", "title", "content"} <= known:
                raise NotOurs("it has no table `knowledge` with id, title and content")
            columns = [name for name in _COLUMNS if name in known]
            listed = connection.execute(f"SELECT {', '.join(columns)} FROM knowledge ORDER BY rowid").fetchall()
            return [dict(zip(columns, row, strict=True)) for row in listed]
    except sqlite3.Error as problem:
        raise NotOurs(str(problem)) from None


@contextmanager
def _opened(file: str) -> Iterator[Connection]:
    if not _has_unsaved_changes(file):
        with closing(_immutable(file)) as connection:
            yield connection
        return
    # The newest entries may still be in the log beside the file, which only a copy can be asked about.
    import shutil
    import sqlite3
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, "knowledge.db")
        for ending in ("", "-wal"):
            shutil.copyfile(file + ending, copy + ending)
        with closing(sqlite3.connect(copy)) as connection:
            yield connection


def _has_unsaved_changes(file: str) -> bool:
    try:
        return os.path.getsize(f"{file}-wal") > 0
    except OSError:
        return False


def _immutable(file: str) -> Connection:
    import sqlite3
    from urllib.parse import quote

    return sqlite3.connect(f"file:{quote(os.path.abspath(file))}?mode=ro&immutable=1", uri=True)
