"""Files that tell agents what to do, such as CLAUDE.md and AGENTS.md: one text under each heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from decapod_py.domain.anchors import split_lines
from decapod_py.domain.instructions import with_section_blank
from decapod_py.domain.symbols import headings_of

_NAMES = frozenset({"claude.md", "claude.local.md", "agents.md", "gemini.md", "copilot-instructions.md"})
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:.*\n)*?---[ \t]*(?:\n|\Z)")


class Section(NamedTuple):
    """A heading and what stands below it, up to the next heading of any level. Lines count from 1."""

    title: str | None  # nothing for what stands before the first heading
    slug: str  # as an address has it; empty where the heading has no letters
    text: str
    first: int
    last: int
    name: str  # tells it from all others of its file: its slug, or its number among headings without one


def recognises(path: str) -> bool:
    return path.rpartition("/")[2].lower() in _NAMES


def sections(text: str, path: str) -> Iterator[Section]:
    """The sections that say something. The one that `connect` keeps is ours already; raises on broken markers."""
    text = with_section_blank(text, path)
    lines = split_lines(_FRONT_MATTER.sub(lambda found: "\n" * found[0].count("\n"), text, count=1))
    headings = list(headings_of("\n".join(lines)))
    starts = [heading.first for heading in headings] + [len(lines) + 1]
    before = _section(None, "", lines, 0, starts[0] - 1)
    found = [
        _section(heading.text, heading.slug, lines, heading.first, after - 1)
        for heading, after in zip(headings, starts[1:], strict=True)
    ]
    nameless = count(1)
    for section in (before, *found):
        if section.title is not None and not section.slug:
            section = section._replace(name=f" {next(nameless)}")
        if section.text:
            yield section


def _section(title: str | None, slug: str, lines: list[str], heading: int, last: int) -> Section:
    below = heading + 1 if _is_underlined(lines, heading) else heading
    said = [number for number in range(below + 1, last + 1) if lines[number - 1].strip()]
    if not said:
        return Section(title, slug, "", heading, heading, slug)
    return Section(title, slug, "\n".join(lines[below : said[-1]]), heading or said[0], said[-1], slug)


def _is_underlined(lines: list[str], heading: int) -> bool:
    """Whether the line after a heading's text is what makes it one."""
    if not heading or lines[heading - 1].lstrip().startswith("#") or heading >= len(lines):
        return False
    return bool(re.fullmatch(r" {0,3}(=+|-+)[ \t]*", lines[heading]))
