"""The beginning of a text, cut where a reader would stop."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Where a paragraph, an item of a list, a row of a table, or a sentence ends.
_ENDS = re.compile(
    r"""
    \n(?=[ \t]*\n)                                        # a blank line follows
    | \n(?=[ \t]*(?:[-*+>|]|\#{1,6}|\d{1,3}[.)]|`{3}|~{3})) # a block of its own follows
    | [.!?…][\"'”’)\]*_`]*(?=\s|\Z)
    | [。！？]
    """,
    re.VERBOSE,
)
_BLANKS = re.compile(r"\s+")
_AHEAD = 8  # characters beyond the cut that tell what ends there


def beginning(text: str, most: int) -> str:
    """At most so many characters: up to the last paragraph or sentence that ends there, else the last whole word."""
    if len(text) <= most:
        return text
    seen = text[: most + _AHEAD]
    for end in (_last(_ends(seen), most), _last((blank.start() for blank in _BLANKS.finditer(seen)), most)):
        if kept := text[:end].rstrip():
            return kept
    return text[:most]


def _ends(text: str) -> Iterable[int]:
    return (found.end() for found in _ENDS.finditer(text))


def _last(ends: Iterable[int], most: int) -> int:
    return max((end for end in ends if end <= most), default=0)
