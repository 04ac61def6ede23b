"""One error type for every surface: a code for programs, a sentence for people, a next step."""

from __future__ import annotations

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
