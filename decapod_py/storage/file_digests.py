"""One word for many files: equal in every clone that has the same files, and in no other."""

from __future__ import annotations

import os
from functools import cached_property
from hashlib import sha256
from stat import S_ISDIR, S_ISLNK, S_ISREG, S_IXUSR
from typing import IO

from decapod_py.domain.globs import matches_glob
from decapod_py.foundation.errors import Refused
from decapod_py.storage import git

_CHUNK = 1 << 20
_OURS = ".decapod"  # a receipt would outdate itself
_LOOKED_AT = 8_000  # bytes in which git looks for a NUL, too, before it takes a file for text


class Files:
    """The files of a working tree: tracked ones, and those that git would track. Each is read once."""

    def __init__(self, root: str, repository: git.Repository | None) -> None:
        self._root = root
        self._repository = repository
        self._known: dict[str, bytes | None] = {}

    def digest(self, patterns: tuple[str, ...]) -> str | None:
        """The digest of the files that match any of the patterns; nothing where none does."""
        whole, count = sha256(), 0
        for path in self._paths:
            if any(matches_glob(path, pattern) for pattern in patterns):
                file = self._file(path)
                if file is not None:
                    whole.update(sha256(os.fsencode(path)).digest() + file)
                    count += 1
        return whole.hexdigest() if count else None

    @cached_property
    def _paths(self) -> list[str]:
        listed = _found_on_disk(self._root) if self._repository is None else _listed_by_git(self._root)
        return sorted({path.rstrip("/") for path in listed if path and path.split("/")[0] != _OURS})

    def _file(self, path: str) -> bytes | None:
        if path not in self._known:
            self._known[path] = _digest_of(os.path.join(self._root, path))
        return self._known[path]


def _listed_by_git(root: str) -> list[str]:
    try:
        return git.ask(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    except git.GitFailed as problem:
        raise Refused("git-failed", f"git could not list the files: {problem.message}", "look at git status") from None


def _found_on_disk(root: str) -> list[str]:
    found = []
    for folder, folders, names in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        paths = [os.path.join(folder, name) for name in (*names, *links)]
        found += [os.path.relpath(path, root).replace(os.sep, "/") for path in paths]
        folders[:] = [name for name in folders if name != ".git" and (folder, name) != (root, _OURS)]
    return found


def _digest_of(path: str) -> bytes | None:
    """Kind and content of what is at a path; nothing where there is nothing of ours."""
    try:
        mode = os.lstat(path).st_mode
        if S_ISLNK(mode):
            return sha256(b"link:" + os.fsencode(os.readlink(path))).digest()
        if S_ISREG(mode):
            kind = b"program:" if mode & S_IXUSR else b"file:"
            with open(path, "rb", buffering=0) as file:
                return sha256(kind + _content(file)).digest()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return sha256(b"unreadable").digest()
    return _submodule(path) if S_ISDIR(mode) else None


def _submodule(path: str) -> bytes:
    found = git.find_repository(path)
    inside = found is not None and found.worktree == os.path.realpath(path)
    return sha256(b"repository:" + ((git.head_commit(found) if inside else None) or "").encode()).digest()


def _content(file: IO[bytes]) -> bytes:
    """The digest of the content. Text has LF line ends here: a checkout may have given it others."""
    digest = sha256()
    chunk = file.read(_CHUNK)
    is_text = b"\0" not in chunk[:_LOOKED_AT]
    held = b""  # a carriage return at the end of a chunk: its line feed may be in the next
    while chunk:
        if is_text:
            chunk = held + chunk
            held = b"\r" if chunk.endswith(b"\r") else b""
            chunk = chunk.removesuffix(held).replace(b"\r\n", b"\n")
        digest.update(chunk)
        chunk = file.read(_CHUNK)
    digest.update(held)
    return digest.digest()
