"""Segments: the files a ledger is made of. Bytes are only ever added; a committed segment never changes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import IO, NamedTuple

from decapod_py.domain.event import BadLine, Event, from_line
from decapod_py.foundation.errors import Refused
from decapod_py.foundation.faults import step, tears_a_line
from decapod_py.foundation.files import sync_directory
from decapod_py.foundation.ids import milliseconds_of

FULL = 4 * 1024 * 1024  # a segment of this size is left alone and a new one begun
_LONGEST_LINE = 64 * 1024 * 1024  # a decay run over half a million entries fits; a stranger's gigabyte does not
_LEDGER = re.compile(r"[a-z][a-z0-9._-]*", re.ASCII)
_MONTH = re.compile(r"\d{4}-\d\d", re.ASCII)
_SEGMENT = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\.jsonl")


class Segment(NamedTuple):
    """One file as the disk has it now."""

    path: str  # <ledger>/<yyyy-mm>/<ulid>.jsonl
    size: int
    mtime_ns: int
    inode: int


class Line(NamedTuple):
    """One line of a segment: an event, or why it is none."""

    number: int
    offset: int
    length: int
    event: Event | None
    problem: BadLine | None
    terminated: bool


def scan(directory: str) -> dict[str, Segment]:
    """Every segment below the ledgers directory."""
    found: dict[str, Segment] = {}
    for ledger in _folders(directory, _LEDGER):
        for month in _folders(ledger.path, _MONTH):
            prefix = f"{ledger.name}/{month.name}/"
            for file in _listed(month.path):
                if _SEGMENT.fullmatch(file.name) and file.is_file(follow_symlinks=False):
                    try:
                        stat = file.stat(follow_symlinks=False)
                    except FileNotFoundError:  # git took it away while we looked
                        continue
                    path = prefix + file.name
                    found[path] = Segment(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)
    return found


def is_segment(path: str) -> bool:
    """Whether a path below the ledgers directory has the form of a segment's."""
    parts = path.split("/")
    return len(parts) == 3 and all(
        form.fullmatch(part) for form, part in zip((_LEDGER, _MONTH, _SEGMENT), parts, strict=True)
    )


def strays(directory: str) -> list[str]:
    """What lies among the ledgers and is no segment, by its place or its name."""
    known = scan(directory)
    found = []
    for folder, _, files in os.walk(directory):
        paths = [os.path.relpath(os.path.join(folder, name), directory).replace(os.sep, "/") for name in files]
        found += [path for path in paths if path not in known]
    return sorted(found)


def _folders(directory: str, form: re.Pattern[str]) -> list[os.DirEntry[str]]:
    return [entry for entry in _listed(directory) if form.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]


def _listed(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def read(directory: str, path: str) -> Iterator[Line]:
    """The lines of a segment, each checked by itself and against the ledger it lies in."""
    with open(os.path.join(directory, path), "rb") as file:
        yield from lines_of(path, file)


def lines_of(path: str, file: IO[bytes]) -> Iterator[Line]:
    """The same for a segment that git has."""
    ledger = path.split("/", 1)[0]
    offset = number = 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            problem = BadLine("too-long", f"a line has more than {_LONGEST_LINE} bytes; what follows is not read")
            yield Line(number, offset, len(line), None, problem, True)
            return
        event, wrong = _checked(line, ledger)
        terminated = line.endswith(b"\n")
        yield Line(number, offset, len(line), event, wrong, terminated)
        if not terminated:
            return  # the end, or a line that is being written: its rest is no line of its own
        offset += len(line)


def _checked(line: bytes, ledger: str) -> tuple[Event | None, BadLine | None]:
    try:
        event = from_line(line)
    except BadLine as problem:
        return None, problem
    if event["ledger"] != ledger:
        return None, BadLine("wrong-ledger", f"event {event['event_id']} belongs to {event['ledger']}, not to {ledger}")
    return event, None


def new_path(ledger: str, identifier: str, month: str) -> str:
    return f"{ledger}/{month}/{identifier}.jsonl"


def append(directory: str, path: str, data: bytes) -> Segment:
    """Appends whole lines and makes them durable. When this returns, the events have happened."""
    full = os.path.join(directory, path)
    folder = os.path.dirname(full)
    created = not os.path.exists(full)
    if created:
        _refuse_links(directory, path)
    made = _make_folders(folder, directory)
    handle = os.open(full, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        step("segment-opened")
        if tears_a_line():
            os.write(handle, data[: len(data) // 2])
            step("half-written")
        _write_all(handle, data)
        step("line-written")
        os.fsync(handle)
        stat = os.fstat(handle)
    finally:
        os.close(handle)
    if created:
        for place in [folder, *made]:
            sync_directory(place)
    return Segment(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)


def _refuse_links(directory: str, path: str) -> None:
    """A new segment behind a link would lie where a stranger chose, and where nothing is read."""
    ledger, month, _ = path.split("/")
    for place in (directory, os.path.join(directory, ledger), os.path.join(directory, ledger, month)):
        if os.path.islink(place):
            raise Refused("link", f"{place} is a link; nothing is written through it", "put a folder in its place")


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _make_folders(folder: str, top: str) -> list[str]:
    """Makes the month's folder; returns the parents whose new names must be made durable."""
    if os.path.isdir(folder):
        return []
    os.makedirs(folder, exist_ok=True)
    return [os.path.dirname(folder), top]


def keep(directory: str, kept: str, path: str) -> None:
    """A second name for a segment, outside git's reach, so that a `git clean` takes nothing for good."""
    target = os.path.join(kept, path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.link(os.path.join(directory, path), target)
    except OSError:
        pass  # there already, or a file system without hard links: git alone keeps the segment
    step("kept")


def month_of(identifier: str) -> str:
    """The folder of a segment, by the time in its id."""
    from decapod_py.foundation.clock import format_time

    return format_time(milliseconds_of(identifier))[:7]
