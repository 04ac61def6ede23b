"""Anchored provenance: what may be cited, how citations drift, and where an entry's readers see it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from operations.conftest import files_of
from support import git, run

CLIENT = '''\
import time


class Client:
    """Talks to the server."""

    def retry(self, attempt):
        if attempt > 3:
            raise GivenUp(attempt)
        time.sleep(attempt)

    def close(self):
        self.socket.close()


LIMIT = ['three', 'tries']
'''
GUIDE = """\
# Guide

Read this first.

## Retries

A failed call is tried three times.

## Closing

Close what you opened.
"""


@pytest.fixture
def code(repository: Path) -> Path:
    """A repository with code and a guide that are worth citing."""
    (repository / "src" / "client.py").write_text(CLIENT)
    (repository / "docs").mkdir()
    (repository / "docs" / "guide.md").write_text(GUIDE)
    commit(repository, "Write a client")
    return repository


def commit(repository: Path, message: str) -> str:
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", message, "--allow-empty")
    return git(repository, "rev-parse", "HEAD").strip()


def cite(knowledge: Any, entry_id: str, *provenance: str, **more: Any) -> Any:
    title = more.pop("title", f"About {entry_id}")
    return knowledge.add(id=entry_id, title=title, text=f"{title}.", provenance=list(provenance), **more)


def change(repository: Path, path: str, old: str, new: str) -> None:
    file = repository / path
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def states(knowledge: Any, **wanted: Any) -> dict[str, str]:
    return {one["id"]: one["state"] for one in knowledge.drift(**wanted)["citations"]}


def test_a_missing_file_is_refused_with_the_closest_names(code, knowledge, refused):
    error = refused("no-such-file", 1, knowledge.add, title="T", text="T", provenance=["file:src/cliont.py"])
    assert str(error.hint).startswith("did you mean src/client.py")
    error = refused("no-such-file", 1, knowledge.add, title="T", text="T", provenance=["file:client.py"])
    assert error.hint == "did you mean src/client.py?"
    error = refused("no-such-file", 1, knowledge.add, title="T", text="T", provenance=["file:SRC/CLIENT.py"])
    assert str(error.hint).startswith("did you mean src/client.py")
    error = refused("no-such-file", 1, knowledge.add, title="T", text="T", sources=["CLIENT.PY"])
    assert str(error.hint).startswith("did you mean src/client.py")
    refused("no-such-file", 1, knowledge.add, title="T", text="T", provenance=["file:src"])


def test_a_policy_that_does_not_resolve_lets_it_in_unanchored(code, knowledge):
    config = code / ".decapod" / "config.toml"
    config.write_text(config.read_text().replace("# resolve = true", "resolve = false"))

    done = run(code, "knowledge", "add", "--title", "T", "--text", "T", "--provenance", "file:none.py", "--id", "a")

    assert done.returncode == 0, done.stderr
    assert states(knowledge) == {"a": "unanchored"}


@pytest.mark.parametrize(
    ("provenance", "code_of_refusal"),
    [
        ("file:src/client.py#L9-L400", "no-such-lines"),
        ("file:src/client.py#L2-L3", "empty-lines"),
        ("file:src/client.py#Client.retrry", "no-such-name"),
        ("file:docs/guide.md#retry", "no-such-name"),
        ("file:src/broken.py#f", "unparsable"),
        ("file:src/blob.bin#L1", "not-text"),
        ("commit:0123456789abcdef0123456789abcdef01234567", "no-such-commit"),
        ("event:01HZZZZZZZZZZZZZZZZZZZZZZZ", "no-such-event"),
    ],
)
def test_what_is_not_there_is_refused_and_changes_nothing(provenance, code_of_refusal, code, knowledge, refused):
    (code / "src" / "broken.py").write_text("def f(:\n")
    (code / "src" / "blob.bin").write_bytes(b"\0\1\2")
    error = refused(code_of_refusal, 1, knowledge.add, title="T", text="T", provenance=[provenance])
    assert error.hint


def test_a_name_that_is_close_is_proposed(code, knowledge, refused):
    error = refused(
        "no-such-name", 1, knowledge.add, title="T", text="T", provenance=["file:src/client.py#Client.rtry"]
    )
    assert "Client.retry" in str(error.hint)


def test_anchors_record_where_and_what(code, knowledge, opened):
    head = git(code, "rev-parse", "HEAD").strip()
    cite(knowledge, "a", "file:src/client.py#Client.retry")

    (event,) = opened.ledger.show(entry="a")["events"]

    (anchor,) = event["anchors"]
    assert anchor | {"digest": ""} == {
        "path": "src/client.py",
        "first": 7,
        "last": 10,
        "name": "Client.retry",
        "blob": git(code, "hash-object", "src/client.py").strip(),
        "commit": head,
        "digest": "",
        "lines": 4,
    }
    assert event["text"]["anchors"][0]["head"].startswith("    def retry(self, attempt):")


def test_the_text_kept_of_a_citation_is_bounded(code, knowledge, opened):
    (code / "long.txt").write_text("".join(f"line {number} of many that are cited\n" for number in range(5_000)))
    cite(knowledge, "a", "file:long.txt")
    (event,) = opened.ledger.show(entry="a")["events"]
    assert len(json.dumps(event)) < 8_000
    assert states(knowledge) == {"a": "ok"}
    change(code, "long.txt", "line 4000 ", "line four thousand ")
    assert states(knowledge) == {"a": "changed"}


def test_short_hashes_of_commits_are_completed_and_lost_commits_are_gone(code, knowledge, refused):
    head = git(code, "rev-parse", "HEAD").strip()
    cite(knowledge, "a", f"commit:{head[:8]}")
    assert knowledge.get(id="a")["provenance"] == f"commit:{head}"
    assert states(knowledge) == {"a": "ok"}

    git(code, "reset", "-q", "--hard", "HEAD~1")
    git(code, "reflog", "expire", "--expire=now", "--all")
    assert states(knowledge) == {"a": "gone"}
    refused("no-such-commit", 1, knowledge.add, title="T", text="T", provenance=[f"commit:{head}"])


def test_an_event_of_a_ledger_can_be_cited(code, knowledge, opened):
    cite(knowledge, "a", "person:Ada")
    (event,) = opened.ledger.show(entry="a")["events"]
    cite(knowledge, "b", f"event:{event['event_id']}")
    assert states(knowledge) == {"b": "ok"}


def test_of_several_provenances_the_first_is_the_primary_one_and_the_worst_state_is_the_entrys(code, knowledge):
    cite(knowledge, "a", "file:docs/guide.md#retries", "file:src/client.py#Client.close", "person:Ada")
    change(code, "src/client.py", "self.socket.close()", "self.socket.shutdown()")

    entry = knowledge.get(id="a")

    assert (entry["provenance"], entry["drift"]) == ("file:docs/guide.md#retries", "changed")
    assert [(one["provenance"], one["state"]) for one in entry["citations"]] == [
        ("file:docs/guide.md#retries", "ok"),
        ("file:src/client.py#Client.close", "changed"),
    ]


def test_urls_commands_and_people_are_not_watched(code, knowledge):
    cite(knowledge, "a", "url:https://example.com/x", "cmd:make test", "person:Ada")
    assert knowledge.drift()["checked"] == 0
    assert knowledge.get(id="a")["drift"] is None


@pytest.mark.parametrize(
    ("provenance", "old", "new", "state", "now"),
    [
        ("#L7-L10", "import time\n", "import time\nimport os\n", "moved", "#L8-L11"),
        ("#Client.retry", "import time\n", "import time\nimport os\n", "ok", "#Client.retry"),
        ("#LIMIT", "['three', 'tries']", '[\n    "three",\n    "tries",\n]', "reformatted", "#LIMIT"),
        ("#L7-L10", "        time.sleep(attempt)", "            time.sleep(attempt)", "changed", "#L7-L10"),
        ("#L7-L10", "attempt > 3", "attempt > 5", "changed", "#L7-L10"),
        ("#Client.retry", "def retry", "def again", "gone", None),
    ],
)
def test_each_state(provenance, old, new, state, now, code, knowledge):
    cite(knowledge, "a", f"file:src/client.py{provenance}")
    change(code, "src/client.py", old, new)
    (one,) = knowledge.drift()["citations"]
    assert one["state"] == state
    assert one["now"] == (now and f"file:src/client.py{now}")


def test_a_heading_drifts_with_its_section(code, knowledge):
    cite(knowledge, "a", "file:docs/guide.md#retries")
    change(code, "docs/guide.md", "Read this first.", "Read this first, and slowly.")
    assert states(knowledge) == {"a": "ok"}
    change(code, "docs/guide.md", "three times", "five times")
    assert states(knowledge) == {"a": "changed"}
    change(code, "docs/guide.md", "## Retries\n\nA failed call is tried five times.\n\n", "")
    assert states(knowledge) == {"a": "gone"}


def test_the_command_answers_with_every_citation_and_exits_1_when_one_is_wrong(code, knowledge):
    cite(knowledge, "a", "file:src/client.py#L8")
    cite(knowledge, "b", "file:docs/guide.md")
    assert run(code, "knowledge", "drift").returncode == 0
    change(code, "src/client.py", "attempt > 3", "attempt > 5")

    done = run(code, "knowledge", "drift", "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "ok": False,
        "checked": 2,
        "summary": {"ok": 1, "changed": 1},
        "citations": [
            {
                "id": "a",
                "title": "About a",
                "provenance": "file:src/client.py#L8",
                "state": "changed",
                "now": "file:src/client.py#L8",
                "diff": "--- a/src/client.py\n+++ b/src/client.py\n@@ -8 +8 @@\n"
                "-        if attempt > 3:\n+        if attempt > 5:",
            },
            {
                "id": "b",
                "title": "About b",
                "provenance": "file:docs/guide.md",
                "state": "ok",
                "now": "file:docs/guide.md",
                "diff": None,
            },
        ],
        "omitted": 0,
        "fixed": [],
        "event_id": None,
    }


@pytest.mark.parametrize(
    ("old", "new", "exit_code"), [("import time\n", "import time\n\n\nimport os\n", 0), ("if attempt > 3:\n", "", 1)]
)
def test_what_moved_does_not_fail_and_what_is_gone_does(old, new, exit_code, code, knowledge):
    cite(knowledge, "a", "file:src/client.py#L8")
    change(code, "src/client.py", old, new)
    assert run(code, "knowledge", "drift").returncode == exit_code


def test_drift_is_asked_about_by_id_by_what_a_path_matches_and_by_what_changed_since(code, knowledge, refused):
    begin = git(code, "rev-parse", "HEAD").strip()
    cite(knowledge, "a", "file:src/client.py#LIMIT")
    cite(knowledge, "b", "file:docs/guide.md")
    cite(knowledge, "c", "file:src/a.py#L3")
    change(code, "docs/guide.md", "three", "five")
    commit(code, "Say five")
    change(code, "src/a.py", "line 3\n", "line three\n")

    assert states(knowledge, ids=["a"]) == {"a": "ok"}
    assert states(knowledge, path="src/**") == {"a": "ok", "c": "changed"}
    assert states(knowledge, since=begin) == {"b": "changed", "c": "changed"}
    assert states(knowledge, since="HEAD") == {"c": "changed"}
    assert states(knowledge, since=begin, path="docs/*") == {"b": "changed"}
    assert states(knowledge, ids=["a", "b"], since=begin) == {"b": "changed"}
    refused("not-found", 1, knowledge.drift, ids=["nobody"])
    refused("no-such-ref", 2, knowledge.drift, since="nowhere")


def test_fix_anchors_anew_in_one_event_and_leaves_markdown_and_what_changed_alone(code, knowledge, opened):
    cite(knowledge, "moved", "file:src/client.py#L7-L10")
    cite(knowledge, "reformatted", "file:src/client.py#LIMIT")
    cite(knowledge, "changed", "file:docs/guide.md#closing")
    commit(code, "Write down")
    change(code, "src/client.py", "import time\n", "import os\nimport time\n")
    change(code, "src/client.py", "['three', 'tries']", '["three", "tries"]')
    change(code, "docs/guide.md", "Close what", "Close all that")
    before, events = files_of(code), opened.status()["events"]

    fixed = knowledge.drift(fix=True)

    assert fixed["fixed"] == ["moved", "reformatted"]
    assert fixed["summary"] == {"ok": 2, "changed": 1}
    assert opened.status()["events"] == events + 1
    after = files_of(code)
    touched = {path for path in after if after[path] != before.get(path)}
    assert all(path.startswith(".decapod/ledgers/knowledge.events/") for path in touched), touched
    assert knowledge.get(id="moved")["provenance"] == "file:src/client.py#L7-L10"
    assert knowledge.drift(fix=True)["event_id"] is None


def test_fix_looks_past_commits_that_blame_is_told_to_ignore(code, knowledge):
    cite(knowledge, "a", "file:src/client.py#L7-L10")
    cite(knowledge, "b", "file:docs/guide.md#retries")
    commit(code, "Write down")
    change(code, "src/client.py", "attempt", "number")
    sweeping = commit(code, "Rename a variable everywhere")
    change(code, "docs/guide.md", "three times", "five times")
    commit(code, "Try five times")
    assert knowledge.drift(fix=True)["fixed"] == []

    (code / ".git-blame-ignore-revs").write_text(f"# Only names\n{sweeping}  # see there\n")

    fixed = knowledge.drift(fix=True)
    assert fixed["fixed"] == ["a"]
    assert states(knowledge) == {"a": "ok", "b": "changed"}


def test_a_change_after_an_ignored_commit_is_still_a_change(code, knowledge):
    cite(knowledge, "a", "file:src/client.py#L7-L10")
    change(code, "src/client.py", "attempt", "number")
    sweeping = commit(code, "Rename a variable everywhere")
    change(code, "src/client.py", "number > 3", "number > 5")
    (code / ".git-blame-ignore-revs").write_text(f"{sweeping}\n")
    assert knowledge.drift(fix=True)["fixed"] == []
    assert states(knowledge) == {"a": "changed"}


def test_reaffirming_records_who_looked_and_why(code, knowledge, opened, clock):
    cite(knowledge, "a", "file:src/client.py#L8")
    cite(knowledge, "b", "file:docs/guide.md")
    markdown = files_of(code)[knowledge.get(id="a")["path"]]
    change(code, "src/client.py", "attempt > 3", "attempt > 5")
    clock.forward(days=1)

    done = knowledge.reaffirm(ids=["a"], reason="Five is right too", actor="Bea")

    assert done["reaffirmed"] == ["a"]
    entry = knowledge.get(id="a")
    assert (entry["drift"], entry["reaffirmed_at"]) == ("ok", "2026-03-02T12:00:00.000Z")
    event = opened.ledger.show(entry="a")["events"][-1]
    assert (event["type"], event["actor"], event["text"]["reason"]) == ("entry.reaffirmed", "Bea", "Five is right too")
    assert files_of(code)[entry["path"]] == markdown


def test_what_cites_what_changed_is_reaffirmed_together(code, knowledge, refused):
    cite(knowledge, "a", "file:src/client.py#L8")
    cite(knowledge, "b", "file:docs/guide.md")
    cite(knowledge, "c", "file:src/a.py#L3")
    commit(code, "Write down")
    change(code, "src/client.py", "attempt > 3", "attempt > 5")
    change(code, "docs/guide.md", "three", "five")

    assert knowledge.reaffirm(since="HEAD", path="src/*", reason="Looked")["reaffirmed"] == ["a"]
    assert knowledge.reaffirm(path="**", reason="Looked")["reaffirmed"] == ["b"]
    assert states(knowledge) == {"a": "ok", "b": "ok", "c": "ok"}
    refused("nothing-named", 2, knowledge.reaffirm, reason="Looked")


def test_what_is_gone_cannot_be_reaffirmed(code, knowledge, refused):
    cite(knowledge, "a", "file:docs/guide.md")
    (code / "docs" / "guide.md").unlink()
    refused("citation-gone", 1, knowledge.reaffirm, ids=["a"], reason="Looked")


def test_an_edit_anchors_anew(code, knowledge):
    cite(knowledge, "a", "file:src/client.py#L8")
    change(code, "src/client.py", "attempt > 3", "attempt > 5")
    assert states(knowledge) == {"a": "changed"}
    knowledge.edit(id="a", text="We give up after five.")
    assert states(knowledge) == {"a": "ok"}


def test_readers_see_drift_and_standing(code, knowledge):
    cite(knowledge, "a", "file:src/client.py#L8", title="Giving up")
    cite(knowledge, "b", "file:docs/guide.md#retries", title="Giving up")
    change(code, "src/client.py", "attempt > 3", "attempt > 5")

    assert knowledge.get(id="a")["drift"] == "changed"
    assert {one["id"]: one["drift"] for one in knowledge.list()["entries"]} == {"a": "changed", "b": "ok"}
    assert [one["id"] for one in knowledge.list(drifted=True)["entries"]] == ["a"]
    found = knowledge.search(query="giving up", explain=True)["results"]
    assert [(hit["id"], hit["drift"], hit["explain"]["drift_factor"]) for hit in found] == [
        ("b", "ok", 1),
        ("a", "changed", 0.75),
    ]


def test_standing_is_local_until_it_is_on_the_default_branch(code, knowledge):
    git(code, "branch", "-M", "main")
    git(code, "checkout", "-qb", "work")
    cite(knowledge, "a", "file:docs/guide.md", title="Retries")
    assert knowledge.get(id="a")["standing"] == "local"
    commit(code, "Write down")
    assert knowledge.get(id="a")["standing"] == "local"
    git(code, "checkout", "-q", "main")
    git(code, "merge", "-q", "work")
    assert knowledge.get(id="a")["standing"] == "merged"
    assert knowledge.search(query="retries")["results"][0]["standing"] == "merged"
    assert knowledge.list()["entries"][0]["standing"] == "merged"


def test_a_rule_has_the_standing_of_one(code, knowledge):
    cite(knowledge, "source", "file:docs/guide.md")
    proposed = knowledge.promote(source_entry_id="source", evidence_refs=["person:Ada"], reason="It held", actor="Bea")
    knowledge.approve(event=proposed["event_id"], actor="Cy")
    knowledge.add(id="procedural/rule", provenance=[f"event:{proposed['event_id']}"])
    assert knowledge.get(id="procedural/rule")["standing"] == "local"
    git(code, "branch", "-M", "main")
    commit(code, "Make it a rule")
    assert knowledge.get(id="procedural/rule")["standing"] == "promoted"


def reasons(opened: Any, place: str) -> list[tuple[str, int]]:
    return [(one["id"], one["distance"]) for one in opened.why(place=place)["results"]]


def test_why_shows_what_cites_a_line_nearest_first(code, opened, knowledge):
    cite(knowledge, "whole", "file:src/client.py")
    cite(knowledge, "class", "file:src/client.py#Client")
    cite(knowledge, "retry", "file:src/client.py#L7-L10")
    cite(knowledge, "limit", "file:src/client.py#LIMIT")
    cite(knowledge, "other", "file:docs/guide.md")

    assert reasons(opened, "src/client.py:8") == [("retry", 0), ("class", 0), ("whole", 0), ("limit", 8)]
    assert {entry_id for entry_id, _ in reasons(opened, "src/client.py")} == {"whole", "class", "retry", "limit"}
    assert opened.why(place="src/client.py:8")["results"][0] == {
        "id": "retry",
        "title": "About retry",
        "snippet": "About retry.",
        "citation": {"provenance": "file:src/client.py#L7-L10", "state": "ok", "now": "file:src/client.py#L7-L10"},
        "distance": 0,
        "drift": "ok",
        "standing": "local",
        "status": "active",
        "rule": False,
        "version": knowledge.get(id="retry")["version"],
    }


def test_why_follows_lines_and_files_that_moved(code, opened, knowledge):
    cite(knowledge, "retry", "file:src/client.py#L7-L10")
    commit(code, "Write down")
    change(code, "src/client.py", "import time\n", "import time\n" + "import os\n" * 20)
    assert reasons(opened, "src/client.py:27") == [("retry", 0)]
    git(code, "mv", "src/client.py", "src/connection.py")
    commit(code, "Rename")
    assert reasons(opened, "src/connection.py:27") == [("retry", 0)]


def test_why_is_asked_from_a_subdirectory(code, knowledge):
    cite(knowledge, "retry", "file:src/client.py#L7-L10")
    for place in ("client.py:8", "src/client.py:8", "../src/client.py:8"):
        done = run(code / "src", "why", place, "--json")
        assert [one["id"] for one in json.loads(done.stdout)["results"]] == ["retry"], place


def test_why_of_a_place_nobody_cites_is_empty_and_of_one_outside_refused(code, opened, knowledge, refused):
    assert opened.why(place="src/a.py:3")["results"] == []
    refused("bad-provenance", 2, opened.why, place="../elsewhere.py")


def test_a_change_is_seen_even_if_size_and_time_of_its_file_are_as_before(code, knowledge, monkeypatch):
    monkeypatch.setattr("decapod_py.storage.trees._SETTLED_AFTER", -(10**18))  # remember what was seen at once
    cite(knowledge, "a", "file:src/client.py#L8")
    old = 1_700_000_000
    os.utime(code / "src" / "client.py", (old, old))
    assert states(knowledge) == {"a": "ok"}
    change(code, "src/client.py", "attempt > 3", "attempt > 5")
    os.utime(code / "src" / "client.py", (old, old))
    assert states(knowledge) == {"a": "changed"}


SERVICES = "prod:\n  replicas: 3\n  memory: 512Mi\nstaging:\n  replicas: 3\n  memory: 512Mi\n"
TWINS = """\
def one(request):
    answer = send(request, retries=3)
    return answer.body


def two(request):
    answer = send(request, retries=3)
    return answer.body
"""


@pytest.mark.parametrize(
    ("then", "cited", "now", "state"),
    [
        (SERVICES, "L2-L3", SERVICES.replace("3", "1", 1), "changed"),
        (SERVICES, "L2-L3", SERVICES.removeprefix("prod:\n  replicas: 3\n  memory: 512Mi\n"), "gone"),
        (SERVICES, "L5-L6", SERVICES.removeprefix("prod:\n  replicas: 3\n  memory: 512Mi\n"), "moved"),
        (SERVICES, "L2-L3", SERVICES + "  cpu: 2\n", "ok"),
        (SERVICES, "L2-L3", "test:\n  replicas: 1\n" + SERVICES, "moved"),
        (TWINS, "L2-L3", TWINS.replace("retries=3", "retries=9", 1), "changed"),
        (TWINS, "L7-L8", TWINS.replace("retries=3", "retries=9", 1), "ok"),
        (TWINS, "L6-L8", "\n".join(TWINS.split("\n")[5:]), "moved"),
    ],
)
def test_an_equal_text_that_stood_elsewhere_already_is_not_the_cited_one(then, cited, now, state, code, knowledge):
    (code / "twice.txt").write_text(then)
    commit(code, "Write it")
    cite(knowledge, "a", f"file:twice.txt#{cited}")
    (code / "twice.txt").write_text(now)
    assert states(knowledge) == {"a": state}
