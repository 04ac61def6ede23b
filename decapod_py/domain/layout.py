"""Layout: whether two texts differ only in how they are laid out.

What a formatter does (wrapping, quote style, trailing commas, alignment) changes no meaning and fails no gate. So a
wrong yes would hide real drift, and every doubt is a no.
"""

from __future__ import annotations

import posixpath

from decapod_py.domain.anchors import comparable

_LARGEST = 200_000  # characters; beyond that a difference is a change
_PROSE = (".md", ".markdown", ".rst", ".txt")
# Text by its ending, but each line is an item.
_LISTS = ("requirements", "constraints", "cmakelists", "robots", "humans", "security", "sources", "files")


def same_but_for_layout(path: str, then: str, now: str) -> bool:
    """Whether a formatter may have turned one text into the other."""
    if comparable(then) == comparable(now):
        return True
    if max(len(then), len(now)) > _LARGEST or not _alike_in_size(then, now):
        return False
    name = posixpath.basename(path).lower()
    stem, kind = posixpath.splitext(name)
    if kind in (".py", ".pyi"):
        from decapod_py.domain.layout_python import same_python

        return same_python(then, now)
    if kind in _PROSE:
        from decapod_py.domain.layout_prose import same_prose

        return not (kind == ".txt" and stem.startswith(_LISTS)) and same_prose(kind, then, now)
    from decapod_py.domain.layout_braces import same_braces

    return same_braces(kind, then, now)


def _alike_in_size(then: str, now: str) -> bool:
    """A formatter adds and removes no letters, but for a few around quotes and numbers. Cheap, so it comes first."""
    one, other = (sum(map(str.isalnum, text)) for text in (then, now))
    return abs(one - other) <= 20 + max(one, other) // 10
