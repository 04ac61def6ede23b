"""Path patterns as git and CODEOWNERS users write them: `src/**`, `*.py`, `docs/`."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

_ANY_FOLDERS = "**"


def matches_glob(path: str, pattern: str) -> bool:
    """Whether a path seen from the top matches; a pattern without a slash matches in any folder.

    One part of the path after the other, so that no pattern takes long.
    """
    parts = _parts(pattern)
    reached = _skipped({0}, parts)  # how many parts of the pattern the path may have used up
    for name in path.split("/"):
        after = {place for place in reached if place < len(parts) and parts[place] is None}
        for place in reached:
            part = parts[place] if place < len(parts) else None
            if part is not None and part.match(name):
                after.add(place + 1)
        reached = _skipped(after, parts)
        if not reached:
            return False
    return len(parts) in reached


def _skipped(reached: set[int], parts: tuple[re.Pattern[str] | None, ...]) -> set[int]:
    """With the places that are reached because any folders may be none."""
    found = set(reached)
    for place in range(len(parts)):
        if place in found and parts[place] is None:
            found.add(place + 1)
    return found


@lru_cache(maxsize=64)
def _parts(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    """One expression a folder or file name; nothing for any number of folders."""
    pattern = pattern.removeprefix("./")
    anywhere = "/" not in pattern.rstrip("/")
    names = [name for name in pattern.split("/") if name]
    if anywhere:
        names.insert(0, _ANY_FOLDERS)
    # What lies below a folder that matches, matches too.
    if not names or names[-1] != _ANY_FOLDERS:
        names.append(_ANY_FOLDERS)
    return tuple(None if name == _ANY_FOLDERS else re.compile(translate(name)) for name in names)
