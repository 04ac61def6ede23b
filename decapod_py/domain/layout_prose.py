"""Layout of prose: words may be wrapped anew; paragraphs, items, headings, rows and code stay what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from decapod_py.domain.anchors import split_lines

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_ITEM = re.compile(r"([-+*]|\d{1,9}[.)]|#\.)(?=[ \t]|$)")
# What stands on a line of its own, wherever words are wrapped: a heading, a quote, a reference, a field, markup.
_ALONE = re.compile(
    r"#{1,6}(?=[ \t]|$)|>|\[[^\]]+\]:|<|\.\. |:[\w-]+:|\w[\w-]*:(?=[ \t]|$)|[^\w\s]{2,}$|[=~^*+\"'`#_-]{3,}"
)
_DELIMITER = re.compile(r"(:?)-+(:?)")
_VERBATIM = re.compile(r"<(pre|script|style|textarea)\b", re.IGNORECASE)
# Words in a line of wrapped prose. Fewer look like a list of things or like commands, of which each line is one.
_WORDS_OF_PROSE = 4

_Block = tuple[object, ...]


def same_prose(kind: str, then: str, now: str) -> bool:
    """Whether two texts have the same words in the same blocks."""
    if _VERBATIM.search(then) or _VERBATIM.search(now):
        return False
    return list(_blocks(kind, then)) == list(_blocks(kind, now))


def _blocks(kind: str, text: str) -> Iterator[_Block]:
    """The text as blocks: a paragraph or an item is its words, whatever its lines; the rest is kept line by line."""
    fence = ""
    paragraph = _Paragraph(markdown=kind in (".md", ".markdown"))
    for line in split_lines(text):
        line = line.rstrip().expandtabs()
        opening = _FENCE.match(line)
        if not fence and not opening and paragraph.goes_on_with(line):
            continue
        yield from paragraph.ended()
        if fence or opening:
            fence = _fence_after(fence, line.strip(), opening)
            yield "code", line
        elif not paragraph.begins_with(line) and line:
            yield _line(line)
    yield from paragraph.ended()


def _fence_after(fence: str, shown: str, opening: re.Match[str] | None) -> str:
    if not fence:
        return opening[1] if opening else ""
    return "" if shown.startswith(fence) and not shown.strip(fence[0]) else fence


class _Paragraph:
    """The lines of prose that belong together so far."""

    def __init__(self, *, markdown: bool) -> None:
        self._markdown = markdown
        self._lines: list[str] = []
        self._begins = self._margin = 0
        self._after_blank = True

    def goes_on_with(self, line: str) -> bool:
        """Whether the line belongs to what is open; then it is taken."""
        shown = line.lstrip()
        if not self._lines or not shown or _stands_alone(shown):
            return False
        # In Markdown the next line belongs to the paragraph however it is indented; elsewhere it is another block.
        if not self._markdown and len(line) - len(shown) != self._margin:
            return False
        self._lines.append(shown)
        return True

    def begins_with(self, line: str) -> bool:
        """Whether the line begins a paragraph or an item; then that is open."""
        shown = line.lstrip()
        indent = len(line) - len(shown)
        after_blank, self._after_blank = self._after_blank, not shown
        item = _ITEM.match(shown)
        code = not item and (after_blank and indent >= 4 if self._markdown else indent > 0)
        if not shown or code or _kept_as_it_is(shown):
            return False
        self._begins = indent
        self._margin = indent + (len(shown) - len(shown[item.end() :].lstrip()) if item else 0)
        self._lines = [shown]
        return True

    def ended(self) -> Iterator[_Block]:
        """The paragraph as a block. What looks like a list of things, one a line, stays lines."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        if any(len(line.split()) < _WORDS_OF_PROSE for line in lines[:-1]):
            yield from (("line", self._begins, line) for line in lines)
        else:
            yield "words", self._begins, *" ".join(lines).split()


def _stands_alone(shown: str) -> bool:
    return bool(_ITEM.match(shown) or _ALONE.match(shown)) or "|" in shown


def _kept_as_it_is(shown: str) -> bool:
    """Lines that cannot be wrapped: rows, headings, underlines, markup, fields."""
    return "|" in shown or bool(_ALONE.match(shown) and not shown.startswith(">"))


def _line(line: str) -> _Block:
    """A line by itself; of a row, how wide its columns are does not count."""
    if "|" not in line:
        return "line", line
    cells = [" ".join(cell.split()) for cell in line.strip().strip("|").split("|")]
    return "row", *(_DELIMITER.sub(r"\1-\2", cell) if _DELIMITER.fullmatch(cell) else cell for cell in cells)
