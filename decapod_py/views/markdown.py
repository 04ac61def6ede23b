"""The Markdown of an entry: its bytes, and what the file on disk turned out to be.

Front matter holds only what the entry's own authored events set, so that decay, scores and drift never touch a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Literal, NamedTuple

from decapod_py.domain.entry import ROOT_SCOPE, Entry
from decapod_py.domain.text import tidy
from decapod_py.foundation.clock import format_time
from decapod_py.storage.front_matter import Damaged, Value, conflict_sides, parse, render, unknown_lines

State = Literal["same", "stale", "edited", "diverged", "conflicted", "missing", "damaged"]

# The stable order of front matter; what people add of their own follows.
KEYS = (
    "id",
    "title",
    "status",
    "provenance",
    "tags",
    "aliases",
    "scope",
    "merge_key",
    "claim_id",
    "source",
    "ttl_policy",
    "expires_ts",
    "confidence",
    "supersedes",
    "author",
    "contributors",
    "created_at",
    "updated_at",
)
_DEFAULT_TTL_POLICY = "persistent"
_EMPTY: tuple[Value, ...] = ("", [])
_ABSENT = None
_NEVER_RECORDED = object()


def render_entry(entry: Entry) -> bytes:
    """The bytes of the entry's file."""
    return render(entry_fields(entry), entry.content, entry.extra)


def entry_fields(entry: Entry) -> list[tuple[str, Value]]:
    """The entry's front matter in its stable order, without what is empty or the default."""
    # An expiry that only follows from the policy was authored by nobody.
    expires = None if entry.expires_by_default else entry.expires
    fields: list[tuple[str, Value | None]] = [
        ("id", entry.id),
        ("title", entry.title),
        ("status", entry.written_status),
        ("provenance", list(entry.provenances)),
        ("tags", list(entry.tags)),
        ("aliases", list(entry.aliases)),
        ("scope", None if entry.scope == ROOT_SCOPE else entry.scope),
        ("merge_key", entry.merge_key),
        ("claim_id", entry.claim_id),
        ("source", entry.source),
        ("ttl_policy", None if entry.ttl_policy == _DEFAULT_TTL_POLICY else entry.ttl_policy),
        ("expires_ts", None if expires is None else format_time(expires)),
        ("confidence", _confidence(entry.confidence)),
        ("supersedes", list(entry.supersedes)),
        ("author", entry.author),
        ("contributors", list(entry.contributors)),
        ("created_at", format_time(entry.created)),
        ("updated_at", format_time(entry.updated)),
    ]
    return [(key, value) for key, value in fields if value is not None and value not in _EMPTY]


def _confidence(decimal: str | None) -> Value | None:
    # A ledger may hold any text here; only a decimal is a number.
    return float(decimal) if decimal and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,20})?", decimal) else decimal


class Recorded(NamedTuple):
    """What an entry's file may ever have said: each key's values, absence included, and the bodies."""

    values: dict[str, set[Hashable]]
    bodies: set[str]
    extras: set[str]  # front matter of people's own


def recorded_values(versions: Iterable[Entry]) -> Recorded:
    """Gathers every state the entry ever had somewhere, the present one included.

    Somewhere means on any branch: for each of the entry's events, the fold of that event and its ancestors. The folds
    of the events in their order are not enough, since two branches never saw each other's contributors.
    """
    recorded = Recorded({key: set() for key in KEYS}, set(), set())
    for version in versions:
        fields = dict(entry_fields(version))
        for key in KEYS:
            recorded.values[key].add(_comparable(fields.get(key)))
        recorded.bodies.add(tidy(version.content))
        recorded.extras.add(version.extra)
    return recorded


def _comparable(value: Any) -> Hashable:
    """A value as it is compared: an emptied property is an absent one, and true is not the number 1."""
    if value is None or value in _EMPTY:
        return _ABSENT
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return value
    return _NEVER_RECORDED


def classify(data: bytes | None, entry: Entry, recorded: Callable[[], Recorded]) -> State:
    """What the entry's file is, given its bytes; `recorded` is asked only when they differ from the rendering.

    - same: what we would write; line ends do not count
    - stale: every part of it was recorded at some time, so rewriting loses nothing
    - edited: it holds something that no event recorded
    - diverged: the entry has several head versions and git merged their files somehow; no one's edit
    - conflicted: conflict markers around something that no event recorded
    - missing, damaged: there is no file, or none that can be read
    """
    if data is None:
        return "missing"
    if _is_same(data, entry):
        return "same"
    try:
        fields, body = parse(data)
        extra = unknown_lines(data, KEYS)
    except Damaged as damage:
        return _classify_conflict(data, entry, recorded()) if damage.code == "conflict-markers" else "damaged"
    if entry.diverged:
        return "diverged"
    known = recorded()
    return "stale" if extra in known.extras and _is_recorded(fields, body, known) else "edited"


def adds_nothing(data: bytes, entry: Entry, recorded: Recorded) -> bool:
    """Whether every part of a file was recorded, in whatever order git may have joined the parts."""
    return (
        _adds_nothing(data, entry, recorded)
        or _is_pieced_together(data, recorded)
        or _sides_add_nothing(data, entry, recorded)
    )


def _classify_conflict(data: bytes, entry: Entry, recorded: Recorded) -> State:
    # The markers may be the entry's own text, as in an older version of a page about merging.
    about_markers = _adds_nothing(data, entry, recorded)
    if about_markers or _sides_add_nothing(data, entry, recorded):
        return "diverged" if entry.diverged else "stale"
    return "conflicted"


def _sides_add_nothing(data: bytes, entry: Entry, recorded: Recorded) -> bool:
    sides = conflict_sides(data)
    return sides is not None and all(
        _adds_nothing(side, entry, recorded) or _is_pieced_together(side, recorded) for side in sides
    )


def _adds_nothing(data: bytes, entry: Entry, recorded: Recorded) -> bool:
    try:
        if _is_same(data, entry):
            return True
        extra = unknown_lines(data, KEYS, markers_are_text=True)
        return extra in recorded.extras and _is_recorded(*parse(data, markers_are_text=True), recorded)
    except Damaged:
        return False


def _is_pieced_together(data: bytes, recorded: Recorded) -> bool:
    """Whether git joined paragraphs of several versions: every line of the body was recorded."""
    try:
        fields, body = parse(data, markers_are_text=True)
        if unknown_lines(data, KEYS, markers_are_text=True) not in recorded.extras:
            return False
    except Damaged:
        return False
    lines = {line for known in recorded.bodies for line in known.split("\n")}
    return _are_recorded(fields, recorded) and all(line in lines for line in body.split("\n"))


def _is_same(data: bytes, entry: Entry) -> bool:
    return data.replace(b"\r\n", b"\n") == render_entry(entry)


def _is_recorded(fields: dict[str, Any], body: str, recorded: Recorded) -> bool:
    return body in recorded.bodies and _are_recorded(fields, recorded)


def _are_recorded(fields: dict[str, Any], recorded: Recorded) -> bool:
    return all(_comparable(fields.get(key)) in values for key, values in recorded.values.items())
