"""`decapod rebuild` and `doctor`: everything derived equals the fold, or it is said where not."""

from __future__ import annotations

import shutil
import sqlite3

import pytest
from support import git


@pytest.fixture(autouse=True)
def entry(knowledge):
    knowledge.add(id="a", title="Three", text="Stops at three.", provenance=["cmd:one"])


@pytest.fixture
def page(knowledge, repository):
    return repository / knowledge.get(id="a")["path"]


def codes(found):
    return [problem["code"] for problem in found["problems"]]


def test_a_sound_workspace_is_proved_sound(opened):
    digest = opened.status()["digest"]

    assert opened.rebuild(check=True) == {
        "ok": True,
        "checked": True,
        "events": 1,
        "entries": 1,
        "digest": digest,
        "problems": [],
    }
    assert opened.doctor() == {"ok": True, "problems": [], "fixed": []}


def test_rebuilding_makes_the_same_state_and_the_same_bytes(opened, page):
    before, bytes_before = opened.status(), page.read_bytes()

    assert opened.rebuild() == {
        "ok": True,
        "checked": False,
        "events": 1,
        "entries": 1,
        "digest": before["digest"],
        "problems": [],
    }
    assert (opened.status(), page.read_bytes()) == (before, bytes_before)


def test_local_may_be_deleted_at_any_time(opened, knowledge, repository):
    digest = opened.status()["digest"]
    opened.close()
    shutil.rmtree(repository / ".decapod" / "local")

    assert (opened.status()["digest"], knowledge.get(id="a")["content"]) == (digest, "Stops at three.")
    assert opened.rebuild(check=True)["ok"]


@pytest.mark.parametrize("damage", [b"", b"not a database", b"SQLite format 3\x00" + b"\xff" * 4000])
def test_an_unreadable_database_is_made_anew(opened, knowledge, repository, damage):
    digest = opened.status()["digest"]
    opened.close()
    local = repository / ".decapod" / "local"
    for path in local.glob("knowledge.db-*"):
        path.unlink()
    (local / "knowledge.db").write_bytes(damage)

    assert opened.status()["digest"] == digest
    if damage:
        assert (local / "knowledge.db.unreadable-1").read_bytes() == damage


@pytest.mark.parametrize(
    ("change", "table"),
    [
        ("UPDATE entries SET digest = x'00'", "entries"),
        ("DELETE FROM entries", "entries"),
        ("DELETE FROM entry_words", "search"),
        ("UPDATE events SET is_head = 0", "events"),
        ("INSERT INTO feedback VALUES ('a', 9, 0, 0, 0)", "feedback"),
        ("INSERT INTO promotion_uses VALUES ('x', 'a')", "promotion_uses"),
    ],
)
def test_a_database_that_is_not_the_fold_is_found_and_made_anew(opened, repository, change, table):
    opened.close()
    connection = sqlite3.connect(repository / ".decapod" / "local" / "knowledge.db")
    connection.execute(change)
    connection.commit()
    connection.close()

    checked = opened.rebuild(check=True)

    assert not checked["ok"]
    assert f"{table} differs from the fold of the ledgers" in checked["problems"][0]["message"]
    assert opened.doctor(fix=True)["ok"]
    assert opened.rebuild(check=True)["ok"]


def test_a_missing_file_is_said_and_written_again(opened, page):
    before = page.read_bytes()
    page.unlink()

    assert codes(opened.rebuild(check=True)) == ["markdown-missing"]
    assert not page.exists()
    assert opened.rebuild()["ok"]
    assert page.read_bytes() == before


def test_a_file_of_an_earlier_version_is_said_and_written_again(opened, knowledge, page):
    old = page.read_bytes()
    knowledge.edit(id="a", text="Stops at four.")
    new = page.read_bytes()
    page.write_bytes(old)

    assert codes(opened.rebuild(check=True)) == ["markdown-stale"]
    fixed = opened.doctor(fix=True)
    assert (fixed["ok"], fixed["fixed"]) == (True, [f"repaired .decapod/knowledge/{page.name}"])
    assert page.read_bytes() == new


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "markdown-damaged"), ("no front matter", "markdown-edited"), ("---\nid: a\n---\nNew.\n", "markdown-edited")],
)
def test_a_file_that_holds_something_new_or_nothing_is_said_and_left(opened, page, text, code):
    page.write_text(text)

    assert codes(opened.rebuild(check=True)) == [code]
    assert codes(opened.rebuild()) == [code]
    assert not opened.doctor(fix=True)["ok"]
    assert page.read_text() == text


def test_checking_changes_nothing(opened, knowledge, page, repository):
    knowledge.edit(id="a", text="Stops at four.")
    page.write_text("by hand")
    before = sorted((str(path), path.stat().st_mtime_ns) for path in (repository / ".decapod").rglob("*.*l"))

    opened.rebuild(check=True)

    assert sorted((str(path), path.stat().st_mtime_ns) for path in (repository / ".decapod").rglob("*.*l")) == before
    assert page.read_text() == "by hand"


def test_what_git_swept_away_is_said_and_brought_back(opened, knowledge, repository):
    git(repository, "clean", "-fdq")

    problems = opened.doctor()["problems"]
    assert [(problem["code"], problem["fix"]) for problem in problems] == [("swept", "decapod ledger restore")]
    fixed = opened.doctor(fix=True)
    assert (fixed["ok"], len(fixed["fixed"])) == (True, 1)
    assert knowledge.get(id="a")["content"] == "Stops at three."


def test_doctor_explains_what_git_does_wrong(opened, repository):
    (repository / ".gitignore").write_text("*.jsonl\n")
    (repository / ".decapod" / ".gitattributes").unlink()
    git(repository, "add", "-f", ".decapod/local/.gitignore")

    problems = {problem["code"]: problem["fix"] for problem in opened.doctor()["problems"]}

    assert problems == {
        "git-ignores": "add !/.decapod/ and !/.decapod/** after it",
        "local-tracked": "git rm -r --cached .decapod/local",
        "no-gitattributes": "decapod init",
    }


def test_doctor_says_when_some_clock_ran_fast(opened, knowledge, clock):
    clock.forward(days=400)
    knowledge.edit(id="a", text="From the future.")
    clock.forward(days=-400)

    assert codes(opened.doctor()) == ["clock"]
    assert knowledge.edit(id="a", text="From now.")["action"] == "edited"
    assert knowledge.get(id="a")["content"] == "From now."


def test_a_clash_a_divergence_and_a_bad_line_are_open_questions(opened, knowledge, repository):
    ledger = repository / ".decapod" / "ledgers" / "knowledge.events" / "2026-03" / "01KJMMA2G1040G2081040G2081.jsonl"
    ledger.write_text("x\n")

    assert codes(opened.doctor()) == ["not-json"]
    rebuilt = opened.rebuild()
    assert (rebuilt["ok"], codes(rebuilt)) == (False, ["not-json"])


def test_markdown_whose_events_are_gone_is_no_proof(opened, knowledge, repository):
    knowledge.get(id="a")
    for segment in (repository / ".decapod" / "ledgers").rglob("*.jsonl"):
        segment.unlink()

    checked = opened.rebuild(check=True)

    assert checked["ok"] is False
    assert {found["code"] for found in checked["problems"]} == {"markdown-orphaned"}


def test_a_torn_line_is_told_and_leaves_the_doctor_content(opened, knowledge, repository):
    knowledge.get(id="a")
    segment = next((repository / ".decapod" / "ledgers" / "knowledge.events").rglob("*.jsonl"))
    segment.write_bytes(segment.read_bytes() + b'{"half')

    diagnosis = opened.doctor()

    assert (diagnosis["ok"], codes(diagnosis)) == (True, ["torn-line"])
