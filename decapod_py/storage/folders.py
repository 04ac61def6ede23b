"""Folders of other people's files: what is in them, read and never written."""

from __future__ import annotations

import os
from stat import S_ISREG

_MARKDOWN = (".md", ".markdown")


def is_markdown(name: str) -> bool:
    return name.lower().endswith(_MARKDOWN)


def markdown_below(folder: str) -> tuple[list[str], dict[str, int]]:
    """The Markdown files below a folder, in a stable order, and how many of what else was left out.

    Nothing hidden: an editor keeps its settings and its bin there. No links: they may lead anywhere, or in a circle.
    """
    found: list[str] = []
    left_out = {"hidden": 0, "linked": 0, "not Markdown": 0, "unreadable": 0}
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        try:
            entries = sorted(os.scandir(os.path.join(folder, inner)), key=lambda entry: entry.name)
        except OSError:
            if not inner:
                raise
            left_out["unreadable"] += 1
            continue
        for entry in entries:
            if entry.name.startswith("."):
                left_out["hidden"] += 1
            elif entry.is_symlink():
                left_out["linked"] += 1
            elif entry.is_dir():
                waiting.append(f"{inner}{entry.name}/")
            elif is_markdown(entry.name) and entry.is_file():
                found.append(inner + entry.name)
            else:
                left_out["not Markdown"] += 1
    return sorted(found), {what: count for what, count in left_out.items() if count}


def read_regular(file: str, most: int) -> bytes | None:
    """The bytes of a regular file; nothing if it has more than so many, or is no file. No link is followed."""
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as opened:
        found = os.fstat(handle)
        if not S_ISREG(found.st_mode) or found.st_size > most:
            return None
        return opened.read(most)
