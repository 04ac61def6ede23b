"""Search over entries in memory: the same queries, filters and factors as over the database."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import NOON
from support import an_entry as entry

from decapod_py.domain.entry import Entry
from decapod_py.foundation.clock import DAY
from decapod_py.views import past_search
from decapod_py.views.search import Filters, SearchOutcome, feedback_factor


def find(entries: list[Entry], query: str, limit: int = 10, rank: str = "relevance", **wanted: object) -> list[str]:
    outcome = past_search.search(entries, query, now=NOON, filters=Filters(**wanted), rank=rank, limit=limit)
    return [hit.id for hit in outcome.hits]


def test_no_entries_give_no_hits():
    assert past_search.search([], "retry", now=NOON) == SearchOutcome([], 0, ())
    assert past_search.search([entry("one", "Retry")], "", now=NOON) == SearchOutcome([], 0, ())
    assert past_search.search([entry("empty")], "retry", now=NOON) == SearchOutcome([], 0, ())


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_a_word_of_every_entry_is_found_and_scores(count: int):
    entries = [entry(f"{number}", "Retry", "words") for number in range(count)]
    outcome = past_search.search(entries, "retry", now=NOON)
    assert [hit.id for hit in outcome.hits] == [f"{number}" for number in range(count)]
    assert all(hit.score > 0 for hit in outcome.hits)
    assert outcome.terms == ("retry",)


def test_words_are_stemmed_as_in_the_index():
    entries = [entry("one", content="Failed requests are retried"), entry("two", content="une requête échouée")]
    assert find(entries, "retries") == ["one"]
    assert find(entries, "requete") == ["two"]


def test_a_rare_word_counts_more_and_a_title_more_than_a_text():
    entries = [
        entry("text", "Plain", "a timeout"),
        entry("title", "Timeout", "plain"),
        entry("other", "Plain", "plain"),
    ]
    assert find(entries, "timeout") == ["title", "text"]
    assert find(entries, "plain timeout")[0] in ("title", "text")


def test_phrases_prefixes_and_compounds_are_understood():
    entries = [entry("a", content="set max_retry_count to 3"), entry("b", content="count to the max, then retry")]
    assert find(entries, '"max retry"') == ["a"]
    assert find(entries, "max_retry_count") == ["a", "b"]
    assert find(entries, "cou*") == ["a", "b"]
    assert find(entries, '"retry limit"') == []
    assert find([entry("one", content="the University")], "universit*") == ["one"]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("主数据库连接超时", "数据库"),
        ("我的猫很可爱", "猫"),
        ("用Python写", "python"),
        ("การเชื่อมต่อหมดเวลา", "เชื่อมต่อ"),
        ("Ошибка подключения", "ошибка"),
        ("데이터베이스에 연결", "데이터베이스"),
    ],
)
def test_every_script_is_found(written: str, asked: str):
    entries = [entry("one", written), entry("other", "其他 อื่น else 기타")]
    assert find(entries, asked) == ["one"]
    assert find(entries, f'"{asked}"') == ["one"]


def test_filters_come_before_the_limit():
    entries = [
        entry("a", "Retry retry", scope="x"),
        entry("b", "Retry", tags=("On call, nights",), created=NOON - 5 * DAY),
        entry("c", "Retry", expires=NOON),
        entry("d", "Retry", status="stale"),
        entry("e", "Retry", status="deleted"),
    ]
    assert find(entries, "retry", limit=1, scope="root") == ["b"]
    assert find(entries, "retry", tags=("on CALL, nights",)) == ["b"]
    assert find(entries, "retry", tags=("on call",)) == []
    assert find(entries, "retry", window_days=4) == ["a"]
    assert find(entries, "retry", status="stale") == ["c", "d"]
    assert sorted(find(entries, "retry", status="any")) == ["a", "b", "c", "d"]
    assert find(entries, "retry", status="deleted") == []


def test_feedback_and_age_weigh_as_in_the_index():
    entries = [entry("a", "Retry", created=NOON - DAY), entry("b", "Retry"), entry("c", "Other")]
    feedback = {"a": {"helped": 4, "hurt": 1}}
    first, second = past_search.search(entries, "retry", now=NOON, feedback=feedback, explain=True).hits
    assert (first.id, first.number, first.feedback, first.recency) == ("a", 0, feedback_factor(4, 1), 0.5)
    assert (second.id, second.feedback, second.matched) == ("b", 1.0, ("retry",))
    assert first.relevance == second.relevance
    assert find(entries, "retry", rank="recency_decay") == ["b", "a"]


def test_the_total_counts_what_the_limit_leaves_out():
    entries = [entry(f"{number:02}", "Retry") for number in range(30)]
    outcome = past_search.search(entries, "retry", now=NOON, limit=4)
    assert ([hit.id for hit in outcome.hits], outcome.total) == (["00", "01", "02", "03"], 30)


@settings(deadline=None, max_examples=150)
@given(st.text(st.one_of(st.characters(), st.sampled_from("\"*()^:-+{} ANDORNT'猫ก")), max_size=60))
def test_no_query_ever_fails(query: str):
    past_search.search([entry("one", "Retries stop", "at the AND or 猫 ก limit"), entry("two")], query, now=NOON)
