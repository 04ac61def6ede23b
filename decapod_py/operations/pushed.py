"""What a push takes along, commit by commit: each is judged as git has it, whatever is checked out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.foundation.errors import DecapodError
from decapod_py.operations.validate import for_a_hook
from decapod_py.storage import git
from decapod_py.storage.apart import checked_out_apart
from decapod_py.workspace import FOLDER, Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

Verdict = dict[str, Any]


class Pushed(NamedTuple):
    """One line of what git tells its pre-push hook."""

    name: str
    commit: str
    there: str | None  # what the other side has under that name, if that is known here


def validate_push(workspace: Workspace, told: str | None) -> Verdict:
    """The gates on what the other side does not have yet, for a hook; of HEAD where nobody told what is pushed."""
    repository = workspace.repository
    assert repository
    pushed = list(_pushed(repository, told if told is not None else _told_by_pre_commit()))
    found: Verdict = {"ok": True, "lines": []}
    for one in {one.commit: one for one in pushed}.values():
        try:
            verdict = _judged(workspace, repository, one)
        except (DecapodError, git.GitFailed) as problem:
            verdict = {"ok": True, "lines": [f"could not be judged: {problem}"]}
        found["ok"] = found["ok"] and verdict["ok"]
        found["lines"] += [f"{one.name}: {line}" for line in verdict["lines"]]
    return found


def _told_by_pre_commit() -> str:
    """The pre-commit framework keeps what git tells and passes it on like this."""
    commit = os.environ.get("PRE_COMMIT_TO_REF", "HEAD")
    there = os.environ.get("PRE_COMMIT_FROM_REF", "")
    return f"{os.environ.get('PRE_COMMIT_LOCAL_BRANCH') or commit} {commit} - {there}"


def _pushed(repository: git.Repository, told: str) -> Iterator[Pushed]:
    """What is deleted there brings nothing; a tag brings the commit it names, if it names one."""
    for line in told.splitlines():
        name, local, _, there = [*line.split(" "), "", "", ""][:4]
        commit = _commit(repository, local)
        if commit:
            yield Pushed(name.removeprefix("refs/heads/").removeprefix("refs/"), commit, _commit(repository, there))


def _commit(repository: git.Repository, name: str) -> str | None:
    if not name.strip("0") or name.startswith("-"):
        return None
    try:
        return git.ask(repository.worktree, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
    except git.GitFailed:
        return None


def _judged(workspace: Workspace, repository: git.Repository, pushed: Pushed) -> Verdict:
    base = _base(repository, pushed)
    if pushed.commit == git.head_commit(repository) and not git.ask(repository.worktree, "status", "--porcelain"):
        return for_a_hook(workspace, base=base, staged=False)
    if not git.ask(repository.worktree, "ls-tree", "--full-tree", pushed.commit, f"{FOLDER}/ledgers"):
        return {"ok": True, "lines": []}  # nothing is known there
    policy = workspace.policy_at(pushed.commit)
    # A receipt is about files, and those are looked at on disk.
    whole = policy is not None and bool(policy.proofs)
    with checked_out_apart(repository, pushed.commit, workspace.scratch, whole=whole) as place:
        there = Workspace(place, clock=workspace.clock, progress=workspace.progress)
        try:
            return for_a_hook(there, base=base, staged=False)
        finally:
            there.close()


def _base(repository: git.Repository, pushed: Pushed) -> str | None:
    """What the other side has: its default branch as it is known here, or what it has under the same name.

    A default branch of our own is the next best, unless it is what is pushed.
    """
    known = git.default_branch(repository, published=True) or pushed.there
    own = git.default_branch(repository)
    if known or own is None:
        return known
    new = git.ask(repository.worktree, "rev-list", "-n1", pushed.commit, "--not", own)
    return own if new else None
