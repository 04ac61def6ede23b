"""Runs a command for the repository: with a time limit, in a process group of its own, however much it prints."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.foundation.errors import Refused
from decapod_py.foundation.files import read_bytes

if TYPE_CHECKING:
    from subprocess import Popen

_LOOK = 0.05  # seconds between two looks whether the command has ended while something else holds its output open
_GRACE = 2.0  # seconds between asking a command to end and ending it
_CHUNK = 1 << 16
_KEPT = 1 << 16  # bytes of the end of the output
_MARK = "DECAPOD_COMMAND"  # by which all processes of one command are known
_ROUNDS = 10  # in which something that starts others all the time is ended
_LARGEST_PIPE = 1 << 20  # what a command can have written and left unread when it ended


class Ran(NamedTuple):
    """What came of a command."""

    exit_code: int | None  # nothing when its time was up
    timed_out: bool
    duration_ms: int
    output_sha256: str
    output_bytes: int
    end: bytes  # of the output


def run(command: str, directory: str, milliseconds: int, *, echo: int | None, **environment: str) -> Ran:
    """Runs a shell command to its end, or to the end of its time; `echo` is a descriptor that shows its output.

    Whatever it started and left running in its process group ends with it; when its time is up, so does what left the
    group, where /proc tells which that is.
    """
    started = time.monotonic()
    output = _Output(echo)
    mark = os.urandom(16).hex()
    with _ending_with_us():
        process = _started(command, directory, {**environment, _MARK: mark})
        finished = False
        try:
            finished = _follow(process, output, started + milliseconds / 1000)
            elapsed = time.monotonic() - started
        finally:
            _end(process, output, politely=not finished)
            if not finished:
                _end_strays(mark)
    return Ran(
        exit_code=_exit_code(process.returncode) if finished else None,
        timed_out=not finished,
        duration_ms=int(elapsed * 1000),
        output_sha256=output.digest.hexdigest(),
        output_bytes=output.size,
        end=output.end,
    )


def _started(command: str, directory: str, environment: dict[str, str]) -> Popen[bytes]:
    import subprocess

    try:
        return subprocess.Popen(
            ["sh", "-c", command],
            cwd=directory,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A session of its own has no terminal: a question for a password fails at once instead of waiting.
            start_new_session=True,
        )
    except (OSError, ValueError) as problem:
        raise Refused("cannot-run", f"the command could not be started: {problem}") from None


def _follow(process: Popen[bytes], output: _Output, deadline: float) -> bool:
    """Takes in the output until the command has ended; False when its time is up before."""
    import subprocess

    assert process.stdout
    pipe = process.stdout.fileno()
    while (remaining := deadline - time.monotonic()) > 0:
        if process.poll() is not None:
            # Something it started may hold the pipe open for ever: only what is there already is its own.
            output.drain(pipe, deadline)
            return True
        if _is_ready(pipe, select.POLLIN, min(remaining, _LOOK)) and not output.take(pipe, deadline):
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                return False
            return True
    return False


def _end(process: Popen[bytes], output: _Output, *, politely: bool) -> None:
    """Ends what is left of the command's process group, and takes leave of it."""
    assert process.stdout
    try:
        if politely:
            _signal(process, signal.SIGTERM)
            _follow(process, output, time.monotonic() + _GRACE)
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def _signal(process: Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # nothing of it is left; macOS says so with another error


def _end_strays(mark: str) -> None:
    """Ends what left the process group, by the environment that it inherited; again, while there is more of it."""
    for _ in range(_ROUNDS):
        strays = _marked(f"{_MARK}={mark}".encode())
        for stray in strays:
            try:
                os.kill(stray, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass  # it has ended, or is somebody else by now
        if not strays:
            return


def _marked(word: bytes) -> list[int]:
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        try:
            if name.isdigit() and word in (read_bytes(f"/proc/{name}/environ") or b"").split(b"\0"):
                found.append(int(name))
        except OSError:
            pass  # another user's, or one that ended while we looked
    return found


def _exit_code(code: int) -> int:
    """As a shell tells it: 128 and the signal that ended a command."""
    return code if code >= 0 else 128 - code


def _is_ready(descriptor: int, event: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(seconds * 1000))


class _Output:
    """What a command prints: digested, counted, shown as it comes, and only its end kept."""

    def __init__(self, echo: int | None) -> None:
        self.digest = sha256()
        self.size = 0
        self.end = b""
        self._echo = echo

    def take(self, pipe: int, deadline: float) -> bool:
        """Takes in one chunk; False at the end."""
        chunk = os.read(pipe, _CHUNK)
        self.digest.update(chunk)
        self.size += len(chunk)
        self.end = (self.end + chunk)[-_KEPT:]
        self._show(chunk, deadline)
        return bool(chunk)

    def drain(self, pipe: int, deadline: float) -> None:
        limit = self.size + _LARGEST_PIPE
        while self.size < limit and _is_ready(pipe, select.POLLIN, 0) and self.take(pipe, deadline):
            pass

    def _show(self, chunk: bytes, deadline: float) -> None:
        """Passes a chunk on. A reader that stopped reading must not stop the clock."""
        left = memoryview(chunk)
        while left and self._echo is not None:
            try:
                if not _is_ready(self._echo, select.POLLOUT, max(0.0, deadline - time.monotonic())):
                    self._echo = None
                    return
                left = left[os.write(self._echo, left[: select.PIPE_BUF]) :]
            except OSError:
                self._echo = None  # the reader has left


@contextmanager
def _ending_with_us() -> Iterator[None]:
    """Asked to end, we end the command too: it is in a group of its own, and nobody else would."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can be interrupted
        return

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    taken = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
