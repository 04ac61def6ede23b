"""`knowledge search`: the answer's shape, filters, ranking by time, bounds, and what was known at an earlier time."""

from __future__ import annotations

import pytest

NASTY = [
    "",
    " ",
    '"',
    '""',
    '"unclosed phrase',
    "'",
    "%",
    "_",
    "*",
    "a*",
    "AND",
    "OR NOT",
    "NEAR(a b)",
    "title:retries",
    "a AND",
    "^retries",
    "(",
    "💥",
    "\u202eretries",
    "re\x00tries",
    "{}[]\\",
    "--limit",
    "; DROP TABLE entries",
    "x" * 10_000,
    "retries " * 2_000,
    '"' * 5_000,
    "東京タワーはどこですか",
    "การทดสอบ",
]


@pytest.fixture(autouse=True)
def entries(knowledge):
    knowledge.add(
        id="retries",
        title="Retries stop at 3",
        text="The gateway bans callers that retry more often.",
        provenance=["cmd:x"],
        tags=["http"],
    )
    knowledge.add(id="cats", title="Cats", text="They sleep 100% of the day_time.", provenance=["cmd:x"], scope="home")


def ids(found):
    return [hit["id"] for hit in found["results"]]


def test_the_answer_has_its_documented_shape(knowledge):
    found = knowledge.search(query="gateway retry")

    (hit,) = found["results"]
    assert found == {
        "query": "gateway retry",
        "mode": "hybrid",
        "terms": ["gateway", "retry"],
        "count": 1,
        "omitted": 0,
        "results": [hit],
    }
    assert hit == {
        "id": "retries",
        "title": "Retries stop at 3",
        "content": "The gateway bans callers that retry more often.",
        "snippet": hit["snippet"],
        "provenance": "cmd:x",
        "tags": ["http"],
        "status": "active",
        "score": hit["score"],
        "recency_score": 1.0,
        "created_at": "2026-03-01T12:00:00.000Z",
        "updated_at": "2026-03-01T12:00:00.000Z",
        "version": knowledge.get(id="retries")["version"],
        "path": knowledge.get(id="retries")["path"],
        "drift": None,
        "standing": "local",
    }
    assert hit["score"] > 0
    assert "gateway" in hit["snippet"]


def test_content_may_be_left_out(knowledge):
    (hit,) = knowledge.search(query="gateway", content=False)["results"]
    assert "content" not in hit


@pytest.mark.parametrize("query", NASTY)
@pytest.mark.parametrize("as_of", [None, "2026-03-01T12:00:00Z"])
def test_any_text_is_a_safe_query_now_and_in_the_past(knowledge, query, as_of):
    found = knowledge.search(query=query, as_of=as_of)

    assert found["count"] == len(found["results"]) <= 2


def test_percent_and_underscore_are_no_wildcards(knowledge):
    assert ids(knowledge.search(query="%")) == ids(knowledge.search(query="_")) == []
    assert ids(knowledge.search(query="100%")) == ["cats"]


def test_a_question_finds_the_entry_that_shares_its_rare_words(knowledge):
    assert ids(knowledge.search(query="Why does the gateway ban us when we are retrying?"))[0] == "retries"


def test_filters_narrow_by_tag_scope_status_and_age(knowledge, clock):
    clock.forward(days=10)
    knowledge.add(id="new", title="Retries again", text="A fresh word on it.", provenance=["cmd:x"], tags=["HTTP", "x"])

    assert ids(knowledge.search(query="retries")) == ["new", "retries"] or ids(knowledge.search(query="retries")) == [
        "retries",
        "new",
    ]
    assert ids(knowledge.search(query="retries", tags=["http", "X"])) == ["new"]
    assert ids(knowledge.search(query="retries", scope="home")) == []
    assert ids(knowledge.search(query="sleep", scope="home")) == ["cats"]
    assert ids(knowledge.search(query="retries", window_days=9)) == ["new"]
    assert ids(knowledge.search(query="retries", window_days=0)) == ["new"]
    assert sorted(ids(knowledge.search(query="retries", window_days=10))) == ["new", "retries"]
    knowledge.deprecate(id="new")
    assert ids(knowledge.search(query="retries")) == ["retries"]
    assert sorted(ids(knowledge.search(query="retries", status="any"))) == ["new", "retries"]


def test_recency_halves_in_a_day_and_may_decide_the_order(knowledge, clock):
    clock.forward(days=3)
    knowledge.add(id="young", title="A word", text="on retries, among many other words here", provenance=["cmd:x"])

    by_relevance = knowledge.search(query="retries", explain=True)["results"]
    by_recency = knowledge.search(query="retries", rank="recency_decay", explain=True)["results"]

    assert [hit["id"] for hit in by_relevance] == ["retries", "young"]
    assert {hit["id"]: hit["recency_score"] for hit in by_recency} == {"retries": 0.25, "young": 1.0}
    for hit in by_recency:
        parts = hit["explain"]
        product = parts["relevance"] * parts["feedback_factor"] * parts["recency"]
        assert hit["score"] == pytest.approx(product, abs=2e-6)
        assert (parts["rank"], parts["matched"]) == ("recency_decay", ["retries"])


def test_ties_are_in_the_order_of_their_ids(knowledge):
    for entry_id in ("t3", "t1", "t2"):
        knowledge.add(id=entry_id, title="Zebra", text="Zebra.", provenance=["cmd:x"])

    assert ids(knowledge.search(query="zebra")) == ["t1", "t2", "t3"]


def test_what_the_limit_or_the_room_leaves_out_is_counted(knowledge):
    for number in range(5):
        knowledge.add(id=f"z{number}", title="Zebra", text="zebra " * 100, provenance=["cmd:x"])

    limited = knowledge.search(query="zebra", limit=2)
    assert (limited["count"], limited["omitted"], ids(limited)) == (2, 3, ["z0", "z1"])
    bounded = knowledge.search(query="zebra", max_chars=1_700)
    assert bounded["count"] + bounded["omitted"] == 5
    assert 1 <= bounded["count"] < 5


@pytest.mark.parametrize(
    "fields",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 10**30},
        {"window_days": -1},
        {"window_days": 10**9},
        {"rank": "best"},
        {"status": "deleted"},
        {"max_chars": 0},
        {"query": None},
    ],
)
def test_a_bound_that_is_none_is_refused(knowledge, refused, fields):
    refused("bad-arguments", 2, knowledge.search, **{"query": "retries", **fields})


def test_a_time_that_is_none_or_to_come_is_refused(knowledge, refused):
    refused("bad-time", 2, knowledge.search, query="retries", as_of="123ZZ")
    refused("bad-time", 2, knowledge.search, query="retries", as_of="")
    refused("future", 2, knowledge.search, query="retries", as_of="2026-03-01T12:00:00.001Z")


def test_the_past_shows_old_text_old_status_and_its_own_recency(knowledge, clock):
    clock.forward(days=2)
    knowledge.edit(id="retries", title="Attempts stop at 5", text="The limit was raised.")
    knowledge.deprecate(id="cats")
    clock.forward(days=2)

    (then,) = knowledge.search(query="retries", as_of="2026-03-02T12:00:00Z")["results"]
    assert (then["title"], then["content"], then["recency_score"]) == (
        "Retries stop at 3",
        "The gateway bans callers that retry more often.",
        0.5,
    )
    assert ids(knowledge.search(query="retries")) == []
    assert ids(knowledge.search(query="sleep")) == []
    assert [hit["status"] for hit in knowledge.search(query="sleep", as_of="1772409600Z")["results"]] == ["active"]
    assert ids(knowledge.search(query="raised", as_of="2026-03-02T12:00:00Z")) == []


def test_the_past_finds_what_was_superseded_or_deleted_since(knowledge, clock):
    knowledge.add(id="old", title="Limit", text="Ten.", provenance=["cmd:x"], merge_key="k")
    clock.forward(days=1)
    knowledge.add(id="new", title="Limit", text="Nine.", provenance=["cmd:x"], merge_key="k", on_conflict="supersede")
    knowledge.delete(id="cats")

    assert ids(knowledge.search(query="limit")) == ["new"]
    assert ids(knowledge.search(query="limit", as_of="2026-03-01T12:00:00Z")) == ["old"]
    assert ids(knowledge.search(query="sleep", as_of="2026-03-01T12:00:00Z")) == ["cats"]
    assert ids(knowledge.search(query="limit", as_of="2026-03-01T11:59:59Z")) == []


def test_the_past_hides_what_had_expired_by_then_and_shows_what_expired_since(knowledge, clock):
    knowledge.add(id="short", title="Brief", text="Brief.", provenance=["cmd:x"], ttl_policy="ephemeral")
    clock.forward(days=5)

    assert ids(knowledge.search(query="brief", as_of="2026-03-02T11:59:59Z")) == ["short"]
    assert ids(knowledge.search(query="brief", as_of="2026-03-02T12:00:00Z")) == []


def test_filters_and_windows_count_from_the_past_moment(knowledge, clock):
    clock.forward(days=20)
    knowledge.add(id="late", title="Retries later", text="Retries.", provenance=["cmd:x"], tags=["z"])
    clock.forward(days=20)
    moment = "2026-03-21T12:00:00Z"

    assert ids(knowledge.search(query="retries", as_of=moment, window_days=5)) == ["late"]
    assert ids(knowledge.search(query="retries", as_of=moment, tags=["http"])) == ["retries"]
    assert ids(knowledge.search(query="retries", window_days=5)) == []
