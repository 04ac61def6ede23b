"""Notes of basic-memory: observations have a category and tags, a permalink is a second name."""

from __future__ import annotations

import re
from typing import Any

# A box that is ticked or not is no category, and a link no observation.
_OBSERVATION = re.compile(r"^[ \t]*[-*][ \t]+\[(?!\[)([^\[\]\n]{2,80})\](?![(\[])[ \t]+(\S.*)$", re.MULTILINE)
_TAG = re.compile(r"(?<!\S)#([^\s#.,;:()\[\]]+)")


def recognises(fields: dict[str, Any]) -> bool:
    return bool(fields.get("permalink")) and bool(fields.get("type"))


def observed_tags(body: str) -> list[str]:
    """The categories and tags of a note's observations, each once."""
    found: dict[str, None] = {}
    for category, said in _OBSERVATION.findall(body):
        found.update(dict.fromkeys([category.strip(), *_TAG.findall(said)]))
    return [tag for tag in found if tag]


def names(fields: dict[str, Any]) -> list[str]:
    """What links may call a note besides the name of its file."""
    written = [fields.get(key) for key in ("permalink", "title")]
    return [str(name).strip() for name in written if isinstance(name, (str, int)) and str(name).strip()]
