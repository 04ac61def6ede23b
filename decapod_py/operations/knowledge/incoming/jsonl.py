"""Our own JSON lines, as `knowledge export` writes them."""

from __future__ import annotations

import json
import sys
from typing import IO, TYPE_CHECKING, Any

from decapod_py.foundation.errors import Misused
from decapod_py.operations.knowledge.incoming.rows import Row, Rows, Source, attempted, row_from_fields

if TYPE_CHECKING:
    from decapod_py.workspace import Workspace


def rows(workspace: Workspace, source: Source) -> Rows:
    with _opened(source) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield attempted(source.name, number, "jsonl", lambda: _row(workspace, source, number, line))  # noqa: B023


def _opened(source: Source) -> IO[bytes]:
    if source.name == "-":
        return sys.stdin.buffer
    try:
        return open(source.place, "rb")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise Misused("no-file", f"{source.name!r} cannot be read: {reason}") from None


def _row(workspace: Workspace, source: Source, number: int, line: bytes) -> Row:
    return row_from_fields(workspace, source.name, number, "jsonl", _fields(line))


def _fields(line: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise Misused("not-json", f"not JSON: {problem}") from None
    if not isinstance(fields, dict):
        raise Misused("not-json", "not a JSON object")
    return fields
