"""ULIDs: they sort by time, carry 80 fresh bits, and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from decapod_py.foundation.ids import is_ulid, milliseconds_of, ulid, ulid_of

TIMES = st.integers(0, 2**48 - 1)


@given(TIMES, st.binary(min_size=10, max_size=10))
def test_an_id_is_the_one_python_ulid_would_make(milliseconds: int, randomness: bytes) -> None:
    made = ulid(milliseconds, randomness)

    assert made == str(ULID(milliseconds.to_bytes(6, "big") + randomness))
    assert is_ulid(made)
    assert milliseconds_of(made) == milliseconds


@given(TIMES, TIMES)
def test_ids_sort_by_time(one: int, other: int) -> None:
    if one != other:
        assert (ulid(one) < ulid(other)) == (one < other)


def test_two_ids_of_one_millisecond_differ() -> None:
    assert len({ulid(5) for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    "text", ["", "0" * 25, "0" * 27, "8" + "0" * 25, "I" + "0" * 25, "0" * 25 + "l", "0" * 25 + "U"]
)
def test_what_is_no_id_is_told(text: str) -> None:
    assert not is_ulid(text)


def test_one_text_has_one_id_everywhere() -> None:
    assert ulid_of("docs/adr/0001-x.md") == ulid_of("docs/adr/0001-x.md") == "7J88RKTR4F7FMZTCCSZ25WQMNN"
    assert is_ulid(ulid_of("")) and ulid_of("a") != ulid_of("b")
