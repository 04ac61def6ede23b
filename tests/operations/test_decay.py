"""`knowledge decay`: policies with meaning, one event a run, and a way back."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def entries(knowledge):
    for entry_id, fields in {
        "day": {"ttl_policy": "ephemeral"},
        "quarter": {"ttl_policy": "decay"},
        "chosen": {"expires_ts": "40d"},
        "always": {},
    }.items():
        knowledge.add(id=entry_id, title=f"About {entry_id}", text="Common words.", provenance=["cmd:x"], **fields)


def statuses(knowledge):
    names = ("day", "quarter", "chosen", "always")
    return {name: knowledge.get(id=name)["status"] for name in names}


def test_what_has_expired_becomes_stale_by_one_event(knowledge, clock, opened):
    clock.forward(days=50)
    before = opened.status()["events"]

    decayed = knowledge.decay(actor="Bea")

    assert decayed == {
        "as_of": "2026-04-20T12:00:00.000Z",
        "policy": "default",
        "dry_run": False,
        "stale_ids": ["chosen", "day"],
        "event_id": decayed["event_id"],
    }
    assert statuses(knowledge) == {"day": "stale", "quarter": "active", "chosen": "stale", "always": "active"}
    assert opened.status()["events"] == before + 1
    (event,) = opened.ledger.show(ledger="knowledge.decay")["events"]
    assert {name: event[name] for name in ("event_id", "policy", "as_of", "dry_run", "stale_ids", "actor")} == {
        "event_id": decayed["event_id"],
        "policy": "default",
        "as_of": decayed["as_of"],
        "dry_run": False,
        "stale_ids": ["chosen", "day"],
        "actor": "Bea",
    }


def test_a_run_that_finds_nothing_writes_nothing(knowledge, opened):
    before = opened.status()

    assert knowledge.decay() == {
        "as_of": "2026-03-01T12:00:00.000Z",
        "policy": "default",
        "dry_run": False,
        "stale_ids": [],
        "event_id": None,
    }
    assert opened.status() == before


def test_a_dry_run_says_what_would_be_and_writes_nothing(knowledge, clock, opened):
    clock.forward(days=50)
    before = opened.status()

    decayed = knowledge.decay(dry_run=True)

    assert (decayed["stale_ids"], decayed["event_id"], decayed["dry_run"]) == (["chosen", "day"], None, True)
    assert opened.status() == before


def test_a_time_to_come_needs_a_dry_run(knowledge, refused):
    refused("future", 2, knowledge.decay, as_of="2026-12-01")

    assert knowledge.decay(as_of="2026-12-01", dry_run=True) == {
        "as_of": "2026-12-01T00:00:00.000Z",
        "policy": "default",
        "dry_run": True,
        "stale_ids": ["chosen", "day", "quarter"],
        "event_id": None,
    }


def test_an_earlier_time_stales_only_what_had_expired_by_then(knowledge, clock):
    clock.forward(days=50)

    assert knowledge.decay(as_of="1772640000Z")["stale_ids"] == ["day"]
    assert statuses(knowledge)["chosen"] == "active"


def test_an_entry_expires_at_its_very_millisecond(knowledge, clock):
    clock.forward(days=1, milliseconds=-1)
    assert knowledge.decay()["stale_ids"] == []
    clock.forward(milliseconds=1)
    assert knowledge.decay()["stale_ids"] == ["day"]


def test_a_named_policy_shortens_default_lifetimes_and_no_chosen_ones(knowledge, clock, repository):
    (repository / ".decapod" / "config.toml").write_text("[decay.spring]\ndecay = '30d'\n")
    clock.forward(days=31)

    assert knowledge.decay(dry_run=True)["stale_ids"] == ["day"]
    assert knowledge.decay(policy="spring")["stale_ids"] == ["day", "quarter"]
    assert statuses(knowledge) == {"day": "stale", "quarter": "stale", "chosen": "active", "always": "active"}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"policy": "fast"}, "unknown-policy"),
        ({"policy": ""}, "unknown-policy"),
        ({"as_of": "123ZZ"}, "bad-time"),
        ({"as_of": ""}, "bad-time"),
        ({"as_of": "30d"}, "bad-time"),
        ({"actor": ""}, "empty"),
    ],
)
def test_a_run_that_cannot_be_meant_is_refused(knowledge, refused, clock, fields, code):
    clock.forward(days=50)
    refused(code, 2, knowledge.decay, **fields)


def test_expired_entries_are_hidden_before_any_run(knowledge, clock, opened):
    clock.forward(days=2)

    hits = knowledge.search(query="common words")["results"]
    assert sorted(hit["id"] for hit in hits) == ["always", "chosen", "quarter"]
    assert [hit["id"] for hit in knowledge.search(query="common words", status="stale")["results"]] == ["day"]
    assert [entry["id"] for entry in knowledge.list(status="stale")["entries"]] == ["day"]
    assert "day" not in [entry["id"] for entry in knowledge.list()["entries"]]
    assert (knowledge.get(id="day")["status"], knowledge.get(id="day")["expired"]) == ("active", True)
    assert opened.status()["expired"] == 1


def test_a_stale_entry_can_be_revived_with_a_lifetime_of_its_policy_or_a_given_one(knowledge, clock):
    clock.forward(days=50)
    knowledge.decay()

    knowledge.revive(id="day")
    knowledge.revive(id="chosen", expires_ts="10d")

    assert knowledge.get(id="day")["expires_ts"] == "2026-04-21T12:00:00.000Z"
    assert knowledge.get(id="chosen")["expires_ts"] == "2026-04-30T12:00:00.000Z"
    assert knowledge.decay()["stale_ids"] == []
    assert statuses(knowledge) == {"day": "active", "quarter": "active", "chosen": "active", "always": "active"}


def test_an_expired_entry_can_be_revived_before_any_run(knowledge, clock):
    clock.forward(days=2)

    assert knowledge.revive(id="day")["action"] == "revived"
    assert knowledge.get(id="day")["expired"] is False


def test_decay_leaves_files_and_the_time_of_the_last_change_alone(knowledge, clock, repository):
    path = repository / knowledge.get(id="day")["path"]
    before, updated = path.read_bytes(), knowledge.get(id="day")["updated_at"]
    clock.forward(days=50)

    knowledge.decay()

    assert (path.read_bytes(), knowledge.get(id="day")["updated_at"]) == (before, updated)


def test_an_edit_makes_a_stale_entry_no_more_active(knowledge, clock):
    clock.forward(days=50)
    knowledge.decay()
    knowledge.edit(id="chosen", text="New words.")

    assert knowledge.get(id="chosen")["status"] == "stale"
