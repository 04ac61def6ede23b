"""The one door to git: a few bytes read directly, single questions by subprocess."""

from __future__ import annotations

import os
from typing import NamedTuple

from decapod_py.foundation.files import read_bytes, stamp

# A hook runs with these set; git must find the repository from the directory it is asked about.
_AMBIENT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")


class Repository(NamedTuple):
    """Where a working tree and its git directories are."""

    worktree: str
    git_dir: str
    common_dir: str


def find_repository(directory: str) -> Repository | None:
    """The repository around a directory, without starting git."""
    place = os.path.realpath(directory)
    while True:
        git_dir = _git_dir_at(place)
        if git_dir:
            shared = read_bytes(os.path.join(git_dir, "commondir"))
            common = os.path.normpath(os.path.join(git_dir, os.fsdecode(shared.strip()))) if shared else git_dir
            return Repository(place, git_dir, common)
        parent = os.path.dirname(place)
        if parent == place:
            return None
        place = parent


def _git_dir_at(place: str) -> str | None:
    path = os.path.join(place, ".git")
    if os.path.isdir(path):
        return path if os.path.exists(os.path.join(path, "HEAD")) else None
    pointer = read_bytes(path) if os.path.isfile(path) else None
    if pointer and pointer.startswith(b"gitdir:"):
        return os.path.normpath(os.path.join(place, os.fsdecode(pointer[7:].strip())))
    return None


def position(repository: Repository | None) -> str:
    """A word that changes whenever HEAD or the index does: what decides whether a segment may still grow."""
    if repository is None:
        return "no git"
    head = read_bytes(os.path.join(repository.git_dir, "HEAD")) or b""
    target: object = ""
    if head.startswith(b"ref:"):
        name = os.fsdecode(head[4:].strip())
        target = (
            read_bytes(os.path.join(repository.common_dir, name))
            or stamp(os.path.join(repository.common_dir, "packed-refs"))
            or stamp(os.path.join(repository.common_dir, "reftable", "tables.list"))
        )
    return repr((head, target, stamp(os.path.join(repository.git_dir, "index"))))


def is_bare(directory: str) -> bool:
    """Whether the directory itself is a git directory."""
    return all(os.path.exists(os.path.join(directory, name)) for name in ("HEAD", "objects", "refs"))


def is_at_work(repository: Repository | None) -> bool:
    """Whether git is in the middle of changing index or working tree: it may have read what is about to change."""
    return repository is not None and os.path.exists(os.path.join(repository.git_dir, "index.lock"))


def has_sparse_checkout(repository: Repository | None) -> bool:
    return repository is not None and os.path.exists(os.path.join(repository.git_dir, "info", "sparse-checkout"))


class GitFailed(Exception):
    """git answered with an error."""

    def __init__(self, arguments: tuple[str, ...], code: int, message: str) -> None:
        super().__init__(f"git {' '.join(arguments)}: {message}")
        self.code = code
        self.message = message


def ask(directory: str, *arguments: str, accept: tuple[int, ...] = (0,), stdin: str | None = None) -> str:
    """One question to git. Raises GitFailed for an exit code that is not an answer."""
    import subprocess

    environment = {name: value for name, value in os.environ.items() if name not in _AMBIENT}
    environment["GIT_OPTIONAL_LOCKS"] = "0"  # a question never rewrites the index
    try:
        done = subprocess.run(
            ["git", "-C", directory, *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            env=environment,
            check=False,
        )
    except OSError as problem:
        raise GitFailed(arguments, 127, str(problem)) from None
    if done.returncode not in accept:
        raise GitFailed(arguments, done.returncode, done.stderr.strip())
    return done.stdout


def user_name(directory: str) -> str | None:
    try:
        return ask(directory, "config", "user.name", accept=(0, 1)).strip() or None
    except GitFailed:
        return None
