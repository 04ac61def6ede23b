"""Segments that git swept away: a `git clean` or `reset --hard` takes the name, the link under `local/kept/` stays."""

from __future__ import annotations

import os
from typing import NamedTuple

from decapod_py.foundation.clock import DAY
from decapod_py.foundation.faults import step
from decapod_py.foundation.files import write_whole
from decapod_py.foundation.ids import milliseconds_of
from decapod_py.storage import git, segments


class Swept(NamedTuple):
    """Kept segments that are not in the working tree."""

    lost: list[str]  # in no commit of any ref: only the link has them
    elsewhere: list[str]  # on another branch or in a stash: git brings them back


def swept_segments(ledgers: str, local: str, root: str, repository: git.Repository | None) -> Swept:
    kept = os.path.join(local, "kept")
    missing = sorted(segments.scan(kept).keys() - segments.scan(ledgers).keys())
    missing = _not_standing_elsewhere(ledgers, kept, missing)
    if not missing or repository is None:
        return Swept(missing, [])
    known = _in_any_commit(root, ledgers)
    return Swept([path for path in missing if path not in known], [path for path in missing if path in known])


def prune(ledgers: str, local: str, root: str, now: int) -> None:
    """Lets go of links to old segments that git has. A young commit may still be thrown away by a reset."""
    kept = os.path.join(local, "kept")
    old = [path for path in segments.scan(kept) if now - milliseconds_of(os.path.basename(path)) > 30 * DAY]
    known = _in_any_commit(root, ledgers) if old else set()
    for path in old:
        if path in known:
            os.unlink(os.path.join(kept, path))


def restore(ledgers: str, local: str, path: str) -> None:
    """Brings a segment back under its old name, as a file of its own."""
    with open(os.path.join(local, "kept", path), "rb") as file:
        data = file.read()
    write_whole(os.path.join(ledgers, path), data, scratch=local)
    step("segment-restored")


def _not_standing_elsewhere(ledgers: str, kept: str, missing: list[str]) -> list[str]:
    """The segments with an event that the working tree does not have, in a packed segment say."""
    wanted = {path.split("/", 1)[0] for path in missing}
    present: set[str] = set()  # read once for all: a pack leaves thousands of kept segments without a name
    for path in segments.scan(ledgers):
        if path.split("/", 1)[0] in wanted:
            present |= _events(ledgers, path)
    return [path for path in missing if not _events(kept, path) <= present]


def _events(directory: str, path: str) -> set[str]:
    return {line.event["hash"] for line in segments.read(directory, path) if line.event}


def _in_any_commit(root: str, ledgers: str) -> set[str]:
    """Every segment that some commit of any ref holds, stashes included."""
    prefix = os.path.relpath(ledgers, root).replace(os.sep, "/") + "/"
    stashes = git.ask(root, "rev-list", "-g", "refs/stash", "--", accept=(0, 128)).split()
    listed = git.ask(
        root,
        "log",
        "--all",
        "--full-history",
        "-m",
        "--root",
        "--format=",
        "--name-only",
        "-z",
        "--diff-filter=AR",
        *stashes,
        "--",
        prefix,
        accept=(0, 128),
    )
    top = git.ask(root, "rev-parse", "--show-prefix").strip()
    return {name.removeprefix(top).removeprefix(prefix) for name in listed.replace("\n", "\0").split("\0") if name}
