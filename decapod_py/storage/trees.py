"""Trees of files: the working tree, what is staged, what a commit has. A citation is looked for in one of them."""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISREG
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol

from decapod_py.storage import git

if TYPE_CHECKING:
    from subprocess import Popen


class File(NamedTuple):
    """What stands at a path: bytes, or the reason why there are none."""

    data: bytes | None
    obstacle: str | None = None


MISSING = File(None, "missing")


class Tree(Protocol):
    def stamp(self, path: str) -> str:
        """A word that changes when the file does; empty where there is none."""

    def read(self, path: str) -> File: ...

    def settled(self, path: str, now_ns: int) -> bool:
        """Whether a change from now on is sure to change the stamp."""


_SETTLED_AFTER = 2_000_000_000  # ns; the coarsest clock of a file system that is in use
_GIT = ".git"  # what git keeps there, credentials perhaps, is nobody's source


class WorkingTree:
    """The files as they are on disk, below one directory and never outside it."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    def stamp(self, path: str) -> str:
        found = self._stat(path)
        if found is None or not S_ISREG(found.st_mode):
            return ""
        # The time of the last change, too: nobody can set it back, as `cp -p` and `touch` do with the other one.
        return f"{found.st_ino}.{found.st_mtime_ns}.{found.st_ctime_ns}.{found.st_size}"

    def settled(self, path: str, now_ns: int) -> bool:
        found = self._stat(path)
        return found is not None and now_ns - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_AFTER

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            return os.stat(os.path.join(self._root, path))
        except (OSError, ValueError):
            return None

    def read(self, path: str) -> File:
        full = os.path.join(self._root, path)
        try:
            real = os.path.realpath(full, strict=True)
            if not real.startswith(self._root + os.sep) or _GIT in real[len(self._root) :].split(os.sep):
                return File(None, "outside")
            handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return MISSING
        except (OSError, ValueError):
            return File(None, "unreadable")
        try:
            kind = os.fstat(handle).st_mode
            if S_ISDIR(kind):
                return File(None, "folder")
            if not S_ISREG(kind):
                return File(None, "unreadable")
            with open(handle, "rb", closefd=False) as file:
                return File(file.read())
        except OSError:
            return File(None, "unreadable")
        finally:
            os.close(handle)


class SparseTree(WorkingTree):
    """A working tree from which git was asked to leave files out: those are read from the index."""

    def __init__(self, root: str, hidden: set[str], staged: GitTree) -> None:
        super().__init__(root)
        self._hidden = hidden
        self._staged = staged

    def stamp(self, path: str) -> str:
        return super().stamp(path) or (self._staged.stamp(path) if path in self._hidden else "")

    def settled(self, path: str, now_ns: int) -> bool:
        return super().settled(path, now_ns) or (path in self._hidden and not super().stamp(path))

    def read(self, path: str) -> File:
        found = super().read(path)
        return self._staged.read(path) if found.obstacle == "missing" and path in self._hidden else found


class GitTree:
    """The files of the index or of a commit, as git has them. Paths are seen from `prefix`."""

    def __init__(self, listed: dict[str, tuple[str, str]], objects: Objects, prefix: str = "") -> None:
        self._listed = listed  # by path: mode and blob
        self._objects = objects
        self._prefix = prefix

    def stamp(self, path: str) -> str:
        return self._listed.get(self._prefix + path, ("", ""))[1]

    def settled(self, path: str, now_ns: int) -> bool:
        return True

    def read(self, path: str) -> File:
        mode, blob = self._listed.get(self._prefix + path, ("", ""))
        if not blob:
            return MISSING
        if mode.startswith("12"):
            return File(None, "outside")  # a link: what it leads to is not part of this tree
        data = self._objects.read(blob)
        return MISSING if data is None else File(data)

    def paths(self) -> list[str]:
        return [path.removeprefix(self._prefix) for path in self._listed if path.startswith(self._prefix)]

    def blob(self, path: str) -> str | None:
        return self.stamp(path) or None


def staged_tree(repository: git.Repository, objects: Objects, prefix: str, index: str | None = None) -> GitTree:
    """What the next commit will have."""
    listed = {}
    answer = git.ask(repository.worktree, "ls-files", "--stage", "-z", index=index)
    for line in answer.split("\0"):
        if line:
            fields, _, path = line.partition("\t")
            mode, blob, stage = fields.split(" ")
            if stage == "0":
                listed[path] = (mode, blob)
    return GitTree(listed, objects, prefix)


def commit_tree(repository: git.Repository, commit: str, objects: Objects, prefix: str, *paths: str) -> GitTree:
    """What a commit has, or what it has below some paths."""
    listed = {}
    below = [f"{prefix}{path}" for path in paths]
    answer = git.ask(repository.worktree, "ls-tree", "-r", "-z", "--full-tree", commit, "--", *below)
    for line in answer.split("\0"):
        if line:
            fields, _, path = line.partition("\t")
            mode, _, blob = fields.split(" ")
            listed[path] = (mode, blob)
    return GitTree(listed, objects, prefix)


class Objects:
    """Many objects from one `git cat-file --batch`, started when the first is asked for."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._process: Popen[bytes] | None = None

    def read(self, name: str) -> bytes | None:
        """The content of a blob; nothing where this repository does not have it."""
        if "\n" in name:
            return None  # two questions would get two answers
        asks, answers = self._pipes()
        asks.write(f"{name}\n".encode("utf-8", "surrogateescape"))
        asks.flush()
        header = answers.readline().split()
        if len(header) != 3:
            return None
        data = answers.read(int(header[2]))
        answers.read(1)
        return data if header[1] == b"blob" else None

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            self._process = git.start(self._directory, "cat-file", "--batch")
        assert self._process.stdin and self._process.stdout
        return self._process.stdin, self._process.stdout

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._process is not None:
            asks, answers = self._pipes()
            asks.close()
            answers.close()
            self._process.wait()
            self._process = None


class BlobNames:
    """What git would call files of the working tree, from one `git hash-object`, started when the first is asked for.

    It knows which line ends git stores, whatever the checkout has. Paths are seen from the top of the working tree.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._process: Popen[bytes] | None = None

    def of(self, path: str) -> str | None:
        """The name of a file's content; nothing where git has no answer."""
        if "\n" in path or path.startswith('"'):
            return None  # this would be another question
        if self._process is None:
            self._process = git.start(self._directory, "hash-object", "--stdin-paths")
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(path.encode("utf-8", "surrogateescape") + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        return self._process.stdout.readline().decode().strip() or None

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()
            self._process = None


def working_tree(root: str, repository: git.Repository | None) -> WorkingTree:
    """The working tree as git means it: what a sparse checkout leaves out is still there."""
    if repository is None or not git.has_sparse_checkout(repository):
        return WorkingTree(root)
    try:
        listed = git.ask(root, "ls-files", "-t", "-z").split("\0")
    except git.GitFailed:
        return WorkingTree(root)
    hidden = {line[2:] for line in listed if line.startswith("S ")}
    if not hidden:
        return WorkingTree(root)
    objects = Objects(repository.worktree)
    return SparseTree(root, hidden, staged_tree(repository, objects, git.prefix_of(repository, root)))
