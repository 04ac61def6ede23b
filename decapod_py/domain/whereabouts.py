"""Whereabouts: where a cited text, or what became of it, probably stands in a file."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import islice, product
from typing import NamedTuple

from decapod_py.domain.anchors import Cited, split_lines
from decapod_py.domain.filetext import FileText, as_context

_TRIFLE = 0.25  # what a context line without letters to speak of weighs: a brace stands everywhere
_FLOW = 6  # tokens next to a text that must be the same for it to be that text
_MOST_PLACES = 200  # of one context line that are looked at
_MOST_COMMON = 50  # lines; what stands in more of them says nothing about a place
_LEAST_RUNS = 1  # that stand nowhere else, or as many more as weigh the same
_MOST_RUNS = 4
_MOST_BRACKETS = 4  # lines of nothing but brackets that a formatter puts below a text
_BRACKETS = frozenset("()[]{},; \t")


class Region(NamedTuple):
    """Some lines of a file, as places among those that are not empty; both ends included."""

    first: int
    last: int

    @property
    def empty(self) -> bool:
        return self.last < self.first

    def lines(self, file: FileText) -> tuple[int, int]:
        """Its first and last line, counted from 1."""
        return file.solid[self.first] + 1, file.solid[self.last] + 1

    def text(self, file: FileText) -> str:
        return file.between(*self.lines(file))


class Wrapped(NamedTuple):
    """A place where the tokens of a cited text stand, perhaps together with those around it."""

    region: Region
    then: str  # what was cited, with as much of its surroundings as it takes to compare whole lines
    now: str


class Surroundings:
    """What stood around a citation, and where that was."""

    def __init__(self, cited: Cited, place: int) -> None:
        self.place = place  # among the lines that are not empty, where the citation began
        self.before = [line for line in split_lines(cited.before) if line.strip()]
        self.after = [line for line in split_lines(cited.after) if line.strip()]
        self._before = [as_context(line) for line in self.before]
        self._after = [as_context(line) for line in self.after]
        self.enclose = bool(self.before and self.after)  # or the citation began or ended its file
        self.tell = any(_weight(line) >= 1 for line in [*self._before, *self._after])  # or there is nothing to go by

    def agree_fully(self, file: FileText, region: Region) -> bool:
        """Whether all lines around the region are as they were. Needs no index, and is true of most citations."""
        before = file.solid[max(region.first - len(self.before), 0) : max(region.first, 0)]
        after = file.solid[region.last + 1 : region.last + 1 + len(self.after)]
        return [file.lines[at] for at in before] == self.before and [file.lines[at] for at in after] == self.after

    def agreement(self, file: FileText, region: Region) -> float:
        """How much of what adjoined the citation adjoins this region."""
        return self._weight_before(file, region.first) + self._weight_after(file, region.last + 1)

    def flow_into(self, file: FileText, region: Region) -> bool:
        """Whether the words right before or after a region are those of then, on whatever lines they are now."""
        before = " ".join(file.contexts[max(region.first - _FLOW, 0) : region.first]).split()
        after = " ".join(file.contexts[region.last + 1 : region.last + 1 + _FLOW]).split()
        return _begin_alike(" ".join(self._before).split()[::-1], before[::-1]) or _begin_alike(
            " ".join(self._after).split(), after
        )

    def stand_elsewhere(self, file: FileText) -> bool:
        """Whether lines that adjoined the citation are in the file still."""
        return any(_weight(line) >= 1 and line in file.where for line in [*self._before[-1:], *self._after[:1]])

    def starts_within(self, file: FileText, lines: list[str]) -> list[int]:
        """Where lines stand with the most context, when they stand in too many places to look at each."""
        found: list[int] = []
        for before, after in product(range(len(self.before) + 1), range(len(self.after) + 1)):
            wider = [*self.before[len(self.before) - before :], *lines, *self.after[:after]]
            found += [at + before for at in file.blocks_like(wider, self.place - before, 1)]
        return found

    def begins(self, file: FileText) -> list[tuple[int, float]]:
        """Where the citation could begin, and with how much of what stood before it."""
        if not self._before:
            return [(0, _TRIFLE)]
        places = [at + 1 for at in _near(file.where.get(self._before[-1], []), self.place)]
        return _telling([(at, self._weight_before(file, at)) for at in places], self._before)

    def ends(self, file: FileText) -> list[tuple[int, float]]:
        """What could be the place after the citation, and with how much of what stood there."""
        if not self._after:
            return [(len(file.solid), _TRIFLE)]
        places = _near(file.where.get(self._after[0], []), self.place)
        return _telling([(at, self._weight_after(file, at)) for at in places], self._after)

    def _weight_before(self, file: FileText, stop: int) -> float:
        if not self._before:
            return _TRIFLE if stop == 0 else 0
        return _weight_of_run(self._before[::-1], file.contexts[max(stop - len(self._before), 0) : stop][::-1])

    def _weight_after(self, file: FileText, first: int) -> float:
        if not self._after:
            return _TRIFLE if first == len(file.solid) else 0
        return _weight_of_run(self._after, file.contexts[first : first + len(self._after)])


def _weight(line: str) -> float:
    return 1 if sum(map(str.isalnum, line)) >= 3 else _TRIFLE


def _weight_of_run(then: list[str], now: list[str]) -> float:
    """What the lines weigh that are the same, from the first on."""
    weight = 0.0
    for one, other in zip(then, now, strict=False):
        if one != other:
            break
        weight += _weight(one)
    return weight


def _begin_alike(then: list[str], now: list[str]) -> bool:
    return len(then) >= _FLOW and then[:_FLOW] == now[:_FLOW] and _weight("".join(then[:_FLOW])) >= 1


def _telling(places: list[tuple[int, float]], lines: list[str]) -> list[tuple[int, float]]:
    """The places with at least one line that says something, or with all lines where none of them does."""
    least = min(1, sum(map(_weight, lines)))
    return sorted(place for place in places if place[1] >= least)


def _near(places: list[int], place: int) -> list[int]:
    """Those of the sorted places that are nearest to one."""
    middle = bisect_left(places, place)
    return places[max(middle - _MOST_PLACES // 2, 0) : middle + _MOST_PLACES // 2]


def region_between(file: FileText, around: Surroundings, size: int) -> Region | None:
    """What stands now between the lines that were around the citation. It may be empty: then that was deleted."""
    begins, ends = around.begins(file), around.ends(file)
    found: list[tuple[float, int, Region]] = []
    for begin, weight in begins:
        at = bisect_left(ends, (begin, 0.0))
        if at < len(ends) and ends[at][0] - begin <= 3 * size + 30:
            found.append((-weight - ends[at][1], abs(begin - around.place), Region(begin, ends[at][0] - 1)))
    if not found or -min(found)[0] <= 2 * _TRIFLE:
        return None
    return min(found)[2]


def regions_wrapped_anew(file: FileText, cited: Cited, around: Surroundings) -> Iterator[Wrapped]:
    """Where the tokens of the cited text stand one after the other, on however many lines.

    A range that was cut out of a statement may share its lines with others now. Then it is compared together with what
    stood around it: alone, `return x` would be found in `return x + 1`.
    """
    telling = is_distinctive(cited.head)
    shares = sorted(product(range(len(around.before) + 1), range(len(around.after) + 1)), key=sum)
    for before, after in shares:
        parts = [around.before[len(around.before) - before :], [cited.head], around.after[:after]]
        texts = ["\n".join(part) for part in parts]
        then = "\n".join(text for text in texts if text)
        for outer, inner in islice(file.runs_like(texts, around.place, _MOST_RUNS), 2 * _MOST_RUNS):
            for above, below in _bracket_lines(file, *outer):
                region = Region(inner[0] - (above if not before else 0), inner[1] + (below if not after else 0))
                if telling or before or after or around.agreement(file, region) >= 1:
                    yield Wrapped(region, then, Region(outer[0] - above, outer[1] + below).text(file))


def _bracket_lines(file: FileText, first: int, last: int) -> Iterator[tuple[int, int]]:
    """How many lines of nothing but brackets, above and below, may belong to a run of tokens."""
    below = 0
    while below < _MOST_BRACKETS and last + below + 1 < len(file.solid) and _only_brackets(file, last + below + 1):
        below += 1
    above = 0
    while above < _MOST_BRACKETS and first - above > 0 and _only_brackets(file, first - above - 1):
        above += 1
    yield from sorted(product(range(above + 1), range(below + 1)), key=sum)


def _only_brackets(file: FileText, place: int) -> bool:
    return _BRACKETS.issuperset(file.lines[file.solid[place]][:200])


def similar_region(file: FileText, text: str, around: Surroundings, least: float) -> Region | None:
    """Where most of a text still stands: at least such a share of its lines, or of its words."""
    if not is_distinctive(text) or not file.solid:
        return None
    lines = [line for line in split_lines(text) if line.strip()]
    return _by_lines(file, lines, around, least) or _by_tokens(file, text, around, least)


def _by_lines(file: FileText, lines: list[str], around: Surroundings, least: float) -> Region | None:
    """Each line that is still there votes for where the text would begin; one that stands everywhere hardly counts."""
    keys = [as_context(line) for line in lines]
    votes: dict[int, float] = {}
    weights: list[float] = []
    for number, key in enumerate(keys):
        found = file.where.get(key, [])
        weights.append(min(sum(map(str.isalnum, key)), 40) / max(len(found), 1))
        if len(found) > _MOST_COMMON:  # it says something only about where it was
            found = [at for at in _near(found, around.place) if abs(at - number - around.place) <= 2]
        for at in found:
            votes[at - number] = votes.get(at - number, 0) + weights[number]
    if not votes:
        return None
    begin = min(votes, key=lambda at: (-_votes_near(votes, at), abs(at - around.place)))
    if _votes_near(votes, begin) < max(least * sum(weights), 6):
        return None
    return Region(max(begin, 0), max(min(begin + len(lines), len(file.solid)) - 1, max(begin, 0)))


def _votes_near(votes: dict[int, float], begin: int) -> float:
    """Lines that came or went inside of a text shift what follows a little."""
    return sum(votes.get(at, 0) for at in range(begin - 2, begin + 3))


def _by_tokens(file: FileText, text: str, around: Surroundings, least: float) -> Region | None:
    """Where most of a text's runs of three tokens are, however it is wrapped; the rarer a run, the more it says."""
    runs, size = file.places_of_runs(text, around.place, _MOST_COMMON)
    weights = [1 / max(len(places), 1) for places in runs]
    seen = sorted((at, number) for number, places in enumerate(runs) for at in places)
    best: tuple[float, int, Region] | None = None
    inside: Counter[int] = Counter()
    weight, start = 0.0, 0
    for at, number in seen:
        weight += weights[number] if not inside[number] else 0
        inside[number] += 1
        # Let go of what is too far above, and of what is here once more.
        while seen[start][0] < at - size - size // 2 or inside[seen[start][1]] > 1:
            inside[seen[start][1]] -= 1
            weight -= weights[seen[start][1]] if not inside[seen[start][1]] else 0
            start += 1
        region = file.region_of_tokens(seen[start][0], at)
        found = (-round(weight, 6), abs(region[0] - around.place), Region(*region))
        best = min(best, found) if best else found
    return best[2] if best and -best[0] >= max(least * sum(weights), _LEAST_RUNS) else None


def is_distinctive(text: str) -> bool:
    """Whether a text is hardly found twice by chance; `return None` and `}` are."""
    lines = [line for line in split_lines(text[:10_000]) if line.strip()]
    letters = sum(map(str.isalnum, text[:10_000]))
    return letters >= 20 or (len(lines) > 1 and letters >= 10)
