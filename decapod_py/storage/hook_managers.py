"""Who else looks after the git hooks of a repository: husky, lefthook, pre-commit, or a folder that the team tracks."""

from __future__ import annotations

import os
from typing import NamedTuple

from decapod_py.foundation.files import read_bytes
from decapod_py.storage import git

_LEFTHOOK_FILES = tuple(
    f"{dot}lefthook.{kind}" for dot in ("", ".") for kind in ("yml", "yaml", "toml", "json", "jsonc")
)
_PRE_COMMIT_FILES = (".pre-commit-config.yaml", ".pre-commit-config.yml")


class Manager(NamedTuple):
    """Somebody else's hooks, and what to add to their configuration so that they run ours."""

    name: str
    hooks: list[str]  # those it has in hand
    steps: dict[str, str]  # what to add, by the place to add it to


def lies_in(path: str, folder: str) -> bool:
    """Whether the path is the folder or below it, links followed."""
    real, top = os.path.realpath(path), os.path.realpath(folder)
    return real == top or real.startswith(top.rstrip(os.sep) + os.sep)


def manager_of(repository: git.Repository, directory: str, hooks: list[str]) -> Manager | None:
    """Who owns these hooks; nobody, where the folder is git's own or nobody but this clone knows it."""
    if lies_in(directory, repository.common_dir) or lies_in(directory, repository.git_dir):
        return _generator_of(repository.worktree, directory, hooks)
    if not lies_in(directory, repository.worktree):
        return None
    folder = os.path.relpath(os.path.realpath(directory), os.path.realpath(repository.worktree))
    if ".husky" in folder.split(os.sep):
        return _husky(hooks)
    if git.ask(repository.worktree, "ls-files", "-z", "--", f":(literal){folder}"):
        steps = {f"{folder}/{hook}": f"{_run(hook)} || exit 1" for hook in hooks}
        return Manager(f"the tracked folder {folder}", hooks, steps)
    return None


def managers_at_rest(repository: git.Repository, hooks: list[str]) -> list[Manager]:
    """Those that the repository is set up for and that have no hook here, or not yet."""
    worktree, found = repository.worktree, []
    configured = _first_file(worktree, _LEFTHOOK_FILES)
    if configured:
        found.append(_lefthook(configured, hooks))
    configured = _first_file(worktree, _PRE_COMMIT_FILES)
    if configured:
        found.append(_pre_commit(configured, hooks))
    if os.path.isdir(os.path.join(worktree, ".husky")):
        found.append(_husky(hooks))
    return found


def _generator_of(worktree: str, directory: str, hooks: list[str]) -> Manager | None:
    """Whoever generated the hooks that stand there, if its configuration is here."""
    present = {hook: read_bytes(path) or b"" for hook in hooks if os.path.isfile(path := os.path.join(directory, hook))}
    theirs = [hook for hook, data in present.items() if b"lefthook" in data]
    configured = _first_file(worktree, _LEFTHOOK_FILES)
    if theirs and configured:
        return _lefthook(configured, theirs)
    theirs = [hook for hook, data in present.items() if b"pre-commit.com" in data or b"pre_commit" in data]
    configured = _first_file(worktree, _PRE_COMMIT_FILES)
    if theirs and configured:
        return _pre_commit(configured, theirs)
    theirs = [hook for hook, data in present.items() if b"husky" in data]
    if theirs and b"husky" in (read_bytes(os.path.join(worktree, "package.json")) or b""):
        # Its first four versions; later ones set core.hooksPath.
        line = ", ".join(f'"{hook}": "{_run(hook)}"' for hook in theirs)
        return Manager("husky", theirs, {"package.json under husky: hooks:": line})
    return None


def _first_file(worktree: str, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if os.path.isfile(os.path.join(worktree, name))), None)


def _run(hook: str) -> str:
    return f"decapod hooks run {hook}" + (" --pushed -" if hook == "pre-push" else "")


def _lefthook(configured: str, hooks: list[str]) -> Manager:
    steps = {f"{configured} under {hook}: commands:": _lefthook_entry(hook) for hook in hooks}
    return Manager("lefthook", hooks, steps)


def _pre_commit(configured: str, hooks: list[str]) -> Manager:
    return Manager("pre-commit", hooks, {f"{configured} under repos:": _pre_commit_entry(hooks)})


def _lefthook_entry(hook: str) -> str:
    hearing = ", use_stdin: true" if hook == "pre-push" else ""
    return f"decapod: {{run: {_run(hook)}{hearing}}}"


def _husky(hooks: list[str]) -> Manager:
    return Manager("husky", hooks, {f".husky/{hook}": _run(hook) for hook in hooks})


def _pre_commit_entry(hooks: list[str]) -> str:
    """One line of YAML, so that it can be shown, and pasted, as it is."""
    entries = ", ".join(
        # What is pushed comes in its environment: the framework reads standard input itself.
        f"{{id: decapod-{hook}, name: decapod, entry: decapod hooks run {hook}, language: system,"
        f" pass_filenames: false, always_run: true, stages: [{hook}]}}"
        for hook in hooks
    )
    return f"- {{repo: local, hooks: [{entries}]}}"
