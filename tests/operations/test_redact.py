"""`decapod ledger redact`: the text is nowhere any more, everything still verifies, and what is left is told."""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from support import git

from decapod_py.domain.event import from_line
from decapod_py.foundation.errors import Refused
from decapod_py.foundation.ids import milliseconds_of, ulid
from decapod_py.storage import database, redaction

LEAK = "The password of the deploy account is xyzzyplugh-kwijibo."
SECRET = re.compile(rb"xyzzyplugh|kwijibo", re.IGNORECASE)

TOKEN = "ghp_" + "aB3dE5fG7hI9" * 3


@pytest.fixture
def leaked(knowledge: Any) -> str:
    """An entry whose second version leaked, beside one that did not."""
    knowledge.add(id="other", title="Other", text="Nothing to hide.", provenance=["cmd:x"])
    knowledge.add(id="leak", title="Deploying", text="Harmless so far.", provenance=["person:ada"])
    version: str = knowledge.edit(id="leak", text=LEAK)["version"]
    return version


@pytest.fixture
def segment(repository: Path, leaked: str) -> Path:
    (found,) = (repository / ".decapod" / "ledgers" / "knowledge.events").rglob("*.jsonl")
    return found


def holders(repository: Path) -> list[str]:
    """Every file of the workspace, database and kept segments too, that has the secret in its bytes."""
    top = repository / ".decapod"
    return sorted(
        path.relative_to(top).as_posix()
        for path in top.rglob("*")
        if path.is_file() and SECRET.search(path.read_bytes())
    )


def another(segment: Path) -> Path:
    """A segment of the same ledger that sorts after this one."""
    return segment.with_name(f"{ulid(milliseconds_of(segment.stem) + 1)}.jsonl")


def assert_sound(opened: Any) -> None:
    assert opened.ledger.verify()["problems"] == []
    assert opened.rebuild(check=True)["problems"] == []


def everything_said(opened: Any, knowledge: Any, as_of: str) -> str:
    """Whatever readers say about the entry, now and earlier."""
    return json.dumps(
        [
            knowledge.get(id="leak"),
            knowledge.get(id="leak", as_of=as_of),
            knowledge.list(),
            knowledge.history(id="leak"),
            knowledge.search(query="password", content=True),
            knowledge.search(query="password", as_of=as_of, content=True),
            knowledge.export(),
            opened.ledger.show(),
        ]
    )


def test_nothing_below_decapod_has_the_text_of_a_redacted_entry(opened, knowledge, leaked, repository):
    git(repository, "add", "-A")
    knowledge.edit(id="leak", text=f"{LEAK} It was changed since.")
    knowledge.deprecate(id="leak", reason="Because of kwijibo.")
    assert {path.partition("/")[0] for path in holders(repository)} == {"ledgers", "knowledge", "local"}

    answer = opened.ledger.redact(target="leak", reason="A password leaked.")

    assert holders(repository) == []
    assert (len(answer["redacted"]), answer["entries"], len(answer["event_ids"])) == (4, ["leak"], 1)
    assert (len(answer["segments"]), answer["left"]) == (2, [])
    (file,) = answer["files"]
    assert "[redacted]" in (repository / file).read_text()
    entry = knowledge.get(id="leak")
    assert (entry["title"], entry["content"], entry["status"]) == ("[redacted]", "[redacted]", "deprecated")
    assert knowledge.get(id="other")["content"] == "Nothing to hide."
    assert_sound(opened)


def test_redacting_one_version_leaves_the_others(opened, knowledge, leaked, repository):
    knowledge.edit(id="leak", text="Ask the vault.")

    answer = opened.ledger.redact(target=leaked, reason="A password leaked.")

    assert (answer["redacted"], answer["files"], holders(repository)) == ([leaked], [], [])
    assert knowledge.get(id="leak")["content"] == "Ask the vault."
    said = [item["content"] for item in knowledge.history(id="leak")["events"] if item["is_version"]]
    assert said == ["Ask the vault.", None, "Harmless so far."]
    assert_sound(opened)


def test_the_event_says_what_was_redacted_and_why(opened, leaked):
    opened.ledger.redact(target=f"event:{leaked.lower()}", reason="A password leaked.", actor="Ben")

    event = opened.ledger.show(type="event.redacted")["events"][-1]
    assert (event["redacts"], event["entry_ids"], event["actor"]) == ([leaked], ["leak"], "Ben")
    assert event["text"]["reason"] == "A password leaked."


def test_doing_it_again_writes_no_second_event(opened, leaked):
    first = opened.ledger.redact(target="leak", reason="A password leaked.")
    events = opened.status()["events"]

    again = opened.ledger.redact(target="leak", reason="Once more.")

    assert (opened.status()["events"], again["event_ids"]) == (events, first["event_ids"])
    assert (again["segments"], again["files"], again["left"]) == ([], [], [])


def test_a_later_leak_of_a_redacted_entry_is_redacted_by_an_event_of_its_own(opened, knowledge, leaked, repository):
    opened.ledger.redact(target="leak", reason="A password leaked.")
    version = knowledge.edit(id="leak", text=LEAK)["version"]

    answer = opened.ledger.redact(target="leak", reason="And again.")

    assert opened.ledger.show(type="event.redacted")["events"][-1]["redacts"] == [version]
    assert (len(answer["event_ids"]), holders(repository)) == (2, [])
    assert_sound(opened)


def test_a_dry_run_says_what_would_go_and_changes_nothing(opened, leaked, segment, repository):
    before = {path: path.read_bytes() for path in (repository / ".decapod").rglob("*.*") if path.is_file()}

    answer = opened.ledger.redact(target="leak", reason="A password leaked.", dry_run=True)

    assert (answer["dry_run"], answer["event_ids"], len(answer["redacted"])) == (True, [], 2)
    assert answer["segments"] == [segment.relative_to(repository).as_posix()]
    assert len(answer["files"]) == 1
    for path in before.keys() - {repository / ".decapod" / "local" / "knowledge.db-shm"}:
        assert path.read_bytes() == before[path]


def test_readers_obey_where_an_old_line_reappears_and_doing_it_again_takes_it_out(
    opened, knowledge, leaked, segment, repository, clock
):
    old = segment.read_bytes()
    clock.forward(days=1)
    opened.ledger.redact(target="leak", reason="A password leaked.")
    digest = opened.status()["digest"]

    another(segment).write_bytes(old)

    assert not SECRET.search(everything_said(opened, knowledge, "2026-03-01T12:00:00Z").encode())
    assert opened.status()["digest"] == digest
    again = opened.ledger.redact(target="leak", reason="It came back.")
    assert again["segments"] == [another_path(segment, repository)]
    assert (holders(repository), opened.status()["digest"]) == ([], digest)
    assert_sound(opened)


def another_path(segment: Path, repository: Path) -> str:
    (found,) = set(segment.parent.glob("*.jsonl")) - {segment, *newest(segment)}
    return found.relative_to(repository).as_posix()


def newest(segment: Path) -> list[Path]:
    """The segment with the redaction."""
    return [path for path in segment.parent.glob("*.jsonl") if b'"event.redacted"' in path.read_bytes()]


def test_doctor_tells_of_an_old_line_and_takes_it_out(opened, knowledge, leaked, segment, repository):
    old = segment.read_bytes()
    opened.ledger.redact(target="leak", reason="A password leaked.")
    another(segment).write_bytes(old)
    kept = repository / ".decapod" / "local" / "kept" / segment.relative_to(repository / ".decapod" / "ledgers")
    kept.write_bytes(old)

    told = [problem["code"] for problem in opened.doctor()["problems"]]
    healed = opened.doctor(fix=True)

    assert told == ["redaction-undone", "redaction-undone"]
    assert (healed["ok"], healed["problems"], len(healed["fixed"])) == (True, [], 2)
    assert holders(repository) == []


def test_a_commit_of_the_past_does_not_show_it_either(opened, knowledge, leaked, repository):
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Leak")
    opened.ledger.redact(target="leak", reason="A password leaked.")

    assert knowledge.get(id="leak", as_of="HEAD")["content"] == "[redacted]"
    assert knowledge.search(query="kwijibo", as_of="HEAD")["count"] == 0


def test_an_entry_whose_every_text_went_can_be_edited_and_deleted(opened, knowledge, leaked):
    opened.ledger.redact(target="leak", reason="A password leaked.")

    knowledge.edit(id="leak", title="Deploying", text="Ask the vault.")
    assert knowledge.get(id="leak")["content"] == "Ask the vault."
    assert knowledge.search(query="vault")["results"][0]["id"] == "leak"
    knowledge.delete(id="leak")
    assert_sound(opened)


def test_a_deleted_entry_can_be_redacted(opened, knowledge, leaked, repository):
    knowledge.delete(id="leak", reason="It has kwijibo in it.")

    opened.ledger.redact(target="leak", reason="A password leaked.")

    assert holders(repository) == []
    assert_sound(opened)


def test_reasons_of_promotions_and_queries_go_by_their_event(opened, knowledge, leaked, repository):
    promotion = knowledge.promote(
        source_entry_id="other", evidence_refs=["person:ada"], reason="kwijibo held.", actor="Ben"
    )["event_id"]
    approval = knowledge.approve(event=promotion, reason="Since xyzzyplugh.", actor="Cy")
    query = knowledge.retrieval_log(query="kwijibo", returned_ids=["other"], used_ids=["other"], outcome="helped")
    approved = opened.ledger.show(type="promotion.approved")["events"][-1]["event_id"]

    for event in ("leak", promotion, approved, query["event_id"]):
        opened.ledger.redact(target=event, reason="A password leaked.")

    assert holders(repository) == []
    assert [event["ledger"] for event in opened.ledger.show(type="event.redacted")["events"]] == [
        "knowledge.events",
        "knowledge.promotions",
        "knowledge.promotions",
        "knowledge.retrieval",
    ]
    revoked = knowledge.revoke_promotion(event=promotion, reason="Enough.")
    assert (approval["state"], revoked["approved_by"], revoked["reason"]) == ("approved", "Cy", "[redacted]")
    assert knowledge.get(id="other")["feedback"]["helped"] == 1
    assert_sound(opened)


def test_a_reason_that_was_redacted_stays_hidden_where_its_old_line_reappears(opened, knowledge, leaked, repository):
    promotion = knowledge.promote(source_entry_id="other", evidence_refs=["person:ada"], reason="kwijibo held.")
    (segment,) = (repository / ".decapod" / "ledgers" / "knowledge.promotions").rglob("*.jsonl")
    old = segment.read_bytes()
    opened.ledger.redact(target=promotion["event_id"], reason="A password leaked.")
    digest = opened.status()["digest"]

    another(segment).write_bytes(old)

    assert opened.status()["digest"] == digest
    assert knowledge.revoke_promotion(event=promotion["event_id"], reason="Enough.")["reason"] == "[redacted]"


def test_a_text_that_was_approved_and_redacted_approves_nothing(opened, knowledge, leaked, refused):
    promotion = knowledge.promote(
        source_entry_id="leak", evidence_refs=["person:ada"], reason="Held.", actor="Ben", approved_by="Ada"
    )
    opened.ledger.redact(target="leak", reason="A password leaked.")

    refused(
        "source-missing",
        1,
        knowledge.add,
        id="procedural/deploy",
        title="Deploying",
        text=LEAK,
        provenance=[f"event:{promotion['event_id']}"],
    )


def test_what_was_cited_goes_too_and_one_event_about_many_entries_is_told(opened, knowledge, repository):
    (repository / "src" / "b.py").write_text("password = 'kwijibo'\nname = 'deploy'\n")
    for entry in ("one", "two"):
        knowledge.add(id=entry, title=entry, text="See there.", provenance=["file:src/b.py#L1"])
    (repository / "src" / "b.py").write_text("password = 'kwijibo!'\nname = 'deploy'\n")
    knowledge.reaffirm(ids=["one", "two"], reason="It still holds.")

    opened.ledger.redact(target="one", reason="A password leaked.")
    told = opened.warnings
    opened.ledger.redact(target="two", reason="A password leaked.")

    assert any("is about 1 other entries too" in warning for warning in told)
    assert holders(repository) == []
    assert knowledge.get(id="one")["provenance"] == "file:src/b.py#L1"
    assert_sound(opened)


def test_a_file_that_was_edited_by_hand_is_left_and_named(opened, knowledge, leaked, repository):
    file = repository / knowledge.get(id="leak")["path"]
    file.write_text(file.read_text() + "\nSomebody's own words.\n")

    answer = opened.ledger.redact(target="leak", reason="A password leaked.")

    assert [left["path"] for left in answer["left"]] == [file.relative_to(repository).as_posix()]
    assert holders(repository) == [file.relative_to(repository / ".decapod").as_posix()]


def test_a_file_from_before_is_known_as_ours_while_the_line_still_has_the_text(opened, knowledge, leaked, repository):
    file = repository / knowledge.get(id="leak")["path"]
    knowledge.edit(id="leak", text="Ask the vault.")
    knowledge.deprecate(id="other")
    stale = file.read_text().replace("Ask the vault.", LEAK)
    file.write_text(stale)

    answer = opened.ledger.redact(target=leaked, reason="A password leaked.")

    assert (answer["files"], answer["left"]) == ([file.relative_to(repository).as_posix()], [])
    assert "Ask the vault." in file.read_text()


def test_the_file_of_a_diverged_entry_does_not_wait(opened, knowledge, leaked, segment, repository, clock):
    file = repository / knowledge.get(id="leak")["path"]
    before = segment.read_bytes()
    knowledge.edit(id="leak", text=f"{LEAK} On the left.")
    left = segment.read_bytes()[len(before) :]
    segment.write_bytes(before)
    clock.forward(milliseconds=5)
    knowledge.edit(id="leak", text=f"{LEAK} On the right.")
    another(segment).write_bytes(left)
    assert knowledge.get(id="leak")["diverged"]
    file.write_text(file.read_text().replace("On the right", "On the left"))

    answer = opened.ledger.redact(target="leak", reason="A password leaked.")

    assert (answer["files"], answer["left"]) == ([file.relative_to(repository).as_posix()], [])
    assert holders(repository) == []


def test_other_events_and_files_with_the_same_words_are_told(opened, knowledge, leaked, repository):
    knowledge.add(id="twin", title="Twin", text=f"Heard it.\n\n{LEAK}", provenance=["cmd:x"])
    twin = knowledge.get(id="twin")["version"]

    answer = opened.ledger.redact(target="leak", reason="A password leaked.")

    # The Markdown, the segment and what is kept of it; and the database, which shows the other entry.
    assert sum(left["why"].endswith(f"event {twin}") for left in answer["left"]) == 2
    told = {left["path"].partition(":")[0].removeprefix(".decapod/") for left in answer["left"]}
    assert told == {path for path in holders(repository) if not path.startswith("local/knowledge.db")}
    assert len(told) == 3


def test_a_file_named_after_the_leaked_title_is_told(opened, knowledge):
    entry = knowledge.add(title="The word is kwijibo", text="Do not tell.", provenance=["person:ada"])["id"]

    answer = opened.ledger.redact(target=entry, reason="A password leaked.")

    assert [left["path"] for left in answer["left"]] == [knowledge.get(id=entry)["path"]]
    assert "made of the title" in answer["left"][0]["why"]


def test_databases_that_were_moved_aside_and_temp_files_go(opened, leaked, repository):
    local = repository / ".decapod" / "local"
    (local / "knowledge.db.unreadable-1").write_text(LEAK)
    (local / "1-ab.tmp").write_text(LEAK)

    opened.ledger.redact(target="leak", reason="A password leaked.")

    assert holders(repository) == []


def test_a_text_that_was_altered_goes_too(opened, knowledge, leaked, segment, repository):
    another(segment).write_bytes(segment.read_bytes().replace(b"kwijibo", b"kwijibO"))

    opened.ledger.redact(target="leak", reason="A password leaked.")

    assert holders(repository) == []
    assert_sound(opened)


def test_line_ends_and_lines_that_are_no_events_stay_as_they_are(opened, leaked, segment):
    segment.write_bytes(segment.read_bytes().replace(b"\n", b"\r\n") + b"no event\r\n" + b'{"torn')

    opened.ledger.redact(target="leak", reason="A password leaked.")

    lines = segment.read_bytes().splitlines(keepends=True)
    assert (lines[3:], {line[-2:] for line in lines[:3]}) == ([b"no event\r\n", b'{"torn'], {b"\r\n"})
    assert ["text" in from_line(line) for line in lines[:3]] == [True, False, False]


def test_packing_does_not_bring_a_text_back(opened, knowledge, leaked, segment, repository):
    old = segment.read_bytes()
    opened.ledger.redact(target="leak", reason="A password leaked.")
    another(segment).write_bytes(old)
    for number in range(5):
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", "It came back")
        knowledge.add(id=f"p{number}", title=f"P{number}", text=f"{number} " * 200, provenance=["cmd:x"])

    assert opened.ledger.pack()["joined"] == 6

    assert not [path for path in holders(repository) if path.startswith("ledgers/")]
    assert_sound(opened)


def test_whoever_reads_the_database_meanwhile_is_told_of(opened, leaked, repository, monkeypatch):
    monkeypatch.setattr(database, "_WAIT_FOR_READERS", 10)
    reader = sqlite3.connect(repository / ".decapod" / "local" / "knowledge.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM entries").fetchall()

    answer = opened.ledger.redact(target="leak", reason="A password leaked.")
    reader.close()

    assert [left["path"] for left in answer["left"]] == [".decapod/local/knowledge.db"]
    assert opened.ledger.redact(target="leak", reason="Once more.")["left"] == []
    assert holders(repository) == []


def test_the_commits_that_have_it_are_told_and_the_steps_that_remain(opened, leaked, repository):
    assert opened.ledger.redact(target="leak", reason="Why.", dry_run=True)["history"]["commits"] == 0
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Leak")
    leak = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "switch", "-qc", "elsewhere")
    (repository / "src" / "a.py").write_text("changed\n")
    git(repository, "commit", "-qam", "Nothing about it")
    git(repository, "switch", "-q", "-")

    answer = opened.ledger.redact(target="leak", reason="A password leaked.")

    assert (answer["history"]["first"], answer["history"]["hashes"]) == (leak, [leak])
    steps = "\n".join(answer["next"])
    assert [
        word in steps for word in ("make it void", "git filter-repo", "--force", "forks", "git gc", "git stash")
    ] == [True] * 6


def test_what_only_a_stash_has_is_told_as_well(opened, knowledge, leaked, repository):
    git(repository, "stash", "-uq")
    git(repository, "stash", "apply", "-q")

    assert opened.ledger.redact(target="leak", reason="Why.")["history"]["commits"] >= 1


def test_the_callback_for_git_filter_repo_gives_the_same_bytes(opened, leaked, segment):
    old = segment.read_bytes()
    opened.ledger.redact(target="leak", reason="A password leaked.")
    ids = [json.loads(line)["event_id"] for line in old.splitlines()[1:]]

    class Blob:
        data = old

    exec(redaction.history_callback(ids), {"blob": Blob})  # as the tool does it

    assert segment.read_bytes().startswith(Blob.data)  # and the redaction follows
    assert not SECRET.search(Blob.data)


def test_a_redaction_that_does_not_name_the_entry_is_said_again(opened, knowledge, leaked, segment, repository):
    """A stranger's event may be of any shape; ours makes every fold agree."""
    from decapod_py.domain.event import seal, to_line

    last = from_line(segment.read_bytes().splitlines()[-1])
    event = {name: last[name] for name in ("v", "ts", "ledger", "actor")} | {
        "event_id": ulid(milliseconds_of(last["event_id"]) + 1),
        "type": "event.redacted",
        "prev": [last["hash"]],
        "redacts": [leaked],
    }
    with segment.open("ab") as file:
        file.write(to_line(seal(event, {}, "salt")))

    opened.ledger.redact(target=leaked, reason="A password leaked.")

    assert opened.ledger.show(type="event.redacted")["count"] == 2
    assert_sound(opened)


def test_what_cannot_be_meant_is_refused(opened, knowledge, leaked, refused, repository):
    redact = opened.ledger.redact
    quiet = knowledge.deprecate(id="other")["event_id"]
    refused("not-found", 1, redact, target="nothing", reason="Why.")
    refused("not-found", 1, redact, target=ulid(5), reason="Why.")
    refused("no-such-event", 1, redact, target=f"event:{ulid(5)}", reason="Why.")
    refused("not-utf8", 2, redact, target="a\ud800", reason="Why.")
    refused("bad-id", 2, redact, target="", reason="Why.")
    refused("no-text", 1, redact, target=quiet, reason="Why.")
    refused("empty", 2, redact, target="leak", reason=" ")
    refused("leaks-again", 1, redact, target="leak", reason=f"Because: {LEAK}")
    (repository / ".git" / "index.lock").touch()
    refused("git-at-work", 1, redact, target="leak", reason="Why.")


def test_a_workspace_without_git_is_redacted_too(tmp_path):
    from decapod_py.client import Decapod

    with Decapod(str(tmp_path)) as client:
        client.init()
        client.knowledge.add(id="leak", title="Deploying", text=LEAK, provenance=["person:ada"])
        answer = client.ledger.redact(target="leak", reason="A password leaked.")

    assert (answer["history"]["note"], len(answer["next"])) == ("there is no git here", 1)
    assert holders(tmp_path) == []


def test_a_folder_that_cannot_be_written_leaves_a_redaction_that_can_be_finished(
    opened, leaked, segment, repository, monkeypatch
):
    replace = os.replace

    def refusing(source: str, target: str) -> None:
        if target.endswith(".jsonl"):
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refusing)
    with pytest.raises(Exception, match="every reader obeys it") as refusal:
        opened.ledger.redact(target="leak", reason="A password leaked.")
    monkeypatch.undo()

    assert (refusal.value.code, opened.knowledge.get(id="leak")["content"]) == ("unfinished", "[redacted]")
    opened.ledger.redact(target="leak", reason="Once more.")
    assert (holders(repository), opened.ledger.show(type="event.redacted")["count"]) == ([], 1)


def test_what_the_hash_covers_is_named_because_it_stays(opened, knowledge, repository):
    knowledge.add(
        id="e",
        title="t",
        text="b",
        provenance=["url:https://h/?u=kwijibo"],
        tags=["kwijibo"],
        merge_key="kwijibo",
        claim_id="kwijibo",
        scope="kwijibo",
        source="kwijibo",
    )

    answer = opened.ledger.redact(target="e", reason="A leak.")

    assert holders(repository) != []
    (left,) = answer["left"]
    assert left["path"] == ".decapod/ledgers/knowledge.events"
    assert "provenance, tags, merge_key, claim_id, scope, source" in left["why"]
    assert any("ledger verify then reports a gap" in step for step in answer["next"])


def test_a_reason_that_holds_a_secret_is_refused(opened, knowledge, leaked, repository):
    with pytest.raises(Refused) as refused:
        opened.ledger.redact(target="leak", reason=f"It was {TOKEN}.")

    assert refused.value.code == "secret"
    assert knowledge.get(id="leak")["content"] == LEAK
