from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.words import (
    MAX_TERMS,
    Term,
    likeness,
    parse,
    searchable,
    shingles,
    sketch,
    snippet,
    tag_key,
    tags_key,
    title_key,
)


def labels(query: str) -> list[str]:
    return [term.label for term in parse(query)]


def test_a_question_is_its_words_without_stop_words():
    assert labels("How often do we retry a failed request?") == ["often", "retry", "failed", "request"]


def test_a_contraction_is_one_stop_word_and_not_two_words():
    assert labels("what's new: deploy, don't wait") == ["new", "deploy", "wait"]


def test_stop_words_count_when_there_is_nothing_else():
    assert labels("To be or not to be") == ["to", "be", "or", "not"]


@pytest.mark.parametrize("query", ["", "   ", '"', '""', "***", "()", ":-) %", "🦀", "\0"])
def test_a_query_without_words_asks_for_nothing(query: str):
    assert parse(query) == []


def test_a_quoted_phrase_keeps_its_stop_words_and_is_not_taken_apart():
    assert parse('"out of memory"') == [Term("out of memory", ("out", "of", "memory"))]


def test_curly_quotes_are_quotes():
    assert parse("“retry limit”") == [Term("retry limit", ("retry", "limit"))]


def test_an_open_quote_is_a_blank():
    assert labels('deploy "open quote') == ["deploy", "open", "quote"]


def test_a_star_asks_for_a_beginning_of_at_least_two_letters():
    assert parse("Retr*, x*") == [Term("retr*", ("retr",), True), Term("x", ("x",))]


@pytest.mark.parametrize("compound", ["max_retry_count", "max.retry.count", "max-retry-count", "max/retry:count"])
def test_a_compound_is_a_phrase_and_its_parts(compound: str):
    assert parse(compound) == [
        Term(compound, ("max", "retry", "count")),
        Term("max", ("max",)),
        Term("retry", ("retry",)),
        Term("count", ("count",)),
    ]


def test_operators_of_the_index_are_ordinary_words():
    assert labels("cats AND NOT near(dogs)") == ["cats", "near(dogs", "near", "dogs"]


def test_a_run_of_ideographs_is_a_phrase_and_its_pairs():
    assert labels("数据库") == ["数据库", "数据", "据库"]


def test_letters_next_to_ideographs_are_words_of_their_own():
    assert searchable("用Python写") == " 用 Python 写 "
    assert labels("用Python写") == ["用", "python", "写"]


def test_full_width_letters_and_split_accents_are_plain_ones():
    assert labels("ＲＥＴＲＹ cafe\u0301") == ["retry", "café"]


def test_ascii_text_is_indexed_as_it_is():
    assert searchable("Retries stop at 3.\n") == "Retries stop at 3.\n"


def test_of_a_pasted_page_the_longest_words_are_looked_for():
    page = " ".join(f"w{number}" for number in range(2_000)) + " idempotency"
    terms = parse(page)
    assert len(terms) == MAX_TERMS
    assert terms[-1].label == "idempotency"


@given(st.text(st.characters(), max_size=200))
def test_any_text_is_a_query(text: str):
    for term in parse(text):
        assert term.words
        assert '"' not in "".join(term.words)


def test_titles_that_differ_in_case_and_blanks_have_one_key():
    assert title_key("  Retries\tSTOP at 3 ") == title_key("retries stop at 3")


def test_a_tag_is_found_whole_whatever_its_case():
    key = tags_key(("Ops, on call", "Überblick"))
    assert tag_key("ops, ON call") in key
    assert tag_key("überblick") in key
    assert tag_key("ops") not in key
    assert tags_key(()) == ""


def test_alike_texts_share_most_shingles_and_a_value_of_their_sketches():
    one = shingles("Requests to the billing service are retried three times with exponential backoff before they fail")
    other = shingles("Requests to the billing service are retried four times with exponential backoff before they fail")
    assert 0.6 <= likeness(one, other) < 1
    assert set(sketch(one)) & set(sketch(other))


def test_texts_without_words_are_not_alike():
    assert likeness(shingles("..."), shingles("!!!")) == 0.0


def test_a_one_word_text_is_like_itself():
    assert likeness(shingles("retry"), shingles("Retry!")) == 1.0


LONG = "Nothing of interest here, just filler text. " * 20


def test_a_short_text_is_its_own_snippet_on_one_line():
    assert snippet("Retries\n\n  stop at\t3\0", ["retries"]) == "Retries stop at 3"


def test_a_snippet_shows_the_passage_with_most_terms():
    text = f"{LONG} A retry here. {LONG} Retries stop at the configured limit. {LONG}"
    shown = snippet(text, ["retry", "limits"])
    assert "Retries stop at the configured limit." in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 200


@pytest.mark.parametrize(
    ("term", "written"),
    [
        ("running", "They run daily"),
        ("retries", "we retry it"),
        ("retr*", "we retried it"),
        ("cafe", "the café opens"),
        ("retry", "set max_retry_count now"),
        ("数据库", "主数据库连接"),
        ("สวัสดี", "คำว่าสวัสดีครับ"),
        ("Ошибка", "случилась ошибка тут"),
        ("python", "用Python写"),
    ],
)
def test_a_snippet_finds_other_forms_of_a_term(term: str, written: str):
    assert written in snippet(f"{LONG}{written} {LONG}", [term])


def test_a_snippet_without_a_match_is_the_beginning():
    assert snippet(LONG, ["absent"], 60) == "Nothing of interest here, just filler text. Nothing of…"


@given(st.text(max_size=300), st.lists(st.text(max_size=12), max_size=4), st.integers(0, 250))
def test_a_snippet_is_one_line_and_never_longer_than_the_width(content: str, terms: list[str], width: int):
    shown = snippet(content, terms, width)
    assert len(shown) <= width
    assert len(shown.splitlines()) <= 1
