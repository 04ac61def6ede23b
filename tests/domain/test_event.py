"""An event on its line: what a line proves by itself, and that no altered byte goes unnoticed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decapod_py.domain.event import BadLine, Event, NewerFormat, from_line, seal, text_of, to_line
from decapod_py.foundation.canonical import canonical, digest
from decapod_py.foundation.ids import ulid

EVENT_ID = ulid(1_772_366_400_000, b"0123456789")
COMMON: Event = {
    "v": 1,
    "event_id": EVENT_ID,
    "ts": "2026-03-01T12:00:00.000Z",
    "type": "entry.added",
    "ledger": "knowledge.events",
    "actor": "Ada",
    "prev": ["ab" * 32],
}
EVENT = seal({**COMMON, "entry_id": "x", "count": 3}, {"title": "Größe — 大きさ", "content": "one\ntwo"}, "00ff")
LINE = to_line(EVENT)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def problem_of(line: bytes) -> str:
    with pytest.raises(BadLine) as refused:
        from_line(line)
    return refused.value.code


def resealed(**fields: Any) -> bytes:
    """A line that an altered program would write: its hash is right."""
    event = {name: value for name, value in {**EVENT, **fields}.items() if name not in ("hash", "text", "sig")}
    event["hash"] = digest(event)
    return to_line({**event, "text": EVENT["text"]})


def test_a_line_reads_back_as_the_event_it_was_written_from() -> None:
    assert from_line(LINE) == EVENT


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), VALUES, max_size=4),
    st.dictionaries(st.sampled_from(("title", "content", "reason", "x")), TEXTS, max_size=3),
    st.integers(0, 100),
)
def test_any_fields_and_texts_read_back_as_they_were_sealed(
    fields: dict[str, Any], text: dict[str, str], shift: int
) -> None:
    own = {name: value for name, value in fields.items() if name not in ("hash", "text", "sig")}

    event = seal({**own, **COMMON}, text, "salt", shift)

    assert from_line(to_line(event)) == event
    assert {name: text_of(event, name) for name in text} == text


@settings(max_examples=300)
@given(st.integers(0, len(LINE) - 2), st.integers(1, 255))
def test_an_altered_byte_is_refused(place: int, by: int) -> None:
    altered = bytearray(LINE)
    altered[place] ^= by

    with pytest.raises(BadLine):
        from_line(bytes(altered))


@given(st.integers(0, len(LINE) - 2), st.binary(min_size=1, max_size=3))
def test_an_inserted_byte_is_refused_unless_it_is_a_line_end_at_the_end(place: int, inserted: bytes) -> None:
    with pytest.raises(BadLine):
        from_line(LINE[:place] + inserted + LINE[place:])


@given(st.integers(0, len(LINE) - 2))
def test_a_torn_line_is_no_json(length: int) -> None:
    assert problem_of(LINE[:length]) == "not-json"


def test_a_line_without_its_line_end_or_with_a_windows_one_counts() -> None:
    assert from_line(LINE[:-1]) == from_line(LINE[:-1] + b"\r\n") == EVENT


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"\xef\xbb\xbf" + LINE, "not-json"),
        (LINE.decode().encode("utf-16"), "not-json"),
        (b"\n", "not-json"),
        (b"\0" * 40, "not-json"),
        (b"null\n", "not-json"),
        (b"[]\n", "not-json"),
        (b'"text"\n', "not-json"),
        (b"{}\n", "bad-field"),
        (b"[" * 200_000, "not-json"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "not-json"),
        (b"9" * 10_000, "not-json"),
        (LINE.replace(b'"count":3', b'"count":3.0'), "not-json"),
        (LINE.replace(b'"count":3', b'"count":1e3'), "not-json"),
        (LINE.replace(b'"count":3', b'"count":NaN'), "not-json"),
        (LINE.replace(b'"count":3', b'"count":-Infinity'), "not-json"),
        (LINE.replace(b'"count":3', b'"count":3,"count":3'), "not-canonical"),
        (LINE.replace(b'"count":3', b'"count": 3'), "not-canonical"),
        (LINE.replace(b'"actor":"Ada"', b'"actor":"\\u0041da"'), "not-canonical"),
        (LINE.replace(b'"actor":"Ada"', b'"actor":"\\ud800"'), "not-canonical"),
        (LINE.replace(b'"actor":"Ada"', b'"actor":"\xed\xa0\x80"'), "not-canonical"),
        (LINE.replace(b'"actor":"Ada"', b'"actor":"\xff"'), "not-json"),
        (LINE.replace(b'"actor":"Ada"', b'"actor":"Eve"'), "hash-mismatch"),
        (LINE.replace(b'"count":3', b'"count":4'), "hash-mismatch"),
        (LINE.replace(b"one\\ntwo", b"one\\nTWO"), "text-mismatch"),
        (LINE.replace(b'"salt":"00ff"', b'"salt":"00fe"'), "text-mismatch"),
        (b" " + LINE, "not-canonical"),
    ],
)
def test_a_line_that_is_not_exactly_an_event_says_why(line: bytes, code: str) -> None:
    assert problem_of(line) == code


@pytest.mark.parametrize(
    "fields",
    [
        {"v": True},
        {"v": 0},
        {"v": "1"},
        {"v": None},
        {"event_id": "x"},
        {"event_id": EVENT_ID.lower()},
        {"event_id": "8" + EVENT_ID[1:]},
        {"event_id": "7" + "Z" * 25},
        {"event_id": 5},
        {"actor": None},
        {"ts": 5},
        {"type": []},
        {"ledger": {}},
        {"prev": "ab"},
        {"prev": [1]},
        {"prev": None},
        {"text_sha256": None},
    ],
)
def test_a_well_hashed_line_with_a_wrong_common_field_is_refused(fields: dict[str, Any]) -> None:
    assert problem_of(resealed(**fields)) == "bad-field"


@pytest.mark.parametrize("text", [None, "text", 5, True, ["title"]])
def test_a_text_that_is_no_object_is_refused_even_when_its_digest_is_right(text: Any) -> None:
    event = {**COMMON, "text_sha256": digest(text)}

    assert problem_of(to_line({**event, "hash": digest(event), "text": text})) == "bad-field"


def test_a_redacted_line_still_proves_everything_but_its_text() -> None:
    redacted = {name: value for name, value in EVENT.items() if name != "text"}

    assert from_line(to_line(redacted)) == redacted
    assert text_of(redacted, "title") is None


def test_a_text_of_another_type_is_no_text() -> None:
    assert text_of({"text": {"title": 5}}, "title") is None


def test_an_event_of_a_newer_format_says_which_is_needed() -> None:
    with pytest.raises(NewerFormat) as refused:
        from_line(resealed(v=2))

    assert (refused.value.code, refused.value.version) == ("newer-format", 2)
    assert refused.value.message == "the event has format 2; this program reads up to 1"


def test_two_seals_of_one_text_differ_by_their_salt() -> None:
    one, other = (seal(COMMON, {"title": "secret"}, salt) for salt in ("00", "01"))

    assert one["text_sha256"] != other["text_sha256"]


@given(VALUES)
def test_one_value_has_one_canonical_form(value: Any) -> None:
    assert canonical(json.loads(canonical(value))) == canonical(value)
