"""Drift: how a citation stands in the file as it is now.

A cited text is `ok` where it was, `moved` when it stands elsewhere, `reformatted` when only its layout differs,
`changed` when something else stands in its place, and `gone` when nothing does. Which of two equal texts is the cited
one is told by the lines around it, then by nearness.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from decapod_py.domain.anchors import Anchor, Cited, cited_text, comparable, digest_of, split_lines
from decapod_py.domain.filetext import FileText
from decapod_py.domain.layout import same_but_for_layout
from decapod_py.domain.symbols import kinds_with_names
from decapod_py.domain.whereabouts import (
    Region,
    Surroundings,
    is_distinctive,
    region_between,
    regions_wrapped_anew,
    similar_region,
)

__all__ = [
    "STATES",
    "FileText",
    "Sighting",
    "diff_of",
    "is_whole",
    "look",
    "stood_outside",
    "then_text",
    "unified",
    "worst",
]

RIGHT = ("ok", "moved", "reformatted")  # states of a text that says what was cited
STATES = ("gone", "changed", "unresolvable", "unanchored", "moved", "reformatted", "ok")  # the worst first

_MOST_CANDIDATES = 1_000  # equal texts before and after the old place that are weighed against each other
_MOST_CONFIRMED = 64  # windows of which a digest is computed
_MOST_WRAPPED = 60  # regions that are compared as to their layout
_MOST_HASHED = 100_000  # lines of them, where nothing but the digest is known of a text
# How much of a text must be left to call it changed; more where its place is known and nothing is left there.
_SHARE, _SHARE_ELSEWHERE = 0.4, 0.7
_SHARE_OF_WORDS = 0.3
_MOST_DIFF_LINES = 200
_MOST_COMPARED = 400  # lines of each side of a diff
_LONGEST_DIFF_LINE = 500


class Sighting(NamedTuple):
    """What was found of a citation."""

    state: str  # ok, moved, reformatted, changed or gone
    first: int | None  # where it stands in the file now; none for a whole file and for what is gone
    last: int | None
    now: str | None  # the text there; none for what is gone


_GONE = Sighting("gone", None, None, None)


def worst(states: Iterable[str]) -> str | None:
    """The state that speaks for all of them; nothing for none."""
    return min(states, key=STATES.index, default=None)


Then = Callable[[], FileText | None]


def _unknown() -> None:
    return None


def look(anchor: Anchor, cited: Cited | None, path: str, text: str | FileText, then: Then = _unknown) -> Sighting:
    """How a citation stands in a text, which is that of its file under whatever name it has now.

    Who looks for many citations in one file gives the same FileText each time. `then` is asked for the file as it was
    when it was cited, where an equal text may be another one.
    """
    file = text if isinstance(text, FileText) else FileText(text)
    if anchor.name is not None and kinds_with_names(path):
        return _look_for_name(anchor, anchor.name, cited, path, file, then)
    if anchor.first is None or anchor.last is None:
        return _look_at_all(anchor, cited, path, file)
    return _look_for_lines(anchor, cited, path, file, then)


def _look_at_all(anchor: Anchor, cited: Cited | None, path: str, file: FileText) -> Sighting:
    state = _state_of(anchor, cited, path, file.text)
    return Sighting(state, None, None, file.text)


def _look_for_name(anchor: Anchor, name: str, cited: Cited | None, path: str, file: FileText, then: Then) -> Sighting:
    """A name is where it is: its lines may be others, and that is no drift."""
    table = file.table(path)
    if table is None:
        found_by_text = _look_for_lines(anchor, cited, path, file, then)
        return found_by_text._replace(state="ok") if found_by_text.state == "moved" else found_by_text
    found = table.find(name)
    if found is None:
        elsewhere = _same_text(anchor, cited, file)
        return _sighted("moved", elsewhere.lines(file), file) if elsewhere else _GONE
    state = _state_of(anchor, cited, path, file.between(*found))
    return _sighted(state, found, file)


def _state_of(anchor: Anchor, cited: Cited | None, path: str, now: str) -> str:
    """For a text that stands where the cited one stood."""
    if digest_of(now) == anchor.digest:
        return "ok"
    if cited and is_whole(anchor, cited) and same_but_for_layout(path, cited.head, now):
        return "reformatted"
    return "changed"


def _look_for_lines(anchor: Anchor, cited: Cited | None, path: str, file: FileText, then: Then) -> Sighting:
    if _is_as_it_was(anchor, cited, file):
        return _sighted("ok", _old_lines(anchor, file), file)
    found = _same_text(anchor, cited, file)
    if found and not _was_another(anchor, cited, file, found, then):
        state = "ok" if _is_old_place(anchor, cited, file, found) else "moved"
        return _sighted(state, _with_empty_lines(anchor, cited, file, found), file)
    if not cited or not comparable(cited.head):
        return _at_old_place(anchor, file)
    around = _around(anchor, cited, file)
    between = region_between(file, around, anchor.lines)
    if is_whole(anchor, cited):
        for region in _maybe_reformatted(cited, path, file, around, between):
            return _sighted("reformatted", region.lines(file), file)
    if between and not between.empty and (around.enclose or _has_words_of(cited.head, between.text(file))):
        return _sighted("changed", between.lines(file), file)
    similar = similar_region(file, cited.head, around, _SHARE_ELSEWHERE if between else _SHARE)
    return _sighted("changed", similar.lines(file), file) if similar else _GONE


def _has_words_of(then: str, now: str) -> bool:
    """Whether a text may come from another. Much is put at the top and at the end of a file that is new there."""
    words = set(re.findall(r"\w+", then))
    return len(words.intersection(re.findall(r"\w+", now))) >= _SHARE_OF_WORDS * len(words)


def _maybe_reformatted(
    cited: Cited, path: str, file: FileText, around: Surroundings, between: Region | None
) -> Iterator[Region]:
    """Regions that say what was cited, laid out otherwise. Equal ones were seen before, and were not the cited one."""
    if between and not between.empty and same_but_for_layout(path, cited.head, between.text(file)):
        yield between
    then = comparable(cited.head)
    for wrapped in islice(regions_wrapped_anew(file, cited, around), _MOST_WRAPPED):
        if comparable(wrapped.region.text(file)) != then and same_but_for_layout(path, wrapped.then, wrapped.now):
            yield wrapped.region


def _sighted(state: str, lines: tuple[int, int], file: FileText) -> Sighting:
    return Sighting(state, *lines, file.between(*lines))


def _at_old_place(anchor: Anchor, file: FileText) -> Sighting:
    """Nothing is known of the text but its digest: whatever stands there now is another one."""
    lines = _old_lines(anchor, file)
    return _sighted("changed", lines, file) if any(file.lines[lines[0] - 1 : lines[1]]) else _GONE


def _is_as_it_was(anchor: Anchor, cited: Cited | None, file: FileText) -> bool:
    """Whether the text and what surrounds it stand where they stood. Most do, and so need no index of the file."""
    if anchor.first is None or anchor.last is None or anchor.first > len(file.lines):
        return False
    if digest_of(file.between(anchor.first, anchor.last)) != anchor.digest:
        return False
    if cited is None or not comparable(cited.head):
        return True
    return _around(anchor, cited, file).agree_fully(file, _old_region(anchor, file))


def _same_text(anchor: Anchor, cited: Cited | None, file: FileText) -> Region | None:
    """Where it says what was cited: of several such places the one that is meant."""
    if cited is None or not comparable(cited.head):
        return _by_digest(anchor, file)
    around = _around(anchor, cited, file)
    ranked = sorted(
        _candidates(anchor, cited, file, around),
        key=lambda region: (-around.agreement(file, region), abs(region.first - around.place), region.first),
    )
    for region in ranked[:_MOST_CONFIRMED]:
        if digest_of(region.text(file)) == anchor.digest and _is_meant(anchor, cited, file, around, region):
            return region
    return None


def _was_another(anchor: Anchor, cited: Cited | None, file: FileText, found: Region, then: Then) -> bool:
    """Whether an equal text stood elsewhere already, and of all of them it is the cited one that is no more."""
    around = _around(anchor, cited, file) if cited and comparable(cited.head) else None
    if cited is None or around is None or around.agree_fully(file, found):
        return False
    before = then()
    if before is None or _copies(anchor, cited, before) <= _copies(anchor, cited, file):
        return False
    agreement = around.agreement(file, found)
    between = region_between(file, around, anchor.lines)
    return agreement < 1 or (between is not None and around.agreement(file, between) > agreement)


def _copies(anchor: Anchor, cited: Cited, file: FileText) -> int:
    regions = _candidates(anchor, cited, file, _around(anchor, cited, file))
    return sum(digest_of(region.text(file)) == anchor.digest for region in regions[:_MOST_CONFIRMED])


def _is_meant(anchor: Anchor, cited: Cited, file: FileText, around: Surroundings, region: Region) -> bool:
    """Whether an equal text is hardly another one: by itself, by where it stands or by what stands around it."""
    if is_distinctive(cited.head):
        return True
    agreement = around.agreement(file, region)
    if _is_old_place(anchor, cited, file, region):
        return agreement > 0 or not around.stand_elsewhere(file)
    return agreement >= 1 or not around.tell or around.flow_into(file, region)


def _candidates(anchor: Anchor, cited: Cited, file: FileText, around: Surroundings) -> list[Region]:
    """Where the text, or as much of it as was kept, stands."""
    lines = [line.rstrip() for line in split_lines(cited.head)]
    lines = [line for line in lines if line]
    size = len(lines) if is_whole(anchor, cited) else anchor.lines
    if len(lines) == 1 and size >= 1 and not is_whole(anchor, cited):
        beginning = lines[0].strip()  # of a line too long to be kept
        starts = [at for at, place in enumerate(file.solid) if file.lines[place].lstrip().startswith(beginning)]
        starts = sorted(starts, key=lambda at: abs(at - around.place))[:_MOST_CANDIDATES]
    else:
        starts = file.blocks_like(lines, around.place, _MOST_CANDIDATES)
        if len(starts) >= _MOST_CANDIDATES:
            starts += around.starts_within(file, lines)
    return [Region(at, at + size - 1) for at in dict.fromkeys(starts) if size and at + size <= len(file.solid)]


def _by_digest(anchor: Anchor, file: FileText) -> Region | None:
    """A text of which only the digest is left (it was redacted) is looked for window by window, the nearest first."""
    if not anchor.lines:
        return None
    near = file.solid_from(anchor.first or 1)
    starts = range(len(file.solid) - anchor.lines + 1)
    for at in sorted(starts, key=lambda at: abs(at - near))[: _MOST_HASHED // anchor.lines]:
        region = Region(at, at + anchor.lines - 1)
        if digest_of(region.text(file)) == anchor.digest:
            return region
    return None


def _around(anchor: Anchor, cited: Cited, file: FileText) -> Surroundings:
    return Surroundings(cited, file.solid_from((anchor.first or 1) + _empty_lines(cited)[0]))


def _old_lines(anchor: Anchor, file: FileText) -> tuple[int, int]:
    """The lines that were cited, as far as the file has them."""
    first = anchor.first or 1
    return first, max(first, min(anchor.last or first, len(file.lines)))


def _old_region(anchor: Anchor, file: FileText) -> Region:
    first, last = _old_lines(anchor, file)
    return Region(file.solid_from(first), file.solid_from(last + 1) - 1)


def _is_old_place(anchor: Anchor, cited: Cited | None, file: FileText, region: Region) -> bool:
    """The same lines, or the same beginning: empty lines that came or went inside of a text are no move."""
    begins = (anchor.first or 1) + (_empty_lines(cited)[0] if cited else 0)
    return region.lines(file)[0] == begins or region == _old_region(anchor, file)


def _with_empty_lines(anchor: Anchor, cited: Cited | None, file: FileText, region: Region) -> tuple[int, int]:
    """The lines of a region, with the empty ones that were cited along with it, as far as those are here too."""
    if region == _old_region(anchor, file):
        return _old_lines(anchor, file)
    first, last = region.lines(file)
    before, after = _empty_lines(cited) if cited and is_whole(anchor, cited) else (0, 0)
    while before and first > 1 and not file.lines[first - 2]:
        first, before = first - 1, before - 1
    while after and last < len(file.lines) and not file.lines[last]:
        last, after = last + 1, after - 1
    return first, last


def _empty_lines(cited: Cited) -> tuple[int, int]:
    """How many empty lines the citation began and ended with."""
    lines = cited.head.split("\n")
    solid = [place for place, line in enumerate(lines) if line.strip()]
    return (solid[0], len(lines) - 1 - solid[-1]) if solid else (0, 0)


def is_whole(anchor: Anchor, cited: Cited) -> bool:
    """Whether all of the cited text was kept."""
    return digest_of(cited.head) == anchor.digest


def then_text(anchor: Anchor, cited: Cited | None) -> str | None:
    """What was cited, as far as it was kept; nothing where it was redacted."""
    return cited.head if cited and comparable(cited.head) else None


def diff_of(anchor: Anchor, cited: Cited | None, path: str, sighting: Sighting) -> str | None:
    """What became of a citation, as a unified diff; nothing where one side is not known."""
    then = then_text(anchor, cited)
    if then is None or cited is None or sighting.now is None:
        return None
    if is_whole(anchor, cited):
        return unified(then, sighting.now, path, anchor.first or 1, sighting.first or 1)
    kept = len(then.split("\n"))
    shown = unified(then, "\n".join(split_lines(sighting.now)[:kept]), path, anchor.first or 1, sighting.first or 1)
    return f"{shown}\n… only the first {kept} lines of what was cited are known"


def unified(then: str, now: str, path: str, first_then: int, first_now: int) -> str:
    """A unified diff whose line numbers are those of the files; bounded, and says where it was cut."""
    from difflib import SequenceMatcher

    from decapod_py.domain.text import visible

    one, other = (_diffable(text) for text in (then, now))
    shown = [f"--- a/{visible(path)}", f"+++ b/{visible(path)}"]
    for group in SequenceMatcher(None, one[:_MOST_COMPARED], other[:_MOST_COMPARED], False).get_grouped_opcodes(3):
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        shown.append(f"@@ -{_span(i1, i2, first_then)} +{_span(j1, j2, first_now)} @@")
        for change, i1, i2, j1, j2 in group:
            if change == "equal":
                shown += [f" {line}" for line in one[i1:i2]]
            else:
                shown += [f"-{line}" for line in one[i1:i2]] + [f"+{line}" for line in other[j1:j2]]
    left_out = max(len(shown) - _MOST_DIFF_LINES, 0) + sum(max(len(side) - _MOST_COMPARED, 0) for side in (one, other))
    shown = shown[:_MOST_DIFF_LINES]
    return "\n".join([*shown, f"… {left_out} more lines"] if left_out else shown)


def _diffable(text: str) -> list[str]:
    lines = [line.rstrip() for line in split_lines(text)]
    return [line if len(line) <= _LONGEST_DIFF_LINE else line[:_LONGEST_DIFF_LINE] + "…" for line in lines]


def _span(start: int, stop: int, first: int) -> str:
    """A range as diffs write it: an empty one names the line before it."""
    size = stop - start
    return f"{start + first - (not size)},{size}" if size != 1 else f"{start + first}"


def stood_outside(path: str, then: list[str], cited: tuple[int, int], now: list[str], found: tuple[int, int]) -> bool:
    """Whether lines of a file stood outside a citation before: then they are its neighbours, not the cited text."""
    text = "\n".join(now[found[0] - 1 : found[1]])
    itself = Anchor(path, *found, None, None, None, digest_of(text), len(comparable(text)))
    others = "\n".join([*then[: cited[0] - 1], *then[cited[1] :]])
    return look(itself, cited_text(now, *found), path, others).state in RIGHT
