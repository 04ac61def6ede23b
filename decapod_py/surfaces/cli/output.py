"""Writing to the terminal, a pipe or a program: safe characters, one encoding, quiet when the reader has left."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO, TextIO

from decapod_py.domain.text import UNSAFE
from decapod_py.foundation.errors import Refused


def to_json(value: Any) -> str:
    """One JSON value on one line; other scripts stay readable."""
    return safe_json(json.dumps(value, ensure_ascii=False))


def safe_json(text: str) -> str:
    """JSON text whose remaining unsafe characters are escapes too: the same value, harmless on a terminal."""
    return text if text.isprintable() else UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def answer(text: str) -> None:
    """Writes the result to standard output."""
    _write(sys.stdout, text)


def report(text: str) -> None:
    """Writes to standard error: warnings and errors."""
    _write(sys.stderr, text)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # closed by the caller: nobody wants to hear it
        return
    try:
        # A lone surrogate becomes `\ud800`, which inside JSON is even the right escape.
        stream.flush()
        _write_all(stream.buffer, f"{text}\n".encode("utf-8", "backslashreplace"))
        stream.flush()
    except BrokenPipeError:
        forget(stream)
    except OSError as problem:
        forget(stream)
        raise Refused("output-failed", f"the output could not be written: {problem.strerror}") from None


def _write_all(target: BinaryIO, data: bytes) -> None:
    # With PYTHONUNBUFFERED there is no buffer in between, and a full disk takes a part without a word.
    view = memoryview(data)
    while view:
        view = view[target.write(view) or 0 :]


def forget(stream: TextIO) -> None:
    """Points the stream nowhere, so that the interpreter does not complain again while it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
