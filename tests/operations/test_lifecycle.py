"""`knowledge deprecate`, `revive`, `delete`, `settle`: nothing is destroyed, and nothing changes twice."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from decapod_py.client import Decapod
from decapod_py.domain.event import seal, to_line


@pytest.fixture(autouse=True)
def entry(knowledge):
    knowledge.add(id="a", title="Three", text="Stops at three.", provenance=["cmd:one"], merge_key="k")


def test_a_deprecated_entry_stays_readable_and_leaves_search(knowledge):
    version = knowledge.get(id="a")["version"]

    changed = knowledge.deprecate(id="a", reason="No longer so", actor="Bea")

    assert {**changed, "event_id": "?"} == {
        "id": "a",
        "action": "deprecated",
        "event_id": "?",
        "version": version,
        "superseded_ids": [],
    }
    assert knowledge.get(id="a")["status"] == "deprecated"
    assert knowledge.search(query="three")["results"] == []
    assert [hit["id"] for hit in knowledge.search(query="three", status="deprecated")["results"]] == ["a"]
    newest = knowledge.history(id="a")["events"][0]
    assert newest == {
        "event_id": changed["event_id"],
        "ts": "2026-03-01T12:00:00.000Z",
        "type": "entry.deprecated",
        "actor": "Bea",
        "is_version": False,
        "is_head": False,
        "was": [version],
        "status": "deprecated",
        "title": None,
        "content": None,
        "provenances": [],
        "reason": "No longer so",
    }


def test_a_change_of_status_that_is_none_is_refused(knowledge, refused):
    refused("no-change", 1, knowledge.revive, id="a")
    knowledge.deprecate(id="a")
    refused("no-change", 1, knowledge.deprecate, id="a")
    knowledge.delete(id="a")
    for call in (knowledge.delete, knowledge.deprecate, knowledge.revive):
        refused("deleted", 1, call, id="a")


@pytest.mark.parametrize("name", ["deprecate", "delete", "revive"])
def test_an_unknown_entry_an_empty_reason_and_an_empty_actor_are_refused(knowledge, refused, name):
    call = getattr(knowledge, name)
    refused("not-found", 1, call, id="nothing")
    refused("bad-id", 2, call, id="")
    refused("empty", 2, call, id="a", reason=" ")
    refused("empty", 2, call, id="a", actor=" ")


def test_a_revived_entry_is_active_again_with_what_it_said(knowledge):
    knowledge.deprecate(id="a")

    changed = knowledge.revive(id="a", reason="It was right", actor="Bea")

    entry = knowledge.get(id="a")
    assert (changed["action"], entry["status"], entry["content"], entry["contributors"]) == (
        "revived",
        "active",
        "Stops at three.",
        ["Bea"],
    )


def test_a_superseded_entry_revives_only_when_its_key_is_free(knowledge, refused):
    knowledge.add(id="b", title="Four", text="Four.", provenance=["cmd:x"], merge_key="k", on_conflict="supersede")

    error = refused("key-held", 1, knowledge.revive, id="a")

    assert error.details == {"holder": "b"}
    knowledge.deprecate(id="b")
    assert knowledge.revive(id="a")["action"] == "revived"


def test_a_deleted_entry_leaves_its_file_and_every_list_and_keeps_its_history(knowledge, repository):
    path = repository / knowledge.get(id="a")["path"]

    knowledge.delete(id="a", reason="Was nonsense")

    assert not path.exists()
    assert knowledge.list(status="any")["entries"] == knowledge.search(query="three", status="any")["results"] == []
    assert knowledge.get(id="a")["status"] == "deleted"
    assert [(item["type"], item["content"]) for item in knowledge.history(id="a")["events"]] == [
        ("entry.deleted", None),
        ("entry.added", "Stops at three."),
    ]


def test_superseding_in_a_circle_is_not_possible_and_history_still_answers(knowledge):
    knowledge.add(id="b", title="Four", text="Four.", provenance=["cmd:x"], merge_key="k", on_conflict="supersede")
    knowledge.add(id="c", title="Five", text="Five.", provenance=["cmd:x"], merge_key="k", on_conflict="supersede")

    assert [knowledge.get(id=name)["status"] for name in "abc"] == ["superseded", "superseded", "active"]
    assert [knowledge.get(id=name)["supersedes"] for name in "abc"] == [[], ["a"], ["b"]]


@pytest.fixture
def elsewhere(repository: Path, knowledge, opened, clock, tmp_path):
    """The same repository in another place, as it was a moment ago: what happens there comes back by its segments."""
    copy = tmp_path / "elsewhere"
    opened.close()
    shutil.copytree(repository, copy, ignore=shutil.ignore_patterns("local"))
    client = Decapod(str(copy), clock=clock, actor="Bea")
    yield client
    client.close()


def bring_home(elsewhere: Decapod, repository: Path) -> None:
    """What git does at a merge: segments are added."""
    there = repository.parent / "elsewhere" / ".decapod" / "ledgers"
    for path in there.rglob("*.jsonl"):
        target = repository / ".decapod" / "ledgers" / path.relative_to(there)
        if not target.exists():
            os.makedirs(target.parent, exist_ok=True)
            shutil.copy(path, target)


def test_an_entry_edited_on_both_sides_is_diverged_and_settled_by_keeping_one(
    knowledge, opened, elsewhere, repository, clock, refused
):
    mine = knowledge.edit(id="a", text="Mine.")["version"]
    clock.forward(milliseconds=5)
    theirs = elsewhere.knowledge.edit(id="a", text="Theirs.")["version"]
    bring_home(elsewhere, repository)

    entry = knowledge.get(id="a")
    assert (entry["diverged"], entry["heads"], entry["content"]) == (True, [mine, theirs], "Theirs.")
    assert opened.status()["diverged"] == ["a"]
    assert [found["id"] for found in knowledge.list(diverged=True)["entries"]] == ["a"]
    refused("diverged", 1, knowledge.edit, id="a", text="Third.")
    refused("diverged", 1, knowledge.promote, source_entry_id="a", evidence_refs=["cmd:x"], reason="r")
    refused("not-a-head", 1, knowledge.settle, target="a", keep="nothing")

    settled = knowledge.settle(target="a", keep=mine, reason="Mine was right")

    entry = knowledge.get(id="a")
    assert (settled["action"], entry["diverged"], entry["content"]) == ("settled", False, "Mine.")
    assert {item["content"] for item in knowledge.history(id="a")["events"]} == {"Mine.", "Theirs.", "Stops at three."}
    refused("nothing-to-settle", 1, knowledge.settle, target="a", keep=mine)
    assert opened.rebuild(check=True)["ok"]


def test_a_key_taken_on_both_sides_clashes_and_is_settled_by_keeping_one(
    knowledge, opened, elsewhere, repository, refused
):
    fields = {"text": "Text.", "provenance": ["cmd:x"], "merge_key": "new"}
    knowledge.add(id="b", title="Mine", **fields)
    elsewhere.knowledge.add(id="c", title="Theirs", **fields)
    bring_home(elsewhere, repository)

    assert opened.status()["clashes"] == ["new (root): b, c"]
    refused("not-a-holder", 1, knowledge.settle, target="new", keep="a")
    settled = knowledge.settle(target="new", keep="c")

    assert (settled["id"], settled["superseded_ids"]) == ("c", ["b"])
    assert (knowledge.get(id="b")["status"], knowledge.get(id="c")["status"]) == ("superseded", "active")
    assert opened.status()["clashes"] == []


def test_an_add_to_a_clashing_key_merges_into_the_smallest_id_and_supersedes_the_rest(
    knowledge, elsewhere, repository, opened
):
    fields = {"text": "Text.", "provenance": ["cmd:x"], "merge_key": "new"}
    knowledge.add(id="c", title="Mine", **fields)
    elsewhere.knowledge.add(id="b", title="Theirs", **fields)
    bring_home(elsewhere, repository)

    added = knowledge.add(title="Third", **fields)

    assert (added["id"], added["action"], added["superseded_ids"]) == ("b", "merged", ["c"])
    assert opened.status()["clashes"] == []


def test_a_version_is_kept_though_a_stranger_used_its_id_for_another_entry(knowledge, elsewhere, repository, clock):
    mine = knowledge.edit(id="a", text="Mine.")["version"]
    clock.forward(milliseconds=5)
    elsewhere.knowledge.edit(id="a", text="Theirs.")
    bring_home(elsewhere, repository)
    for salt in ("1", "2", "3"):  # one of them sorts before the event it imitates
        twin = {"event_id": mine, "entry_id": f"twin-{salt}", "type": "entry.added", "ledger": "knowledge.events"}
        common = {"v": 1, "ts": "2026-03-01T12:00:00.000Z", "actor": "Eve", "prev": []}
        path = repository / ".decapod" / "ledgers" / "knowledge.events" / "2026-03" / f"{mine[:-1]}{salt}.jsonl"
        path.write_bytes(to_line(seal({**common, **twin}, {"title": "T", "content": "Not mine."}, salt)))

    knowledge.settle(target="a", keep=mine)

    assert knowledge.get(id="a")["content"] == "Mine."


def test_settling_what_is_not_there_is_refused(knowledge, refused):
    refused("not-found", 1, knowledge.settle, target="nothing", keep="a")
    refused("nothing-to-settle", 1, knowledge.settle, target="a", keep="a")
    refused("empty", 2, knowledge.settle, target="a", keep="a", scope="")
    refused("bad-id", 2, knowledge.settle, target="", keep="")


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("deprecate", {"id": "a"}),
        ("delete", {"id": "a"}),
        ("revive", {"id": "a"}),
        ("settle", {"target": "a", "keep": "a"}),
        ("reaffirm", {"ids": ["a"]}),
        ("promote", {"source_entry_id": "a", "evidence_refs": ["cmd:x"]}),
        ("approve", {"event": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}),
        ("revoke_promotion", {"event": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}),
    ],
)
def test_a_secret_in_a_reason_is_refused(knowledge, refused, verb, arguments):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    refused("secret", 1, getattr(knowledge, verb), **arguments, reason=f"It has {token}.")
