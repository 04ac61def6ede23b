"""A file's text, split and indexed once, for all the citations that are looked for in it.

Lines become single characters of one long string, so that finding a block of them is one `str.find`: linear, whatever
the file holds. Between two lines stands a character for the step of their indentation; so a block is found at any
depth, but only with the same relative indentation.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property

from decapod_py.domain.anchors import common_indent, split_lines
from decapod_py.domain.symbols import Table, Unparsable, table_of

_MOST_LETTERS = 0x10FFFF - 2
_LONGEST_INDEXED = 4_000_000  # characters; in a longer text tokens are not looked for
_LONGEST_TEXT = 4_000  # characters of a cited text whose runs of tokens are looked for
_CONTEXT_KEPT = 200  # characters of a line that is compared as context; anchors cut theirs
# What remains of a text however it is wrapped: no brackets, commas, semicolons and quotes, and runs of a sign as one.
_UNWRAPPABLE = re.compile(r"\w+|([^\w\s()\[\]{},;'\"`\\])\1*")


class Alphabet:
    """Gives each different thing a character of its own."""

    def __init__(self) -> None:
        self._letters: dict[Hashable, str] = {}

    def letter(self, thing: Hashable) -> str:
        letters = self._letters
        if thing not in letters:
            # So many are in no real file; then two things share a letter, and the digest tells them apart.
            letters[thing] = chr(min(len(letters) + 1, _MOST_LETTERS + isinstance(thing, str)))
        return letters[thing]

    def spell(self, things: Iterable[Hashable]) -> str | None:
        """The letters of things that are all known; nothing if one is not, for then they stand nowhere."""
        spelled = [self._letters.get(thing) for thing in things]
        return "".join(filter(None, spelled)) if None not in spelled else None


class FileText:
    """The text of a file as it is now. Everything is computed on first use and kept."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tables: dict[str, Table | None] = {}

    @cached_property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in split_lines(self.text)]

    @cached_property
    def solid(self) -> list[int]:
        """Where the lines are that are not empty, counted from 0. Blocks are windows of this list."""
        return [place for place, line in enumerate(self.lines) if line]

    @cached_property
    def contexts(self) -> list[str]:
        """The solid lines as they are compared when they surround something."""
        return [as_context(self.lines[place]) for place in self.solid]

    @cached_property
    def where(self) -> dict[str, list[int]]:
        """For each context line the places in `solid` where it stands."""
        found: dict[str, list[int]] = {}
        for place, line in enumerate(self.contexts):
            found.setdefault(line, []).append(place)
        return found

    def table(self, path: str) -> Table | None:
        """The names of the file; nothing while it does not parse."""
        kind = path.rsplit(".", 1)[-1].lower()
        if kind not in self._tables:
            try:
                self._tables[kind] = table_of(path, self.text)
            except Unparsable:
                self._tables[kind] = None
        return self._tables[kind]

    def between(self, first: int, last: int) -> str:
        """The lines `first` to `last`, counted from 1."""
        return "\n".join(self.lines[first - 1 : last])

    def solid_from(self, line: int) -> int:
        """The place in `solid` of the first line that is not before this one, counted from 1."""
        return bisect_left(self.solid, line - 1)

    def blocks_like(self, lines: list[str], around: int, most: int) -> list[int]:
        """Where in `solid` these lines stand together, with the same relative indentation; the nearest ones first."""
        alphabet, script = self._script
        needle = alphabet.spell(list(_steps_and_lines(lines))[1:])
        if not needle:
            return []
        # Every solid line has two letters, its step and itself; a block begins with the latter.
        return [place // 2 for place in _nearest(script, needle, 2 * around + 1, most)]

    @cached_property
    def _script(self) -> tuple[Alphabet, str]:
        alphabet = Alphabet()
        letter = alphabet.letter
        return alphabet, "".join([letter(part) for part in _steps_and_lines(self.lines[at] for at in self.solid)])

    def runs_like(self, texts: list[str], around: int, most: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Where the tokens of three texts stand one after the other, however they are wrapped; the nearest first.

        Gives the first and last place in `solid` of all three, and those of the middle one.
        """
        alphabet, script, owners = self._tokens
        before, middle, after = (tokens_of(text) for text in texts)
        needle = alphabet.spell([*before, *middle, *after]) if middle else None
        if not needle:
            return
        for at in _nearest(script, needle, bisect_left(owners, around), most):
            begin = at + len(before)
            yield (owners[at], owners[at + len(needle) - 1]), (owners[begin], owners[begin + len(middle) - 1])

    @cached_property
    def _tokens(self) -> tuple[Alphabet, str, array[int]]:
        """The tokens of the file as letters, and for each the line of `solid` it is in."""
        alphabet = Alphabet()
        letters: list[str] = []
        owners = array("l")
        if len(self.text) <= _LONGEST_INDEXED:
            for place, at in enumerate(self.solid):
                found = [alphabet.letter(token) for token in tokens_of(self.lines[at])]
                letters += found
                owners.extend([place] * len(found))
        return alphabet, "".join(letters), owners

    def places_of_runs(self, text: str, around: int, most: int) -> tuple[list[list[int]], int]:
        """Where each run of three tokens of a text stands, as places among the tokens, and how many tokens it has.

        Of a run that stands in more than so many places none is given: then it says nothing. A text of a few tokens
        has too few runs: there each token is one.
        """
        alphabet, script, owners = self._tokens
        tokens = tokens_of(text[:_LONGEST_TEXT])
        runs = dict.fromkeys(zip(tokens, tokens[1:], tokens[2:], strict=False) if len(tokens) > 8 else zip(tokens))
        near = bisect_left(owners, around)
        found = []
        for run in runs:
            needle = alphabet.spell(run)
            places = _nearest(script, needle, near, most + 1) if needle else []
            found.append(places if len(places) <= most else [])
        return found, len(tokens)

    def region_of_tokens(self, first: int, last: int) -> tuple[int, int]:
        """The first and last place in `solid` of what stands between two tokens."""
        return self._tokens[2][first], self._tokens[2][last]


def as_context(line: str) -> str:
    """A line as it is compared when it surrounds something: a formatter may have been there."""
    line = line.strip()[:_CONTEXT_KEPT]
    return " ".join(tokens_of(line)) or line


def tokens_of(text: str) -> list[str]:
    return [match[1] or match[0] for match in _UNWRAPPABLE.finditer(text.lower())]


def _steps_and_lines(lines: Iterable[str]) -> Iterator[Hashable]:
    """Each line without its indentation, and before it the step that its indentation makes from the line before."""
    before = ""
    for line in lines:
        content = line.lstrip(" \t")
        indent = line[: len(line) - len(content)]
        if indent == before:
            yield ()
        else:
            shared = common_indent([indent, before])
            yield before[shared:], indent[shared:]
        yield content
        before = indent


def _nearest(script: str, needle: str, around: int, most: int) -> list[int]:
    """Where a needle is, the nearest places first, and never more than twice so many."""
    around = max(around, 0)
    after = _forwards(script, needle, around, most)
    before = _backwards(script, needle, around, most)
    return sorted([*after, *before], key=lambda place: (abs(place - around), place))


def _forwards(script: str, needle: str, start: int, most: int) -> Iterator[int]:
    place = script.find(needle, start)
    while place >= 0 and most > 0:
        yield place
        most -= 1
        place = script.find(needle, place + 1)


def _backwards(script: str, needle: str, start: int, most: int) -> Iterator[int]:
    place = script.rfind(needle, 0, max(start + len(needle) - 1, 0))
    while place >= 0 and most > 0:
        yield place
        most -= 1
        place = script.rfind(needle, 0, place + len(needle) - 1)
