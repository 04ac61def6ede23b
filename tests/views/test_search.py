"""Search over a real database file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import NOON
from support import an_entry as entry

from decapod_py.domain.entry import Entry
from decapod_py.domain.words import parse, title_key
from decapod_py.foundation.clock import DAY
from decapod_py.storage.database import copy_to_memory, open_database
from decapod_py.views import search
from decapod_py.views.search import Alike, Filters, Hit, SearchOutcome
from decapod_py.views.state import COLUMNS, row_from_entry


def store(connection: sqlite3.Connection, number: int, stored: Entry) -> None:
    connection.execute("DELETE FROM entries WHERE number = ?", (number,))
    marks = ", ".join("?" * (3 + len(Entry._fields)))
    connection.execute(
        f"INSERT INTO entries (number, title_key, digest, {COLUMNS}) VALUES ({marks})",
        (number, title_key(stored.title), b"", *row_from_entry(stored)),
    )


def fill(connection: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    numbered = list(enumerate(entries, 1))
    connection.execute("BEGIN")
    for number, one in numbered:
        store(connection, number, one)
    search.index_many(connection, [(number, search.indexed(one)) for number, one in numbered])
    connection.execute("COMMIT")


def find(
    connection: sqlite3.Connection, query: str, limit: int = 10, rank: str = "relevance", **wanted: object
) -> list[str]:
    outcome = search.search(connection, query, now=NOON, filters=Filters(**wanted), rank=rank, limit=limit)
    return [hit.id for hit in outcome.hits]


@pytest.fixture
def database(tmp_path: Path) -> Iterable[sqlite3.Connection]:
    connection = open_database(os.fspath(tmp_path / "knowledge.db"), search.DDL)
    yield connection
    connection.close()


def test_a_question_finds_the_entry_that_shares_its_rare_words(database):
    fill(
        database,
        [
            entry("retry", "Retries stop at 3", "Failed requests are retried with exponential backoff."),
            entry("deploy", "Deploys happen on Tuesday", "We do not deploy on a Friday, and why is a long story."),
            entry("colour", "Buttons are blue", "How they look is decided by the design group."),
        ],
    )
    assert find(database, "How often do we retry a failing request before we give up?") == ["retry"]


def test_a_title_counts_more_than_a_tag_and_a_tag_more_than_the_text(database):
    filler = [entry(f"other{number}", "Nothing", "of interest at all") for number in range(5)]
    fill(
        database,
        [
            entry("text", "Plain words", "the timeout is long"),
            entry("tag", "Plain words", "something is long", ("timeout",)),
            entry("title", "Timeout words", "something is long"),
            *filler,
        ],
    )
    assert find(database, "timeout") == ["title", "tag", "text"]


def test_a_phrase_finds_its_words_in_that_order_only(database):
    fill(database, [entry("right", content="the retry limit is 3"), entry("wrong", content="limit the retry count")])
    assert find(database, '"retry limit"') == ["right"]


def test_a_prefix_finds_words_that_were_stemmed_to_less(database):
    fill(database, [entry("one", content="the University of Uppsala"), entry("two", content="a configuration file")])
    assert find(database, "universit*") == ["one"]
    assert find(database, "configurat*") == ["two"]
    assert find(database, "con*") == ["two"]


def test_a_compound_is_found_by_its_parts_and_ranks_first_as_a_whole(database):
    fill(
        database,
        [
            entry("a", content="count each retry up to the max we have"),
            entry("b", content="set max_retry_count to three in this file"),
            entry("c", content="nothing else"),
            entry("d", content="nothing at all"),
            entry("e", content="nothing more"),
        ],
    )
    assert find(database, "max_retry_count") == ["b", "a"]
    assert find(database, "max.retry.count") == ["b", "a"]
    assert find(database, "retry") == ["a", "b"]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("主数据库连接超时后重试三次", "数据库"),
        ("小猫", "猫"),
        ("我的猫很可爱", "猫"),
        ("用Python写的脚本", "python"),
        ("用Python写的脚本", "脚本"),
        ("接続がタイムアウトしました", "タイムアウト"),
        ("接続がﾀｲﾑｱｳﾄしました", "タイムアウト"),
        ("การเชื่อมต่อหมดเวลา", "เชื่อมต่อ"),
        ("ການເຊື່ອມຕໍ່", "ເຊື່ອມຕໍ່"),
        ("ការតភ្ជាប់អស់ពេល", "តភ្ជាប់"),
        ("ချိတ်ဆက်မှု", "ချိတ်ဆက်"),
        ("데이터베이스에 연결할 수 없습니다", "데이터베이스"),
        ("डेटाबेस कनेक्शन", "कनेक्शन"),
        ("Ошибка подключения к базе", "ошибка"),
        ("Σφάλμα σύνδεσης", "ΣΦΆΛΜΑ"),
        ("une requête échouée", "requete"),
        ("𠮷野家で食べる", "𠮷野家"),
    ],
)
def test_every_script_is_found(database, written: str, asked: str):
    fill(
        database,
        [entry("title", written), entry("text", content=f"x {written} y"), entry("other", "其他 อื่น else 기타")],
    )
    assert find(database, asked) == ["title", "text"]
    assert find(database, f'"{asked}"') == ["title", "text"]


def test_a_question_without_blanks_finds_what_shares_a_part_of_it(database):
    fill(database, [entry("one", "主数据库连接超时后重试三次"), entry("two", "其他")])
    assert find(database, "连接超时怎么办") == ["one"]
    assert find(database, '"连接超时怎么办"') == []


def test_a_phrase_runs_from_one_script_into_the_next(database):
    fill(database, [entry("one", "请用Python写脚本"), entry("two", "写脚本，请用 Perl，不用 Python")])
    assert find(database, '"请用 python 写"') == ["one"]


def test_a_word_of_another_thai_text_does_not_match_by_one_pair_of_letters(database):
    fill(database, [entry("one", "การเชื่อมต่อหมดเวลา"), entry("two", "กาแฟร้อน")])
    assert find(database, "การ") == ["one"]


def test_the_whole_text_is_indexed(database):
    fill(database, [entry("long", content="filler words\0 and more. " * 50_000 + " needle")])
    assert find(database, "needle") == ["long"]


@pytest.mark.parametrize(
    "query",
    [
        *(
            "",
            "  ",
            '"',
            '""',
            '"" *',
            "%",
            "*",
            "^",
            "AND",
            "OR NOT",
            "NEAR(a b, 2)",
            "title:",
            "(",
            ")",
            "a:b",
            "{a}:",
        ),
        *("-x", "🦀", "\0", "retry\0", "'; DROP TABLE entries; --", "\ud800", "\ue000"),
        *("x" * 10_000, "word " * 2_000, '"' + "many words " * 900 + '"', "猫" * 5_000, "ก" * 5_000),
        " ".join(f"word{number}" for number in range(1_500)),
    ],
)
def test_any_query_is_safe(database, query: str):
    fill(database, [entry("one", "Retries stop at 3", "Nothing else")])
    outcome = search.search(database, query, now=NOON)
    assert outcome.total == len(outcome.hits) <= 1


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.one_of(st.characters(), st.sampled_from("\"*()^:-+{} ANDORNT'猫ก")), max_size=60))
def test_no_query_ever_fails(tmp_path: Path, query: str):
    database = sqlite3.connect(tmp_path / "knowledge.db", isolation_level=None)
    if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
        database.close()
        database = open_database(os.fspath(tmp_path / "knowledge.db"), search.DDL)
        fill(database, [entry("one", "Retries stop", "at the AND or 猫 ก limit"), entry("two", "NOT this", "a b c")])
    search.search(database, query, now=NOON, explain=True)
    database.close()


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_what_was_written_is_found_by_its_own_words(database, text: str):
    database.execute("DELETE FROM entries")
    search.clear(database)
    fill(database, [entry("one", content=text)])
    asked = [term.label for term in parse(text) if max(term.label) < "\u0530" or not term.words[0].isalnum()]
    if asked:
        assert find(database, asked[0]) == ["one"]


def test_ties_are_ordered_by_id(database):
    fill(database, [entry(entry_id, "Same title", "same text") for entry_id in ("c", "a", "d", "b")])
    assert find(database, "same") == ["a", "b", "c", "d"]
    assert find(database, "same", limit=2) == ["a", "b"]


def test_a_word_of_every_entry_still_scores(database):
    fill(database, [entry("one", "Retry", "words"), entry("two", "Other", "retry words")])
    first, second = search.search(database, "retry", now=NOON).hits
    assert (first.id, second.id) == ("one", "two")
    assert first.score > second.score > 0.1


def test_filters_come_before_the_limit(database):
    crowd = [entry(f"a{number}", "Retry retry", "retry", scope="elsewhere") for number in range(60)]
    fill(database, [*crowd, entry("wanted", "Long words", "about many things, one of them a retry")])
    assert find(database, "retry", limit=1, scope="root") == ["wanted"]


def test_status_filters_know_what_has_expired(database):
    fill(
        database,
        [
            entry("active", "Retry"),
            entry("later", "Retry", expires=NOON + 1),
            entry("expired", "Retry", expires=NOON),
            entry("stale", "Retry", status="stale"),
            entry("deprecated", "Retry", status="deprecated"),
            entry("deleted", "Retry", status="deleted"),
        ],
    )
    assert find(database, "retry") == ["active", "later"]
    assert find(database, "retry", status="stale") == ["expired", "stale"]
    assert find(database, "retry", status="deprecated") == ["deprecated"]
    assert find(database, "retry", status="any") == ["active", "deprecated", "expired", "later", "stale"]
    assert find(database, "retry", status="deleted") == []


def test_tags_match_whole_all_of_them_and_in_any_case(database):
    fill(
        database,
        [
            entry("both", "Retry", tags=("on call, nights", "Überblick", "数据库")),
            entry("one", "Retry", tags=("on call",)),
            entry("none", "Retry"),
        ],
    )
    assert find(database, "retry", tags=("On Call, NIGHTS",)) == ["both"]
    assert find(database, "retry", tags=("überblick", "on call, nights")) == ["both"]
    assert find(database, "retry", tags=("数据库",)) == ["both"]
    assert find(database, "retry", tags=("据库",)) == []
    assert find(database, "retry", tags=("on call",)) == ["one"]
    assert find(database, "retry", tags=("on call", "Überblick")) == []
    assert find(database, "retry", tags=("call",)) == []


def test_a_window_counts_from_now_on_back(database):
    fill(database, [entry("new", "Retry", created=NOON - DAY), entry("old", "Retry", created=NOON - 3 * DAY)])
    assert find(database, "retry", window_days=2) == ["new"]
    assert find(database, "retry", window_days=3) == ["new", "old"]
    assert find(database, "retry", window_days=0) == []


def test_feedback_moves_an_entry_within_its_bound(database):
    fill(database, [entry(entry_id, "Same title", "same text") for entry_id in ("hurt", "none", "helped")])
    database.execute("INSERT INTO feedback VALUES ('helped', 1000000, 0, 0, 0), ('hurt', 0, 9, 1000000, 9)")
    hits = search.search(database, "same", now=NOON).hits
    assert [hit.id for hit in hits] == ["helped", "none", "hurt"]
    assert [round(hit.feedback, 5) for hit in hits] == [1.2, 1.0, 0.8]
    assert [hit.feedback for hit in hits] == [
        search.feedback_factor(1_000_000, 0),
        search.feedback_factor(0, 0),
        search.feedback_factor(0, 1_000_000),
    ]
    assert [hit.score for hit in hits] == pytest.approx([hit.relevance * hit.feedback for hit in hits], abs=1e-6)


def test_recency_decay_halves_an_entry_a_day_old_and_ranks_all_matches(database):
    old = [entry(f"old{number:02}", "Retry retry", "retry", created=NOON - 30 * DAY) for number in range(50)]
    fill(
        database,
        [*old, entry("yesterday", "Retry", created=NOON - DAY), entry("tomorrow", "A retry", created=NOON + DAY)],
    )
    hits = search.search(database, "retry", now=NOON, rank="recency_decay", limit=2).hits
    assert [(hit.id, hit.recency) for hit in hits] == [("tomorrow", 1.0), ("yesterday", 0.5)]
    assert [hit.score for hit in hits] == pytest.approx([hit.relevance * hit.recency for hit in hits], abs=1e-6)
    assert find(database, "retry", limit=1) == ["old00"]


def test_the_total_counts_every_match_that_passes_the_filters(database):
    fill(database, [entry(f"a{number}", "Retry", scope="root" if number % 2 else "x") for number in range(40)])
    outcome = search.search(database, "retry", now=NOON, filters=Filters(scope="x"), limit=5)
    assert (len(outcome.hits), outcome.total) == (5, 20)
    assert search.search(database, "absent", now=NOON) == SearchOutcome([], 0, ())


def test_an_explanation_names_the_terms_of_each_hit(database):
    fill(
        database,
        [entry("one", "Retry limit", "x"), entry("two", "Backoff", "limits"), entry("x"), entry("y"), entry("z")],
    )
    outcome = search.search(database, "retries limit absent", now=NOON, explain=True)
    assert [(hit.id, hit.matched) for hit in outcome.hits] == [("one", ("retries", "limit")), ("two", ("limit",))]
    assert outcome.terms == ("retries", "limit")


def test_indexing_again_replaces_and_unindexing_removes(database):
    fill(database, [entry("one", "Retry", "the old words of this entry are here")])
    store(database, 1, entry("one", "Backoff", "quite different words"))
    search.index(database, 1, search.indexed(entry("one", "Backoff", "quite different words")))
    assert (find(database, "retry"), find(database, "backoff")) == ([], ["one"])
    search.index(database, 1, search.indexed(entry("one", "Backoff", "quite different words", status="stale")))
    search.unindex(database, 1)
    search.unindex(database, 1)
    assert find(database, "backoff") == []
    assert database.execute("SELECT count(*) FROM entry_sketch").fetchone() == (0,)


def test_tidying_changes_no_answer(database):
    fill(database, [entry(f"a{number:03}", f"Retry {number}", "some words") for number in range(300)])
    before = search.search(database, "retry 7", now=NOON)
    search.tidy(database)
    assert search.search(database, "retry 7", now=NOON) == before


def test_clearing_leaves_nothing_behind(database):
    fill(database, [entry("one", "Retry", "some words")])
    search.clear(database)
    assert find(database, "retry") == []
    assert database.execute("SELECT count(*) FROM entry_sketch").fetchone() == (0,)
    search.index(database, 1, search.indexed(entry("one", "Retry", "some words")))
    assert find(database, "retry") == ["one"]


def test_a_read_only_file_and_a_copy_in_memory_answer_the_same(database, tmp_path: Path):
    fill(database, [entry("one", "Retry", "some words"), entry("two", "Other"), entry("three", "Else")])
    expected = search.search(database, "retry", now=NOON, explain=True)
    read_only = sqlite3.connect(f"file:{tmp_path}/knowledge.db?mode=ro", uri=True)
    copy = copy_to_memory(database)
    assert isinstance(expected.hits[0], Hit)
    assert search.search(read_only, "retry", now=NOON, explain=True) == expected
    assert search.search(copy, "retry", now=NOON, explain=True) == expected
    read_only.close()
    copy.close()


def test_among_many_entries_common_words_are_dropped_unless_nothing_rarer_is_found(database):
    fill(
        database,
        (
            entry(f"a{number:05}", f"service w{number % 7000}", "alpha" if number % 2 else "beta gamma")
            for number in range(20_000)
        ),
    )
    assert search.search(database, "service alpha w6999", now=NOON).terms == ("w6999",)
    kept = search.search(database, "service alpha absent beta", now=NOON)
    assert kept.terms == ("alpha", "beta")
    assert kept.total == 20_000
    assert kept.hits[0].score > 0.1


TEXT = (
    "Requests to the billing service are retried three times with exponential backoff before the caller sees an error"
)


def test_the_same_title_and_nearly_the_same_text_are_similar(database):
    fill(
        database,
        [
            entry("title", "Retries  STOP at 3", "quite another text about something else"),
            entry("text", "About billing", TEXT.replace("three", "four")),
            entry("other", "Deploys", "Deploys happen on Tuesday"),
        ],
    )
    found = search.similar(database, "Retries stop at 3", TEXT, now=NOON)
    assert [one[:2] for one in found] == [("title", "Retries  STOP at 3"), ("text", "About billing")]
    assert found[0].similarity == 1.0
    assert 0.6 <= found[1].similarity < 1
    assert search.similar(database, "Retries stop at 3", TEXT, now=NOON, exclude={"title"}) == found[1:]
    assert search.similar(database, "Retries stop at 3", TEXT, now=NOON, limit=1) == found[:1]


def test_only_active_entries_are_similar(database):
    fill(
        database,
        [
            entry("stale", "Billing", TEXT, status="stale"),
            entry("expired", "Billing", TEXT, expires=NOON),
            entry("active", "Other", TEXT),
        ],
    )
    assert search.similar(database, "Billing", TEXT, now=NOON) == [Alike("active", "Other", 1.0)]


def test_an_edited_entry_is_similar_to_what_it_says_now(database):
    fill(database, [entry("one", "One", TEXT)])
    changed = entry("one", "One", "数据库连接超时后重试三次然后放弃")
    store(database, 1, changed)
    search.index(database, 1, search.indexed(changed))
    assert search.similar(database, "x", TEXT, now=NOON) == []
    assert [one.id for one in search.similar(database, "x", "数据库连接超时后重试三次然后停止", now=NOON)] == ["one"]


def test_boilerplate_of_thousands_does_not_hide_a_near_duplicate(database):
    fill(
        database,
        [*(entry(f"a{number}", f"T{number}", "to be decided later") for number in range(3_000)), entry("b", "B", TEXT)],
    )
    assert [one.id for one in search.similar(database, "x", TEXT + " again", now=NOON)] == ["b"]
    assert len(search.similar(database, "x", "to be decided later", now=NOON)) == 3
