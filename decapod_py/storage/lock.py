"""One writer at a time in a working tree, by a lock that the operating system drops with its holder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held(path: str) -> Iterator[None]:
    """Waits for the lock."""
    handle = _acquired(path)
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def held_if_free(path: str) -> Iterator[bool]:
    """The lock, or the word that somebody else has it; nobody waits."""
    handle = _opened(path)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield _is_still(handle, path)
    finally:
        os.close(handle)


def _acquired(path: str) -> int:
    while True:
        handle = _opened(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_still(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        # Somebody deleted the local folder while this process waited: others lock a new file of that name.
        os.close(handle)


def _opened(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o644)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o644)


def _is_still(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
