"""`knowledge edit`: a new version with everything in it, never over somebody else's change."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def entry(knowledge):
    knowledge.add(
        id="a",
        title="Three",
        text="Stops at three.",
        provenance=["cmd:one"],
        tags=["x", "y"],
        merge_key="k",
        claim_id="C",
        confidence=0.5,
    )


def test_an_edit_changes_what_is_given_and_keeps_the_rest(knowledge, clock):
    before = knowledge.get(id="a")
    clock.forward(days=1)

    changed = knowledge.edit(id="a", text="Stops at four.", actor="Bea")

    after = knowledge.get(id="a")
    assert changed == {
        "id": "a",
        "action": "edited",
        "event_id": after["version"],
        "version": after["version"],
        "superseded_ids": [],
    }
    assert after == {
        **before,
        "content": "Stops at four.",
        "contributors": ["Bea"],
        "updated_at": "2026-03-02T12:00:00.000Z",
        "version": after["version"],
        "heads": [after["version"]],
    }
    assert after["version"] > before["version"]


def test_what_is_given_empty_is_cleared(knowledge):
    knowledge.edit(id="a", merge_key="", claim_id=" ", tags=[""])

    entry = knowledge.get(id="a")
    assert (entry["merge_key"], entry["claim_id"], entry["tags"]) == (None, None, [])


def test_an_edit_that_says_the_same_writes_nothing(knowledge, opened, repository):
    before = opened.status()

    changed = knowledge.edit(id="a", title="Three", text="Stops at three.\n", tags=["x", "y"])

    version = knowledge.get(id="a")["version"]
    assert changed == {"id": "a", "action": "unchanged", "event_id": version, "version": version, "superseded_ids": []}
    assert opened.status() == before


def test_an_edit_of_an_older_version_is_refused_with_the_present_one(knowledge, refused):
    first = knowledge.get(id="a")["version"]
    knowledge.edit(id="a", title="Four", expected_version=first)
    second = knowledge.get(id="a")["version"]

    error = refused("version-conflict", 1, knowledge.edit, id="a", title="Five", expected_version=first)

    assert error.details == {"current_version": second}
    assert knowledge.edit(id="a", title="Five", expected_version=second)["action"] == "edited"


def test_an_edit_may_not_take_a_key_that_another_entry_holds(knowledge, refused):
    knowledge.add(id="b", title="Other", text="Other.", provenance=["cmd:x"], merge_key="j")

    error = refused("key-held", 1, knowledge.edit, id="b", merge_key="k")

    assert error.details == {"holder": "a"}
    assert knowledge.edit(id="b", merge_key="free")["action"] == "edited"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"title": ""}, "no-title"),
        ({"text": "  "}, "no-text"),
        ({"text": "a\x00"}, "bad-text"),
        ({"provenance": ["nothing"]}, "bad-provenance"),
        ({"provenance": ["file:../x"]}, "bad-provenance"),
        ({"merge_key": "a\nb"}, "bad-text"),
        ({"expires_ts": "123ZZ"}, "bad-time"),
        ({"ttl_policy": "persistent", "expires_ts": "1d"}, "never-expires"),
        ({"confidence": 7}, "bad-arguments"),
        ({"actor": " "}, "empty"),
        ({"id": "not/../id"}, "bad-id"),
    ],
)
def test_an_edit_that_cannot_be_right_is_refused(knowledge, refused, fields, code):
    refused(code, 2, knowledge.edit, **{"id": "a", "title": "New", **fields})


def test_what_is_not_there_or_deleted_cannot_be_edited(knowledge, refused):
    refused("not-found", 1, knowledge.edit, id="nothing", title="New")
    knowledge.delete(id="a")
    refused("deleted", 1, knowledge.edit, id="a", title="New")


def test_a_lifetime_may_be_given_prolonged_and_taken_away(knowledge, clock):
    def lifetime():
        entry = knowledge.get(id="a")
        return entry["ttl_policy"], entry["expires_ts"]

    knowledge.edit(id="a", ttl_policy="ephemeral")
    assert lifetime() == ("ephemeral", "2026-03-02T12:00:00.000Z")
    knowledge.edit(id="a", expires_ts="3d")
    assert lifetime() == ("ephemeral", "2026-03-04T12:00:00.000Z")
    clock.forward(days=1)
    knowledge.edit(id="a", title="Four")
    assert lifetime() == ("ephemeral", "2026-03-04T12:00:00.000Z")
    knowledge.edit(id="a", ttl_policy="persistent")
    assert lifetime() == ("persistent", None)


def test_a_default_lifetime_starts_anew_with_each_version(knowledge, clock):
    knowledge.edit(id="a", ttl_policy="decay")
    clock.forward(days=10)
    knowledge.edit(id="a", text="Confirmed today.")

    assert knowledge.get(id="a")["expires_ts"] == "2026-06-09T12:00:00.000Z"


def test_the_file_follows_the_edit_and_its_path_stays(knowledge, repository):
    path = knowledge.get(id="a")["path"]
    knowledge.edit(id="a", title="Renamed", text="New body.")

    assert knowledge.get(id="a")["path"] == path
    text = (repository / path).read_text()
    assert "title: Renamed\n" in text
    assert text.endswith("\nNew body.\n")


def test_a_hand_edited_file_is_reported_and_never_overwritten(knowledge, opened, repository):
    path = repository / knowledge.get(id="a")["path"]
    by_hand = path.read_text().replace("Stops at three.", "Stops at ten, says a hand.")
    path.write_text(by_hand)

    def left_alone() -> bool:
        return path.read_text() == by_hand and opened.status()["markdown"] == {"edited": 1}

    knowledge.edit(id="a", text="Stops at four.")
    assert opened.warnings == [
        f".decapod/knowledge/{path.name} (entry a) was edited by hand; it is left as it is, so it does not show"
        " this change"
    ]
    assert left_alone()
    knowledge.add(title="Five", text="Stops at five.", provenance=["cmd:x"], merge_key="k")
    assert left_alone()
    knowledge.edit(id="a", ttl_policy="decay", expires_ts="2026-03-01T12:00:00Z")
    assert knowledge.decay()["stale_ids"] == ["a"]
    assert left_alone()
    rebuilt = opened.rebuild()
    assert (rebuilt["ok"], [problem["code"] for problem in rebuilt["problems"]]) == (False, ["markdown-edited"])
    assert left_alone()
    assert opened.doctor(fix=True)["fixed"] == []
    assert left_alone()
    knowledge.delete(id="a")
    assert path.read_text() == by_hand
    assert [problem["code"] for problem in opened.rebuild(check=True)["problems"]] == ["markdown-undeleted"]
