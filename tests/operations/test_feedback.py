"""`knowledge retrieval-log`: feedback about known entries, and what it does to their rank."""

from __future__ import annotations

import re

import pytest


@pytest.fixture(autouse=True)
def entries(knowledge):
    for entry_id in ("a", "b", "c"):
        knowledge.add(id=entry_id, title="Retries", text="Retries stop at three.", provenance=["cmd:x"])


def log(knowledge, *used, outcome="helped", **fields):
    request = {"query": "retries", "returned_ids": ["a", "b", "c"], "used_ids": list(used), "outcome": outcome}
    return knowledge.retrieval_log(**{**request, **fields})


def ranking(knowledge):
    return [hit["id"] for hit in knowledge.search(query="retries")["results"]]


def test_feedback_is_recorded_with_the_field_names_of_its_ledger(knowledge, opened, repository):
    logged = log(knowledge, "b", source="manual_feedback", actor="Bea")

    assert logged == {"event_id": logged["event_id"], "file": logged["file"]}
    assert re.fullmatch(r"\.decapod/ledgers/knowledge\.retrieval/2026-03/[0-9A-Z]{26}\.jsonl", logged["file"])
    assert logged["event_id"] in (repository / logged["file"]).read_text()
    (event,) = opened.ledger.show(ledger="knowledge.retrieval")["events"]
    wanted = ("event_id", "ts", "actor", "returned_ids", "used_ids", "outcome", "source")
    assert {name: event[name] for name in wanted} == {
        "event_id": logged["event_id"],
        "ts": "2026-03-01T12:00:00.000Z",
        "actor": "Bea",
        "returned_ids": ["a", "b", "c"],
        "used_ids": ["b"],
        "outcome": "helped",
        "source": "manual_feedback",
    }
    assert event["text"]["query"] == "retries"


def test_what_helped_ranks_higher_and_what_hurt_lower(knowledge):
    assert ranking(knowledge) == ["a", "b", "c"]

    log(knowledge, "c")
    log(knowledge, "a", outcome="hurt")

    assert ranking(knowledge) == ["c", "b", "a"]
    assert knowledge.get(id="c")["feedback"] == {"helped": 1, "neutral": 0, "hurt": 0, "unknown": 0}


def test_neutral_and_unknown_outcomes_and_what_was_not_used_move_nothing(knowledge):
    log(knowledge, "c", outcome="neutral")
    log(knowledge, "c", outcome="unknown")
    log(knowledge)

    assert ranking(knowledge) == ["a", "b", "c"]
    assert knowledge.get(id="c")["feedback"] == {"helped": 0, "neutral": 1, "hurt": 0, "unknown": 1}


def test_feedback_moves_within_its_bound_and_explain_shows_it(knowledge):
    for _ in range(40):
        log(knowledge, "c")
        log(knowledge, "a", outcome="hurt")

    hits = {hit["id"]: hit for hit in knowledge.search(query="retries", explain=True)["results"]}

    factors = {entry_id: hit["explain"]["feedback_factor"] for entry_id, hit in hits.items()}
    assert factors == {"c": pytest.approx(1 + 0.2 * 40 / 43), "b": 1, "a": pytest.approx(1 - 0.2 * 40 / 43)}
    assert all(0.8 < factor < 1.2 for factor in factors.values())
    for hit in hits.values():
        assert hit["score"] == pytest.approx(hit["explain"]["relevance"] * hit["explain"]["feedback_factor"], abs=2e-6)


def test_feedback_about_an_earlier_time_does_not_count_then(knowledge, clock):
    clock.forward(days=1)
    log(knowledge, "c")
    clock.forward(days=1)

    then = knowledge.search(query="retries", as_of="2026-03-02T00:00:00Z", explain=True)["results"]

    assert [(hit["id"], hit["explain"]["feedback_factor"]) for hit in then] == [("a", 1), ("b", 1), ("c", 1)]
    assert knowledge.get(id="c", as_of="2026-03-02T00:00:00Z")["feedback"]["helped"] == 0
    assert ranking(knowledge)[0] == "c"


def test_the_same_entry_named_twice_counts_once(knowledge, opened):
    log(knowledge, "c", "c", returned_ids=["c", "c"])

    assert knowledge.get(id="c")["feedback"]["helped"] == 1
    (event,) = opened.ledger.show(ledger="knowledge.retrieval")["events"]
    assert (event["returned_ids"], event["used_ids"]) == (["c"], ["c"])


@pytest.mark.parametrize(
    ("fields", "code", "exit_code"),
    [
        ({"returned_ids": ["a", "nothing"]}, "not-found", 1),
        ({"used_ids": ["nothing"]}, "not-found", 1),
        ({"returned_ids": ["a"], "used_ids": ["b"]}, "not-returned", 2),
        ({"returned_ids": []}, "empty", 2),
        ({"returned_ids": [""]}, "bad-id", 2),
        ({"query": " "}, "empty", 2),
        ({"query": "a\x00"}, "bad-text", 2),
        ({"outcome": "great"}, "bad-arguments", 2),
        ({"source": "rumour"}, "bad-arguments", 2),
        ({"actor": ""}, "empty", 2),
    ],
)
def test_feedback_that_names_what_is_not_known_is_refused(knowledge, refused, fields, code, exit_code):
    refused(code, exit_code, log, knowledge=knowledge, **fields)
