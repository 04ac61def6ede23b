"""Times: RFC 3339 or epoch seconds with one Z in, RFC 3339 out, milliseconds inside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.foundation.clock import DAY, format_time, parse_duration, parse_moment, parse_time
from decapod_py.foundation.errors import Misused

NOON = 1_772_366_400_000
MOMENTS = st.integers(0, 253_402_300_799_999)


@given(MOMENTS)
def test_a_time_reads_back_as_it_was_written(milliseconds: int) -> None:
    assert parse_time(format_time(milliseconds)) == milliseconds


@given(MOMENTS)
def test_epoch_seconds_with_z_are_a_time(milliseconds: int) -> None:
    assert parse_time(f"{milliseconds // 1000}Z") == milliseconds // 1000 * 1000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("2026-03-01T12:00:00Z", NOON),
        ("2026-03-01t12:00:00z", NOON),
        ("2026-03-01 12:00:00Z", NOON),
        ("2026-03-01T12:00Z", NOON),
        ("2026-03-01T13:30:00+01:30", NOON),
        ("2026-03-01T12:00:00.1Z", NOON + 100),
        ("2026-03-01T12:00:00.123456789Z", NOON + 123),
        ("2026-03-01", NOON - DAY // 2),
        (" 1772366400Z ", NOON),
        ("0Z", 0),
    ],
)
def test_every_documented_form_of_a_time_is_read(text: str, milliseconds: int) -> None:
    assert parse_time(text) == milliseconds


@pytest.mark.parametrize(
    "text",
    [
        "123ZZ",
        "123",
        "Z",
        "",
        "-1Z",
        "1.5Z",
        "١٢٣Z",
        "9999999999999Z",
        "999999999999Z",
        "2026-02-30",
        "2026-03-01T12:00:00",
        "2026-03-01T12:00:60Z",
        "2026-03-01T12:00:00+24:00",
        "2026-3-1",
        "1969-12-31T23:59:59Z",
        "0001-01-01T00:00:00+23:59",
        "0000-01-01",
        "9999-12-31T23:59:59-00:01",
        "2026-02-30T12:00:00.000Z",
        "2026-03-01T24:00:00.000Z",
        "2026-03-01T12:60:00.000Z",
        "2026-03-01T12:00:60.000Z",
        "2026-03-01T12:00:00.00-Z",
        "2026-03-01T12:00:00.٠٠٠Z",
        "1969-12-31T23:59:59.999Z",
        "yesterday",
        "2026-03-01T12:00:00Z\n2026",
    ],
)
def test_what_is_no_time_is_misuse(text: str) -> None:
    with pytest.raises(Misused) as refused:
        parse_time(text)
    assert refused.value.code == "bad-time"


@given(st.text())
def test_any_text_is_a_time_or_misuse(text: str) -> None:
    for read in (parse_time, parse_duration, lambda given: parse_moment(given, NOON)):
        try:
            milliseconds = read(text)
        except Misused:
            continue
        assert milliseconds >= 0


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("45s", 45_000), ("90m", 5_400_000), ("12h", DAY // 2), ("30d", 30 * DAY), (" 2w ", 14 * DAY), ("0d", 0)],
)
def test_a_duration_is_a_number_and_a_unit(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds
    assert parse_moment(text, NOON) == NOON + milliseconds


@pytest.mark.parametrize("text", ["d", "1", "1y", "-1d", "1.5d", "1 d", "9999999d", "999999w", "٣d"])
def test_what_is_no_duration_is_misuse(text: str) -> None:
    with pytest.raises(Misused) as refused:
        parse_duration(text)
    assert refused.value.code == "bad-duration"


def test_a_moment_is_a_time_or_a_duration_from_now() -> None:
    assert parse_moment("2026-03-01", NOON) == parse_time("2026-03-01")
