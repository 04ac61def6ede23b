"""Cuts a text into passages short enough to be about one thing: paragraphs, joined while they are short."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

TARGET = 500  # characters that a passage should have
MOST = 1_000  # and that it never exceeds

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}\s[^\n]*\Z")
_SENTENCE = re.compile(r"[.!?][\"')\]]*\s|[。！？]|\n")
_BLANK = re.compile(r"\s")


class Span(NamedTuple):
    """A passage: where it begins and ends in its text."""

    first: int
    last: int


def chunks(text: str) -> list[Span]:
    """The passages of a text, in order: they cover every word, and split only words longer than a passage."""
    pieces = (piece for block in _blocks(text) for piece in _pieces(text, block))
    return list(_joined(text, pieces))


def _blocks(text: str) -> Iterator[Span]:
    """Paragraphs without the blank lines between them; what stands in a code fence is one."""
    first: int | None = None
    fence = ""
    last = 0
    for start, end in _lines(text):
        line = text[start:end]
        if fence:
            last = end
            if _closes(line, fence):
                fence = ""
        elif line.strip():
            opened = _FENCE.match(line)
            if opened:
                fence = opened[1]
            first = start if first is None else first
            last = end
        elif first is not None:
            yield _stripped(text, first, last)
            first = None
    if first is not None:
        yield _stripped(text, first, last)


def _lines(text: str) -> Iterator[Span]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield Span(start, end)
        start = end + 1


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])


def _stripped(text: str, first: int, last: int) -> Span:
    while first < last and text[first].isspace():
        first += 1
    while last > first and text[last - 1].isspace():
        last -= 1
    return Span(first, last)


def _pieces(text: str, block: Span) -> Iterator[Span]:
    """A block as it is, or, where it is too long, in parts that end with a sentence, a line or a word."""
    first, last = block
    while last - first > MOST:
        end = _end(text, first)
        yield _stripped(text, first, end)
        first = _stripped(text, end, last).first
    if last > first:
        yield Span(first, last)


def _end(text: str, first: int) -> int:
    """Where a part of a long block ends: with the first sentence past the target, else with the last whole word."""
    sentence = _SENTENCE.search(text, first + TARGET, first + MOST)
    if sentence:
        return sentence.end()
    for place in range(first + MOST, first, -1):
        if _BLANK.match(text, place):
            return place
    return first + MOST


def _joined(text: str, pieces: Iterable[Span]) -> Iterator[Span]:
    """Neighbours as one passage while they are short; a heading stays with what it stands above."""
    gathered: Span | None = None
    for piece in pieces:
        if gathered is None:
            gathered = piece
            continue
        most = MOST if _HEADING.match(text[gathered.first : gathered.last]) else TARGET
        if piece.last - gathered.first <= most:
            gathered = Span(gathered.first, piece.last)
        else:
            yield gathered
            gathered = piece
    if gathered is not None:
        yield gathered
