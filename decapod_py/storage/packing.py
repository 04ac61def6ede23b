"""Joining committed segments: fewer files, the same events. Identity is the event, not the file."""

from __future__ import annotations

import os
from hashlib import sha1, sha256

from decapod_py.domain.event import Event, order, to_line
from decapod_py.foundation.faults import step
from decapod_py.foundation.files import read_bytes, write_whole
from decapod_py.foundation.ids import milliseconds_of, ulid
from decapod_py.storage import segments

Sizes = dict[str, int]  # bytes of each event, by its hash


def plan(ledgers: str, root: str) -> dict[str, list[str]]:
    """Per ledger and month, the segments to join: committed as they are, sound, and none of them half of the whole."""
    committed = _unchanged_in_head(ledgers, root)
    months: dict[str, dict[str, Sizes]] = {}
    for path, segment in sorted(segments.scan(ledgers).items()):
        if path in committed and segment.size < segments.FULL:
            sizes = _sizes(ledgers, path)
            if sizes is not None:
                months.setdefault(os.path.dirname(path), {})[path] = sizes
    return {month: paths for month, found in months.items() if (paths := _small_beside_the_whole(found))}


def _small_beside_the_whole(found: dict[str, Sizes]) -> list[str]:
    """Leaves out the largest segment while it makes up half of what joining would give.

    git would take the joined file for that segment renamed, and two clones that pack different segments would conflict.
    """
    paths = sorted(found, key=lambda path: sum(found[path].values()))
    while paths:
        whole: Sizes = {}
        for path in paths:
            whole |= found[path]
        if 2 * sum(found[paths[-1]].values()) < sum(whole.values()):
            break
        paths.pop()
    return sorted(paths)


def join(ledgers: str, local: str, groups: dict[str, list[str]], redacted: set[str]) -> list[str]:
    """Writes each joined segment whole before its parts go: a crash leaves copies, and copies are dropped by hash."""
    written = []
    for month, paths in groups.items():
        events: dict[str, Event] = {}
        for path in paths:
            for line in segments.read(ledgers, path):
                # Of two copies the one that has its text: text lies outside the hash.
                if line.event and ("text" in line.event or line.event["hash"] not in events):
                    events[line.event["hash"]] = line.event
        for event in events.values():
            if event["event_id"] in redacted:
                event.pop("text", None)  # an old line that reappeared may still have it
        ordered = sorted(events.values(), key=order)
        lines = [to_line(event) for event in ordered]
        target = f"{month}/{_name(ordered, lines)}.jsonl"
        write_whole(os.path.join(ledgers, target), b"".join(lines), scratch=local)
        segments.keep(ledgers, os.path.join(local, "kept"), target)
        written.append(target)
        step("segments-joined")
        for path in paths:
            if path != target:
                os.unlink(os.path.join(ledgers, path))
                step("part-unlinked")
    return written


def _name(events: list[Event], lines: list[bytes]) -> str:
    """The same events give the same name, so that two clones that pack the same segments agree."""
    return ulid(milliseconds_of(events[-1]["event_id"]), sha256(b"".join(lines)).digest()[:10])


def _sizes(ledgers: str, path: str) -> Sizes | None:
    """The events of a segment; nothing if it has a line that is none, for that line must not move."""
    sizes: Sizes = {}
    for line in segments.read(ledgers, path):
        if not line.event or not line.terminated:
            return None
        sizes[line.event["hash"]] = line.length
    return sizes


def _unchanged_in_head(ledgers: str, root: str) -> set[str]:
    """Segments whose bytes are those of HEAD. The index is not asked: it only knows what was staged."""
    from git import Blob, Repo

    with Repo(root, search_parent_directories=True) as repository:
        if not repository.head.is_valid():
            return set()
        folder = os.path.relpath(os.path.realpath(ledgers), os.path.realpath(repository.working_dir))
        try:
            tree = repository.head.commit.tree / folder.replace(os.sep, "/")
        except KeyError:
            return set()
        blobs = [item for item in tree.traverse() if isinstance(item, Blob)]
        return {
            path
            for blob in blobs
            if (path := os.path.relpath(blob.path, folder)) and _blob_of(ledgers, path) == blob.hexsha
        }


def _blob_of(ledgers: str, path: str) -> str | None:
    """The name git gives these bytes."""
    data = read_bytes(os.path.join(ledgers, path))
    return None if data is None else sha1(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest()
