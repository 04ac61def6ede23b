"""What an anchor keeps of a cited text, and how texts are compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.anchors import Anchor, Cited, anchor_from, cited_text, comparable, digest_of, split_lines


@pytest.mark.parametrize(
    "text",
    [
        "if a:\n    b()\n",
        "if a:\r\n    b()\r\n",
        "  if a:  \n\n      b()\t",
        "\tif a:\n\t    b()",
        "\n\nif a:\n    b()",
    ],
)
def test_line_ends_blanks_empty_lines_and_common_indentation_do_not_count(text):
    assert comparable(text) == ["if a:", "    b()"]
    assert digest_of(text) == digest_of("if a:\n    b()")


def test_relative_indentation_and_inner_blanks_count():
    assert len({digest_of(text) for text in ("if a:\n    b()", "if a:\nb()", "if a:\n  b()", "if  a:\n    b()")}) == 4


def test_tabs_and_blanks_have_no_common_indentation():
    assert comparable("\ta\n    b") == ["\ta", "    b"]


def test_a_form_feed_or_a_unicode_separator_ends_no_line():
    assert split_lines("a\x0cb\u2028c\rd\n\n") == ["a\x0cb\u2028c", "d", ""]


def test_the_lines_around_a_citation_are_kept_without_empty_ones():
    lines = ["a", "", "b", "c", "d  ", "", "cited", "", "e", "f", "", "g", "h"]
    assert cited_text(lines, 7, 7) == Cited("cited", "b\nc\nd", "e\nf\ng")
    assert cited_text(lines, 1, 13)[1:] == ("", "")


def test_of_long_lines_before_a_citation_the_nearest_ones_are_kept():
    lines = ["a" * 300, "b" * 300, "near", "cited", "after", "c" * 500]
    assert cited_text(lines, 4, 4) == Cited("cited", "b" * 300 + "\nnear", "after")
    assert cited_text(["x" * 1_000, "cited"], 2, 2).before == "x" * 400


def test_a_long_text_is_kept_in_part():
    lines = [f"line {number}" for number in range(1_000)]
    assert cited_text(lines, 1, 1_000).head == "\n".join(lines[:80])
    assert cited_text(["y" * 3_000] * 3, 1, 3).head == "y" * 3_000
    assert cited_text(["z" * 9_000], 1, 1).head == "z" * 4_000


@given(st.text(st.sampled_from("ab \t\n\r")))
def test_what_is_comparable_stays_as_it_is(text):
    lines = comparable(text)
    assert comparable("\n".join(lines)) == lines
    assert digest_of("\n".join(f"  {line}" for line in lines)) == digest_of(text)


@pytest.mark.parametrize("name", ["--output=a", "HEAD", "a" * 39, "A" * 40, "a" * 40 + "\n", 7])
def test_what_is_no_name_of_an_object_is_never_asked_of_git(name):
    fields = {"path": "a.py", "digest": "d", "first": 1, "last": 2, "lines": 2, "blob": name, "commit": name}
    assert anchor_from(fields) == Anchor("a.py", 1, 2, None, None, None, "d", 2)
    whole = {**fields, "blob": "a" * 40, "commit": "b" * 64}
    assert anchor_from(whole) == Anchor("a.py", 1, 2, None, "a" * 40, "b" * 64, "d", 2)
