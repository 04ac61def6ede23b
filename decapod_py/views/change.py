"""What changed since a commit: files, and events of the ledgers."""

from __future__ import annotations

import os
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.event import Event
from decapod_py.domain.text import has_control_characters
from decapod_py.foundation.errors import Misused
from decapod_py.storage import git, segments
from decapod_py.storage.trees import GitTree, Objects, commit_tree, staged_tree

if TYPE_CHECKING:
    from decapod_py.views.state import State

LEDGERS = ".decapod/ledgers"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # what a first commit is compared with


def commit_named(root: str, repository: git.Repository | None, ref: str) -> str:
    """The commit that a name stands for; refuses a name that stands for none."""
    if repository is None:
        raise Misused("no-git", f"{ref!r} names a commit, and there is no git here", "leave it out")
    if ref.startswith("-") or has_control_characters(ref):
        raise Misused("no-such-ref", f"{ref!r} is no name of a commit")
    try:
        found = git.ask(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", accept=(0, 1)).strip()
    except git.GitFailed as problem:
        raise Misused("no-such-ref", f"git does not know {ref!r}: {problem.message}") from None
    if not found:
        hint = "git fetch --unshallow, or in CI fetch-depth: 0" if git.is_shallow(repository) else "look at git log"
        raise Misused("no-such-ref", f"{ref!r} is no commit of this repository", hint)
    return found


def merge_base(root: str, repository: git.Repository | None, ref: str) -> str:
    """Where this branch left `ref`."""
    base = commit_named(root, repository, ref)
    try:
        found = git.ask(root, "merge-base", base, "HEAD", accept=(0, 1)).split()
    except git.GitFailed as problem:
        raise Misused("no-such-ref", f"there is no commit here to compare with: {problem.message}") from None
    if not found:
        if git.is_shallow(repository):
            raise Misused(
                "shallow",
                f"this clone is too shallow to know where the branch left {ref!r}",
                "fetch the whole history; with actions/checkout: fetch-depth: 0",
            )
        raise Misused("no-common-commit", f"{ref!r} and HEAD have no commit in common")
    return found[0]


def touched_since(root: str, repository: git.Repository | None, ref: str) -> set[str]:
    """Every path that differs between a commit and the working tree, under its old name and its new one."""
    commit = commit_named(root, repository, ref)
    assert repository
    return touched(root, repository, commit)


def touched(root: str, repository: git.Repository, commit: str, staged: Staged | None = None) -> set[str]:
    prefix = git.prefix_of(repository, root)
    question = ["diff", *(["--cached"] if staged else []), "--name-only", "--no-renames", "--no-ext-diff", "-z", commit]
    listed = git.ask(root, *question, index=staged.index_file if staged else None).split("\0")
    if not staged:
        new = git.ask(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
        listed += [prefix + path for path in new if path]
    return {path.removeprefix(prefix) for path in listed if path.startswith(prefix) and path != prefix}


class Staged(NamedTuple):
    """What the next commit has; git may use another index for it than the working tree's."""

    index_file: str | None = None


class Lost(NamedTuple):
    """An event that the base has and the tree under review has not."""

    event: Event
    file: str
    line: int


class Change(NamedTuple):
    """What a branch, or the next commit, does to files and ledgers."""

    base: str
    paths: set[str]  # that differ, seen from the top of the workspace
    hashes: set[str]  # of the events that the base does not have
    numbers: set[int]  # the same events, as the database counts them
    subjects: set[str]  # what those events act on, as the database names it
    lost: list[Lost]
    altered: list[str]  # segments of the base that are here with other bytes
    bad_lines: list[tuple[str, int, str, str]]  # of what is staged: file, line, code, message

    @property
    def entry_ids(self) -> list[str]:
        return sorted(subject[2:] for subject in self.subjects if subject.startswith("e:"))


def change_since(
    state: State, root: str, repository: git.Repository, base: str, staged: Staged | None = None
) -> Change:
    """Costs grow with the change: only segments that differ from the base are read."""
    paths = touched(root, repository, base, staged)
    differing = sorted(path for path in paths if _is_segment(path))
    prefix = git.prefix_of(repository, root)
    objects = Objects(repository.worktree)
    try:
        before = commit_tree(repository, base, objects, prefix, *differing) if differing else None
        then = _lines(before, differing) if before else []
        bad: list[tuple[str, int, str, str]] = []
        lines: list[tuple[str, segments.Line]] = []
        if staged:
            lines = _lines(staged_tree(repository, objects, prefix, staged.index_file), differing) if differing else []
            bad = [(path, line.number, line.problem.code, line.problem.message) for path, line in lines if line.problem]
            here = {line.event["hash"] for _, line in lines if line.event}
        else:
            here = _hashes_in(state, differing)
    finally:
        objects.close()
    had = {line.event["hash"] for _, line in then if line.event}
    elsewhere = _hashes_outside(state, here | had, differing)
    new = here - had - elsewhere
    numbers = _numbers(state, new)
    lost = [
        Lost(line.event, path, line.number)
        for path, line in then
        if line.event and line.event["hash"] not in here | elsewhere
    ]
    altered = _altered(root, then, lines if staged else None)
    return Change(base, paths, new, numbers, _subjects_of(state, numbers), lost, altered, bad)


def _altered(
    root: str, then: list[tuple[str, segments.Line]], staged: list[tuple[str, segments.Line]] | None
) -> list[str]:
    """Segments of the base that hold other events now; one that lost texts holds the same, one that is gone none."""
    found = []
    for path in sorted({path for path, _ in then}):
        before = [line.event and line.event["hash"] for named, line in then if named == path]
        if staged is not None:
            after = [line.event and line.event["hash"] for named, line in staged if named == path]
        elif os.path.exists(os.path.join(root, path)):
            folder, _, segment = path.partition(LEDGERS + "/")
            read = segments.read(os.path.join(root, folder, LEDGERS), segment)
            after = [line.event and line.event["hash"] for line in read]
        else:
            continue
        if after and before != after:
            found.append(path)
    return found


def entries_citing(state: State, paths: set[str]) -> list[str]:
    """The entries in use that cite one of these files."""
    found: set[str] = set()
    for path in sorted(paths):
        rows = state.connection.execute(
            "SELECT e.id FROM cited_files c JOIN entries e ON e.number = c.number"
            " WHERE c.path = ? AND e.status = 'active'",
            (path,),
        )
        found |= {row[0] for row in rows}
    return sorted(found)


def _is_segment(path: str) -> bool:
    return path.startswith(LEDGERS + "/") and segments.is_segment(path.removeprefix(LEDGERS + "/"))


def _lines(tree: GitTree, paths: list[str]) -> list[tuple[str, segments.Line]]:
    found = []
    for path in paths:
        data = tree.read(path).data
        for line in segments.lines_of(path.removeprefix(LEDGERS + "/"), BytesIO(data)) if data is not None else ():
            found.append((path, line))
    return found


def _hashes_in(state: State, paths: list[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        segment = path.removeprefix(LEDGERS + "/")
        for table in ("events", "event_copies"):
            rows = state.connection.execute(f"SELECT hash FROM {table} WHERE segment = ?", (segment,))
            found |= {row[0].hex() for row in rows}
    return found


def _hashes_outside(state: State, hashes: set[str], paths: list[str]) -> set[str]:
    """Those of these events that stand in a segment which is the same in the base."""
    differing = {path.removeprefix(LEDGERS + "/") for path in paths}
    found = set()
    for identity in hashes:
        rows = state.connection.execute(
            "SELECT segment FROM events WHERE hash = :hash UNION ALL"
            " SELECT segment FROM event_copies WHERE hash = :hash",
            {"hash": bytes.fromhex(identity)},
        )
        if any(row[0] not in differing for row in rows):
            found.add(identity)
    return found


def _numbers(state: State, hashes: set[str]) -> set[int]:
    found = set()
    for identity in hashes:
        row = state.connection.execute(
            "SELECT number FROM events WHERE hash = ?", (bytes.fromhex(identity),)
        ).fetchone()
        if row:
            found.add(row[0])
    return found


def _subjects_of(state: State, numbers: set[int]) -> set[str]:
    query = "SELECT subject FROM event_subjects WHERE event = ?"
    return {row[0] for number in numbers for row in state.connection.execute(query, (number,))}


def events_at(root: str, repository: git.Repository, commit: str) -> dict[str, Event]:
    """Every event in the ledgers of a commit, by hash."""
    found: dict[str, Event] = {}
    objects = Objects(repository.worktree)
    try:
        tree = commit_tree(repository, commit, objects, git.prefix_of(repository, root), LEDGERS)
        for path in tree.paths():
            segment = path.removeprefix(LEDGERS + "/")
            if segments.is_segment(segment):
                for line in segments.lines_of(segment, BytesIO(tree.read(path).data or b"")):
                    if line.event and ("text" in line.event or line.event["hash"] not in found):
                        found[line.event["hash"]] = line.event
    finally:
        objects.close()
    return found
