"""`knowledge get`, `list`, `history`."""

from __future__ import annotations

import re

import pytest


def add(knowledge, entry_id=None, title="Title", **fields):
    request = {"title": title, "text": f"{title}.", "provenance": ["cmd:x"], **fields}
    return knowledge.add(**request, id=entry_id)["id"]


def test_a_made_id_is_found_by_its_unique_beginning_in_any_case(knowledge):
    entry_id = add(knowledge)

    assert knowledge.get(id=entry_id[:12])["id"] == knowledge.get(id=entry_id[:20].lower())["id"] == entry_id


def test_a_beginning_that_several_made_ids_share_is_ambiguous(knowledge, refused):
    first, second = add(knowledge, title="One"), add(knowledge, title="Two")

    error = refused("ambiguous-id", 1, knowledge.get, id=first[:8])

    assert first in error.message
    assert second in error.message


def test_a_chosen_id_is_never_found_by_its_beginning(knowledge, refused):
    add(knowledge, "retries/limit")

    refused("not-found", 1, knowledge.get, id="retries")
    refused("not-found", 1, knowledge.delete, id="retr")


@pytest.mark.parametrize("entry_id", ["", " ", "a b", "💥", "../x", "a\x00b", "x" * 10_000])
def test_what_cannot_be_an_id_is_misuse(knowledge, refused, entry_id):
    refused("bad-id", 2, knowledge.get, id=entry_id)
    refused("bad-id", 2, knowledge.history, id=entry_id)


def test_an_entry_is_shown_as_it_was(knowledge, clock, refused):
    add(knowledge, "a", "Old", tags=["x"])
    clock.forward(days=1)
    knowledge.edit(id="a", title="New", tags=["y"])
    knowledge.deprecate(id="a")

    then = knowledge.get(id="a", as_of="2026-03-01T12:00:00Z")

    assert (then["title"], then["tags"], then["status"], then["updated_at"]) == (
        "Old",
        ["x"],
        "active",
        "2026-03-01T12:00:00.000Z",
    )
    refused("not-found", 1, knowledge.get, id="a", as_of="2026-03-01T11:59:59.999Z")
    refused("future", 2, knowledge.get, id="a", as_of="2026-03-03")
    refused("bad-time", 2, knowledge.get, id="a", as_of="123ZZ")


def test_long_content_is_cut_and_says_so(knowledge, refused):
    add(knowledge, "a", text="0123456789")

    assert {"content": "01234", "truncated": True}.items() <= knowledge.get(id="a", max_chars=5).items()
    assert "truncated" not in knowledge.get(id="a", max_chars=10)
    refused("bad-arguments", 2, knowledge.get, id="a", max_chars=0)


def test_a_list_is_newest_first_ties_by_id_and_counts_all(knowledge, clock):
    for entry_id in ("b", "a"):
        add(knowledge, entry_id, entry_id)
    clock.forward(days=1)
    add(knowledge, "c", "c")

    listed = knowledge.list(limit=2)

    assert (listed["total"], listed["count"]) == (3, 2)
    assert listed["entries"] == [knowledge.get(id="c"), knowledge.get(id="a")]
    assert [entry["id"] for entry in knowledge.list(offset=2)["entries"]] == ["b"]
    assert knowledge.list(offset=9) == {"total": 3, "count": 0, "entries": []}


def test_a_list_is_filtered_by_everything_that_can_be_asked(knowledge, clock):
    add(knowledge, "a", "a", tags=["Red", "big"], scope="s", merge_key="k", actor="Bea")
    clock.forward(days=1)
    add(knowledge, "b", "b", tags=["red"])
    add(knowledge, "c", "c", status="deprecated")

    def listed(**fields):
        return [entry["id"] for entry in knowledge.list(**fields)["entries"]]

    assert listed() == ["b", "a"]
    assert listed(tags=["RED"]) == ["b", "a"]
    assert listed(tags=["red", "big"]) == ["a"]
    assert listed(scope="s") == listed(merge_key="k") == listed(author="Bea") == ["a"]
    assert listed(status="deprecated") == ["c"]
    assert listed(status="any") == ["b", "c", "a"]
    assert listed(since="2026-03-02") == ["b"]
    assert listed(status="any", as_of="2026-03-01T12:00:00Z") == ["a"]
    assert listed(diverged=True) == []


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"limit": 0}, "bad-arguments"),
        ({"limit": 10**20}, "bad-arguments"),
        ({"offset": -1}, "bad-arguments"),
        ({"status": "x"}, "bad-arguments"),
        ({"since": "123ZZ"}, "bad-time"),
        ({"as_of": "2027-01-01"}, "future"),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused(knowledge, refused, fields, code):
    refused(code, 2, knowledge.list, **fields)


def test_an_offset_beyond_all_reason_shows_nothing(knowledge):
    add(knowledge, "a")

    assert knowledge.list(offset=10**30)["entries"] == []


def test_history_shows_every_version_and_change_who_made_it_and_from_what(knowledge, clock):
    add(knowledge, "a", "One", merge_key="k")
    first = knowledge.get(id="a")["version"]
    second = knowledge.edit(id="a", title="Two", actor="Bea")["version"]
    new = add(knowledge, "b", "Three", merge_key="k", on_conflict="supersede", actor="Cleo")

    history = knowledge.history(id="a")

    assert (history["id"], history["count"], history["omitted"]) == ("a", 3, 0)
    shown = [
        (item["type"], item["actor"], item["is_version"], item["is_head"], item["was"], item["status"], item["title"])
        for item in history["events"]
    ]
    assert shown == [
        ("entry.added", "Cleo", False, False, [second], "superseded", None),
        ("entry.edited", "Bea", True, True, [first], None, "Two"),
        ("entry.added", "Ada", True, False, [], "active", "One"),
    ]
    assert knowledge.history(id=new)["count"] == 1


def test_history_is_bounded_and_says_what_was_left_out(knowledge):
    add(knowledge, "a", text="0123456789")
    for number in range(3):
        knowledge.edit(id="a", text=f"{number}" * 10)

    history = knowledge.history(id="a", limit=2, max_chars=4)

    assert (history["count"], history["omitted"]) == (2, 2)
    assert [(item["content"], item["truncated"]) for item in history["events"]] == [("2222", True), ("1111", True)]


def test_event_ids_sort_after_what_they_were_decided_from_even_when_the_clock_runs_back(knowledge, clock, opened):
    add(knowledge, "a")
    clock.forward(days=-300)
    knowledge.edit(id="a", title="Later, by an earlier clock")

    versions = [item["event_id"] for item in knowledge.history(id="a")["events"]]
    assert versions == sorted(versions, reverse=True)
    assert knowledge.get(id="a")["title"] == "Later, by an earlier clock"
    assert opened.ledger.verify()["ok"]
    assert all(re.fullmatch("[0-9A-Z]{26}", version) for version in versions)
