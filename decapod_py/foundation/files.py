"""Files that are whole or not there: temp file, fsync, rename."""

from __future__ import annotations

import os
from stat import S_ISREG

from decapod_py.foundation.faults import step


def read_bytes(path: str) -> bytes | None:
    """The bytes of a file, or nothing where there is none. A link to a device has no end, and counts as none."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read() if S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except (FileNotFoundError, NotADirectoryError):
        return None


Stamp = tuple[int, int, int]  # inode, modification time, size: what changes when a file does


def write_whole(path: str, data: bytes, *, scratch: str, durable: bool = True, mode: int | None = None) -> Stamp:
    """Replaces a file in one step; returns its stamp, taken before anybody else can see the file.

    The temp file lives in `scratch`, on the same file system, where git ignores it. Without a `mode` the file gets the
    one that new files get.
    """
    temporary = os.path.join(scratch, f"{os.getpid()}-{os.urandom(6).hex()}.tmp")
    try:
        with open(temporary, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            written = _stamp_of(os.fstat(file.fileno()))
        step("temp-file-written")
        try:
            os.replace(temporary, path)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.replace(temporary, path)
    except BaseException:
        _forget(temporary)
        raise
    if durable:
        sync_directory(os.path.dirname(path))
    return written


def sync_directory(path: str) -> None:
    """Makes a new name in this directory survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        pass  # some file systems cannot sync a directory; the file itself is safe
    finally:
        os.close(handle)


def forget_left_over(scratch: str) -> None:
    """Removes the temp files of processes that died. Only for whoever holds the lock: others may be at work."""
    for name in os.listdir(scratch):
        if name.endswith(".tmp"):
            _forget(os.path.join(scratch, name))


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def stamp(path: str) -> Stamp | None:
    try:
        return _stamp_of(os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _stamp_of(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_mtime_ns, found.st_size
