"""The one door to git: a few bytes read directly, single questions by subprocess."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.foundation.files import read_bytes, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen

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


def head_commit(repository: Repository | None) -> str | None:
    """The commit that HEAD names, without starting git where its files say it."""
    if repository is None:
        return None
    head = os.fsdecode(read_bytes(os.path.join(repository.git_dir, "HEAD")) or b"").strip()
    if not head.startswith("ref:"):
        return head or None
    return commit_of(repository, head[4:].strip())


def commit_of(repository: Repository, ref: str) -> str | None:
    """The commit that a full ref name stands for; nothing where there is no such ref."""
    if os.path.isdir(os.path.join(repository.common_dir, "reftable")):
        found = ask(repository.worktree, "rev-parse", "--verify", "--quiet", ref, accept=(0, 1)).strip()
        return found or None
    loose = os.fsdecode(read_bytes(os.path.join(repository.common_dir, ref)) or b"").strip()
    if loose.startswith("ref:"):
        return commit_of(repository, loose[4:].strip()) if loose[4:].strip() != ref else None
    return loose or _packed_refs(repository).get(ref)


def _packed_refs(repository: Repository) -> dict[str, str]:
    lines = os.fsdecode(read_bytes(os.path.join(repository.common_dir, "packed-refs")) or b"").splitlines()
    pairs = [line.split(" ", 1) for line in lines if line and line[0] not in "#^"]
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}


EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # what a first commit is compared with
_DEFAULT_NAMES = ("main", "master", "trunk", "develop")


def default_branch(repository: Repository | None, *, published: bool = False) -> str | None:
    """The commit that the default branch has: the remote's, as `git remote set-head` knows it, or one of that name.

    `published` asks for the remote's alone.
    """
    if repository is None:
        return None
    remote = ["refs/remotes/origin/HEAD", *(f"refs/remotes/origin/{name}" for name in _DEFAULT_NAMES)]
    own = [] if published else [f"refs/heads/{name}" for name in _DEFAULT_NAMES]
    for ref in (*remote, *own):
        commit = commit_of(repository, ref)
        if commit:
            return commit
    return None


def is_shallow(repository: Repository | None) -> bool:
    return repository is not None and os.path.exists(os.path.join(repository.common_dir, "shallow"))


def prefix_of(repository: Repository, root: str) -> str:
    """What git puts before a path that is seen from `root`: nothing, or a folder and a slash."""
    inner = os.path.relpath(os.path.realpath(root), repository.worktree).replace(os.sep, "/")
    return "" if inner == "." else f"{inner}/"


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


def ask(
    directory: str,
    *arguments: str,
    accept: tuple[int, ...] = (0,),
    stdin: str | None = None,
    index: str | None = None,
) -> str:
    """One question to git. Raises GitFailed for an exit code that is not an answer.

    `index` names another index than the working tree's: a commit of some paths makes one of its own.
    """
    import subprocess

    try:
        done = subprocess.run(
            ["git", "-C", directory, *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            env=_environment(index),
            check=False,
        )
    except OSError as problem:
        raise GitFailed(arguments, 127, str(problem)) from None
    if done.returncode not in accept:
        raise GitFailed(arguments, done.returncode, done.stderr.strip())
    return done.stdout


def start(directory: str, *arguments: str) -> Popen[bytes]:
    """A git that answers many questions, one after the other."""
    import subprocess

    return subprocess.Popen(
        ["git", "-C", directory, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    )


def stream(directory: str, *arguments: str, end: bytes = b"\0", seconds: float | None = None) -> Iterator[bytes]:
    """The answer to a long question piece by piece, so that it need not fit into memory.

    Nothing is fetched for it. Raises GitFailed, also when it takes longer than `seconds`: what came by then is true.
    """
    import subprocess
    import tempfile
    from threading import Timer

    environment = {**_environment(), "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
    with tempfile.TemporaryFile() as complaints:
        command = ["git", "-C", directory, *arguments]
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints, env=environment
            )
        except OSError as problem:
            raise GitFailed(arguments, 127, str(problem)) from None
        timer = Timer(seconds or 0, process.kill)
        timer.daemon = True
        if seconds is not None:
            timer.start()
        try:
            assert process.stdout
            rest = bytearray()
            while chunk := os.read(process.stdout.fileno(), 1 << 18):
                unseen = max(0, len(rest) - len(end) + 1)  # a piece may take thousands of reads: each looks at its own
                rest += chunk
                if rest.find(end, unseen) >= 0:
                    *pieces, left = bytes(rest).split(end)
                    rest = bytearray(left)
                    yield from pieces
            if process.wait():
                complaints.seek(0)
                said = complaints.read(2_000).decode("utf-8", "replace").strip()
                raise GitFailed(arguments, process.returncode, said)
            if rest:
                yield bytes(rest)
        finally:
            timer.cancel()
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


def _environment(index: str | None = None) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in _AMBIENT}
    environment["GIT_OPTIONAL_LOCKS"] = "0"  # a question never rewrites the index
    if index:
        environment["GIT_INDEX_FILE"] = index
    return environment


def user_name(directory: str) -> str | None:
    try:
        return ask(directory, "config", "user.name", accept=(0, 1)).strip() or None
    except GitFailed:
        return None
