"""Redaction in bytes: takes the text out of lines, wherever a segment or a second name of one has them.

The line stays in canonical form with its hash, which never covered the text: every chain still verifies.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

from decapod_py.domain.event import BadLine, Event, from_line, to_line
from decapod_py.foundation.canonical import canonical
from decapod_py.foundation.faults import step
from decapod_py.foundation.files import read_bytes, write_whole
from decapod_py.storage import git, segments

_EVENT_ID = re.compile(rb'"event_id"\s*:\s*"([0-9A-Z]{26})"')
_SHORTEST_PIECE = 16  # characters of a line that says something: shorter ones stand everywhere
_MOST_PIECES = 50
_MOST_IDS = 500  # in one question to git
_PATIENCE = 30.0  # seconds that git may read history


def holding(directory: str, redacted: set[str]) -> list[str]:
    """The segments below a directory that still have the text of one of these events."""
    return [path for path, data, stripped in _stripped(directory, redacted) if stripped != data]


def strip(directory: str, scratch: str, redacted: set[str]) -> list[str]:
    """Writes those segments anew without the texts; returns their paths."""
    written = []
    for path, data, stripped in _stripped(directory, redacted):
        if stripped != data:
            write_whole(os.path.join(directory, path), stripped, scratch=scratch)
            step("segment-stripped")
            written.append(path)
    return written


def _stripped(directory: str, redacted: set[str]) -> Iterator[tuple[str, bytes, bytes]]:
    for path in sorted(segments.scan(directory)):
        data = read_bytes(os.path.join(directory, path)) or b""
        yield path, data, b"".join(_without_text(line, redacted) for line in data.splitlines(keepends=True))


def _without_text(line: bytes, redacted: set[str]) -> bytes:
    """The line without its text if it is of one of these events, its text altered or not; else as it is."""
    if not any(match[1].decode() in redacted for match in _EVENT_ID.finditer(line)):
        return line
    try:
        event: Event = json.loads(line)
        if not isinstance(event, dict) or event.pop("text", None) is None or str(event.get("event_id")) not in redacted:
            return line
        bare = to_line(event)
        from_line(bare)
    except (BadLine, ValueError, RecursionError):
        return line  # no event of ours: nothing says what its text would be
    return bare[:-1] + line[len(line.rstrip(b"\r\n")) :]


def telling_pieces(texts: list[str]) -> list[str]:
    """The lines of some texts by which they can be recognised elsewhere, the longest first."""
    lines = {line.strip() for text in texts for line in text.split("\n")}
    return sorted((line for line in lines if len(line) >= _SHORTEST_PIECE), key=lambda line: (-len(line), line))[
        :_MOST_PIECES
    ]


def places_of(folder: str, pieces: list[str], but: str) -> Iterator[tuple[str, int, bytes]]:
    """Where files below a folder hold one of these pieces, written plainly or as JSON: path, line number and line."""
    needles = {form for piece in pieces for form in (piece.encode(), canonical(piece)[1:-1])}
    for top, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(top, name)
            data = b"" if path.startswith(but) else read_bytes(path) or b""
            if any(needle in data for needle in needles):
                for number, line in enumerate(data.splitlines(), 1):
                    if any(needle in line for needle in needles):
                        yield path, number, line


def commits_touching(root: str, event_ids: list[str], files: list[str]) -> list[str]:
    """The commits of any ref, stashes too, that brought or changed these texts or files, the newest first.

    Raises GitFailed, also when reading history takes too long.
    """
    everywhere = ["--all", *git.ask(root, "rev-list", "-g", "refs/stash", "--", accept=(0, 128)).split()]
    log = ("log", "--full-history", "-m", "--root", "--no-renames", "--no-ext-diff", "--no-textconv", "--format=%H")
    found: set[str] = set()
    for start in range(0, len(event_ids), _MOST_IDS):
        pattern = f'"event_id":"({"|".join(event_ids[start : start + _MOST_IDS])})".*"text":'
        found.update(_lines(root, *log, f"-G{pattern}", *everywhere, "--", ".decapod/ledgers"))
    if files:
        found.update(_lines(root, *log, *everywhere, "--", *(f":(literal){file}" for file in files)))
    return [commit for commit in _lines(root, "rev-list", "--date-order", *everywhere) if commit in found]


def _lines(root: str, *arguments: str) -> Iterator[str]:
    return (line.decode() for line in git.stream(root, *arguments, end=b"\n", seconds=_PATIENCE))


def speaker(line: bytes) -> str:
    """Which event a line is, where it is one."""
    try:
        return f": event {from_line(line)['event_id']}"
    except BadLine:
        return ""


def history_callback(event_ids: list[str]) -> str:
    """What `git filter-repo --blob-callback` runs to take the same texts out of every commit, chains intact."""
    line = rf"(?m)^(\{{.*\"event_id\":\"(?:{'|'.join(event_ids)})\".*?),\"text\":\{{.*\}}(,\"text_sha256\":)"
    return f'import re; blob.data = re.sub(rb"{line}", rb"\\1\\2", blob.data)'
