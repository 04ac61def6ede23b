"""What the file system takes by itself, so that a slow disk is not taken for a slow program."""

from __future__ import annotations

import os
import time

_PAGE = b"x" * 700  # about what the Markdown of an entry of the corpus has


def written_files(folder: str, count: int) -> float:
    """Seconds for so many new files, each written under another name and renamed, none synced."""
    os.mkdir(folder)
    start = time.perf_counter()
    for number in range(count):
        temporary = os.path.join(folder, "page.tmp")
        with open(temporary, "wb") as file:
            file.write(_PAGE)
        os.replace(temporary, os.path.join(folder, f"page-{number}.md"))
    return time.perf_counter() - start


def synced_appends(path: str, count: int) -> list[float]:
    """Seconds of each append that is on the disk when it returns."""
    taken = []
    with open(path, "ab", buffering=0) as file:
        for _ in range(count):
            start = time.perf_counter()
            file.write(_PAGE)
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - start)
    return taken
