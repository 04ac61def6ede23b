"""One error type for every surface: a code for programs, a sentence for people, a next step."""

from __future__ import annotations

import errno
from typing import Any, NamedTuple


class Call(NamedTuple):
    """A next step that is one of our own operations; each surface writes it in its own words."""

    operation: str
    arguments: dict[str, Any] = {}  # noqa: RUF012  (a NamedTuple default; never changed)


Hint = str | Call | None


class DecapodError(Exception):
    """An expected refusal. Nothing was changed."""

    exit_code = 1

    def __init__(self, code: str, message: str, hint: Hint = None, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details or {}


class Refused(DecapodError):
    """The request was understood and is not allowed as things stand."""


class Misused(DecapodError):
    """The request itself is malformed: a wrong option, an unreadable time, an unknown key."""

    exit_code = 2


_REFUSALS = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.EISDIR,  # something stands where a file or a folder of ours has to be
        errno.ENOTDIR,
        errno.EEXIST,
        errno.ELOOP,
        errno.ENAMETOOLONG,
    }
)
_REFUSALS_OF_SQLITE = frozenset({3, 5, 8, 10, 13, 14})  # no permission, busy, read-only, I/O error, full, cannot open


def refused_by_the_machine(problem: BaseException) -> Refused | None:
    """What to say when the machine refused and not our code: no traceback helps."""
    if isinstance(problem, OSError) and problem.errno in _REFUSALS:
        where = f": {problem.filename}" if problem.filename else ""
        return Refused("system", f"the system refused: {problem.strerror}{where}")
    if getattr(problem, "sqlite_errorcode", 0) & 0xFF in _REFUSALS_OF_SQLITE:
        return Refused("system", f"the system refused the database: {problem}")
    return None
