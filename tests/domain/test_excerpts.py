from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.excerpts import beginning

TEXT = "First one. Second one goes on.\n\nA third paragraph, and more of it\n- an item\n- another item"


@pytest.mark.parametrize(
    ("most", "kept"),
    [
        (1_000, TEXT),
        (len(TEXT), TEXT),
        (len(TEXT) - 1, "First one. Second one goes on.\n\nA third paragraph, and more of it\n- an item"),
        (45, "First one. Second one goes on."),
        (30, "First one. Second one goes on."),
        (29, "First one."),
        (10, "First one."),
        (9, "First"),
        (1, "F"),
        (0, ""),
    ],
)
def test_a_text_is_cut_at_the_last_paragraph_or_sentence_that_ends_in_time(most: int, kept: str) -> None:
    assert beginning(TEXT, most) == kept


def test_where_no_sentence_ends_whole_words_are_kept_and_else_characters() -> None:
    assert beginning("walrus " * 10, 19) == "walrus walrus"
    assert beginning("walrus" * 10, 20) == "walruswalruswalruswa"
    assert beginning("海象很大。它们住在北方。", 8) == "海象很大。"


@given(st.text(alphabet="ab .!?\n-。'\t"), st.integers(min_value=0, max_value=40))
def test_the_beginning_is_one_and_never_longer_than_asked(text: str, most: int) -> None:
    kept = beginning(text, most)

    assert text.startswith(kept)
    assert len(kept) <= most
    assert kept or not text.strip() or not most or not text[:most].strip()
