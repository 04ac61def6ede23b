"""What changed since a commit: files, and events of the ledgers."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.event import Event
from decapod_py.domain.text import has_control_characters
from decapod_py.foundation.errors import Misused
from decapod_py.storage import git, segments
from decapod_py.storage.trees import Objects, commit_tree
from decapod_py.views.projection import subjects_of
from decapod_py.views.state import Placed

if TYPE_CHECKING:
    from decapod_py.views.state import State

LEDGERS = ".decapod/ledgers"


def commit_named(root: str, repository: git.Repository | None, ref: str) -> str:
    """The commit that a name stands for; refuses a name that stands for none."""
    if repository is None:
        raise Misused("no-git", f"{ref!r} names a commit, and there is no git here", "leave it out")
    if ref.startswith("-") or has_control_characters(ref):
        raise Misused("no-such-ref", f"{ref!r} is no name of a commit", "look at git log")
    try:
        found = git.ask(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", accept=(0, 1)).strip()
    except git.GitFailed as problem:
        raise Misused("no-such-ref", f"git does not know {ref!r}: {problem.message}") from None
    if not found.isalnum():  # a range is two names
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
    cached, index = (["--cached"], staged.index_file) if staged else ([], None)
    question = ["diff", *cached, "--name-only", "--no-renames", "--no-ext-diff", "--no-relative", "-z", commit, "--"]
    listed = git.ask(root, *question, index=index).split("\0")
    if not staged:
        new = git.ask(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
        listed += [prefix + path for path in new if path]
    return {path.removeprefix(prefix) for path in listed if path.startswith(prefix) and path != prefix}


class Staged(NamedTuple):
    """What the next commit has; git may use another index for it than the working tree's."""

    index_file: str | None = None


class Lost(NamedTuple):
    """An event that the base has and the tree under review has not, and where it was."""

    event: Event
    file: str
    line: int


class Change(NamedTuple):
    """What a branch, or the next commit, does to files and ledgers."""

    base: str
    paths: set[str]  # that differ, seen from the top of the workspace
    lines: SegmentLines  # of each segment that differs, as it is now
    brought: list[Placed]  # the events that the base does not have
    hashes: set[str]  # of those
    subjects: set[str]  # what they act on, as the database names it
    lost: list[Lost]
    altered: list[str]  # files of segments that lost no event and still hold other lines than in the base

    @property
    def entry_ids(self) -> list[str]:
        return sorted(subject[2:] for subject in self.subjects if subject.startswith("e:"))


SegmentLines = dict[str, list[segments.Line]]


def change_since(
    state: State, root: str, repository: git.Repository, base: str, staged: Staged | None = None
) -> Change:
    """Costs grow with the change: only segments that differ from the base are read.

    Of what is staged, `state` is that of the staged ledgers.
    """
    paths = touched(root, repository, base, staged)
    then, now = _differing_segments(state, root, repository, base, paths)
    placed = {
        line.event["hash"]: Placed(line.event, segment, line.offset)
        for segment, lines in now.items()
        for line in lines
        if line.event
    }
    had = {line.event["hash"] for lines in then.values() for line in lines if line.event}
    elsewhere = _in_other_segments(state, placed.keys() | had, then.keys() | now.keys())
    brought = [found for identity, found in placed.items() if identity not in had and identity not in elsewhere]
    lost = [
        Lost(line.event, file_of(segment), line.number)
        for segment, lines in then.items()
        for line in lines
        if line.event and line.event["hash"] not in placed and line.event["hash"] not in elsewhere
    ]
    return Change(
        base,
        paths,
        now,
        brought,
        {found.event["hash"] for found in brought},
        {subject for found in brought for subject in subjects_of(found.event)},
        lost,
        _altered(then, now, lost),
    )


def file_of(segment: str) -> str:
    """A segment as seen from the top of the workspace."""
    return f"{LEDGERS}/{segment}"


def _differing_segments(
    state: State, root: str, repository: git.Repository, base: str, paths: set[str]
) -> tuple[SegmentLines, SegmentLines]:
    """The segments that are not the same in the base and here, as they were and as they are."""
    touched_here = {path.removeprefix(LEDGERS + "/") for path in paths if path.startswith(LEDGERS + "/")}
    here = {row[0] for row in state.connection.execute("SELECT path FROM segments")}
    objects = Objects(repository.worktree)
    try:
        tree = commit_tree(repository, base, objects, git.prefix_of(repository, root), LEDGERS)
        there = {path.removeprefix(LEDGERS + "/") for path in tree.paths()}
        there = {segment for segment in there if segments.is_segment(segment)}
        then = {
            segment: list(segments.lines_of(segment, BytesIO(tree.read(file_of(segment)).data or b"")))
            for segment in sorted(there & touched_here)
        }
    finally:
        objects.close()
    # What the base has not is new, also where git was told to ignore it.
    differing = here & touched_here | here - there
    return then, {segment: list(segments.read(state.ledgers, segment)) for segment in sorted(differing)}


def _altered(then: SegmentLines, now: SegmentLines, lost: list[Lost]) -> list[str]:
    """One that lost texts holds the same events, one that is gone was packed; a lost event is told by itself."""
    told = {one.file for one in lost}
    return [
        file_of(segment)
        for segment in sorted(then.keys() & now.keys())
        if file_of(segment) not in told and _identities(then[segment]) != _identities(now[segment])
    ]


def _identities(lines: list[segments.Line]) -> list[str | None]:
    return [line.event["hash"] if line.event else None for line in lines]


def is_touched(path: str, paths: set[str]) -> bool:
    """Whether a path is one of these, or below one: of a submodule git names no more than its folder."""
    return path in paths or any(path[:at] in paths for at, letter in enumerate(path) if letter == "/")


def entries_citing(state: State, paths: set[str]) -> list[str]:
    """The entries in use that cite one of these files, or one below them."""
    found: set[str] = set()
    for path in sorted(paths):
        rows = state.connection.execute(
            "SELECT e.id FROM cited_files c JOIN entries e ON e.number = c.number"
            " WHERE (c.path = ?1 OR c.path > ?1 || '/' AND c.path < ?1 || '0') AND e.status = 'active'",
            (path,),
        )
        found |= {row[0] for row in rows}
    return sorted(found)


def _in_other_segments(state: State, hashes: set[str], differing: set[str]) -> set[str]:
    """Those of these events that stand in a segment which is the same in the base."""
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


def empty_tree(root: str) -> str:
    """What a first commit is compared with: another word in a repository with another hash."""
    return git.ask(root, "hash-object", "-t", "tree", "--stdin", stdin="").strip()


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
