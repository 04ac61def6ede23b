"""Texts from people and agents: one recorded form, nothing that acts on a terminal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.text import (
    check_content,
    check_label,
    check_reason,
    check_tags,
    check_title,
    same_name,
    tidy,
    visible,
)
from decapod_py.foundation.errors import DecapodError


@pytest.mark.parametrize("check", [check_title, check_content, check_reason, lambda text: check_label(text, "tag")])
@given(text=st.text())
def test_any_text_has_one_recorded_form_or_is_refused(check: Callable[[str], str], text: str) -> None:
    try:
        recorded = check(text)
    except DecapodError as refusal:
        assert refusal.code in ("no-title", "bad-text", "too-long", "empty")
    else:
        assert check(recorded) == recorded
        assert "\r" not in recorded
        recorded.encode()


@given(st.text())
def test_what_is_made_visible_acts_on_no_terminal(text: str) -> None:
    shown = visible(text)

    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in shown)
    shown.encode()


def test_a_body_has_lf_line_ends_and_no_blank_lines_around() -> None:
    assert tidy(" \n\r\n  one\r\ntwo\rthree \n\n") == "  one\ntwo\nthree"


def test_a_title_is_one_line_of_composed_letters() -> None:
    assert check_title("  A\n title\tof  cafe\u0301 ") == "A title of café"


def test_tags_are_kept_once_in_the_order_and_case_first_given() -> None:
    assert check_tags(["B", " a ", "b", "A"]) == ["B", "a"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ada", "ADA", True),
        ("Ada  Lovelace", " ada lovelace ", True),
        ("Straße", "STRASSE", True),
        ("Ada", "\uff21da", True),
        ("Jose\u0301", "José", True),
        ("Ada", "A\u200bda\u2060", True),
        ("Ada", "Bea", False),
    ],
)
def test_two_spellings_of_a_name_are_one_person(one: str, other: str, same: bool) -> None:
    assert same_name(one, other) == same
