"""`validate --base` looks at what a branch brings, and at nothing that was there before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from forging import after, codes, commit, events, place_of, put, segments, told, validated
from support import decapod, git

from decapod_py.client import Decapod
from decapod_py.foundation.canonical import canonical
from decapod_py.foundation.clock import parse_time


def change(top: Path, old: str, new: str, file: str = "src/a.py") -> None:
    source = top / file
    source.write_text(source.read_text().replace(old, new))


def states(answer: dict[str, Any]) -> dict[str, str]:
    return {one["gate"]: one["state"] for one in answer["gates"]}


@pytest.fixture
def branch(known: Path) -> Path:
    """A branch `work` that left `main`, where line 3 had changed under an entry before."""
    (known / "src" / "b.py").write_text("".join(f"other {number}\n" for number in range(1, 11)))
    decapod(known, "knowledge", "add", "Other two", "--id", "other", "--from", "src/b.py:2")
    change(known, "line 3\n", "quite another thing\n")
    commit(known, "Drift")
    git(known, "switch", "-qc", "work")
    return known


def test_what_was_wrong_before_the_branch_does_not_count(branch: Path) -> None:
    put(branch, after(events(branch)[-1], entry_id="procedural/old", path="procedural/old-1.md"))
    (branch / ".decapod" / "knowledge" / "note.md").write_text("---\nid: lost\n---\n")
    git(branch, "switch", "-q", "main")
    commit(branch, "Damage")
    git(branch, "switch", "-q", "-C", "work")
    (branch / "README.md").write_text("Hello.\n")
    commit(branch)

    assert validated(branch)[0] == 1
    code, answer = validated(branch, "--base", "main", "--strict")

    assert (code, answer["findings"]) == (0, [])
    assert answer["base"] == git(branch, "rev-parse", "main").strip()
    assert states(answer)["append-only"] == "passed"


def test_drift_counts_for_entries_that_cite_what_the_branch_touches(branch: Path) -> None:
    change(branch, "other 2\n", "something else\n", "src/b.py")
    commit(branch)

    _, answer = validated(branch, "--base", "main")

    assert [(one["code"], one["entry"]) for one in answer["findings"]] == [("changed", "other")]


def test_drift_counts_for_edits_that_are_not_committed_yet(branch: Path) -> None:
    change(branch, "other 2\n", "something else\n", "src/b.py")

    assert codes(validated(branch, "--base", "main")[1]) == {("drift", "changed")}


def test_a_deleted_file_touches_the_entries_that_cite_it(branch: Path) -> None:
    git(branch, "rm", "-q", "src/b.py")
    commit(branch)

    _, answer = validated(branch, "--base", "main")

    assert [(one["code"], one["entry"]) for one in answer["findings"]] == [("gone", "other")]


def test_a_renamed_file_touches_the_entries_that_cite_it_and_moved_lines_are_no_finding(branch: Path) -> None:
    git(branch, "mv", "src/b.py", "src/c.py")
    commit(branch)
    assert validated(branch, "--base", "main", "--strict")[1]["findings"] == []

    change(branch, "other 2\n", "something else\n", "src/c.py")
    commit(branch)
    _, answer = validated(branch, "--base", "main")

    assert [one["entry"] for one in answer["findings"]] == ["other"]


def test_drift_counts_for_an_entry_that_the_branch_adds_though_its_file_is_untouched(branch: Path) -> None:
    change(branch, "other 5\n", "not for long\n", "src/b.py")
    decapod(branch, "knowledge", "add", "New", "--id", "new", "--from", "src/b.py:5")
    git(branch, "checkout", "-q", "--", "src/b.py")
    commit(branch)

    _, answer = validated(branch, "--base", "main", "--gate", "drift")

    assert [one["entry"] for one in answer["findings"]] == ["new"]


def test_decay_is_never_asked_of_a_branch(branch: Path) -> None:
    with Decapod(str(branch), clock=lambda: parse_time("2026-01-01T00:00:00Z")) as client:
        client.knowledge.add(id="old", title="T", text="T", provenance=["person:x"], expires_ts="1d")
    commit(branch)

    assert ("decay", "decay-overdue") in codes(validated(branch)[1])
    _, answer = validated(branch, "--base", "main")

    assert (answer["findings"], states(answer)["decay"]) == ([], "skipped")


def test_what_the_base_did_since_the_branch_left_it_is_not_the_branch_s(branch: Path) -> None:
    """The merge base counts: entries that main has meanwhile are not lost by the branch."""
    (branch / "README.md").write_text("Hello.\n")
    commit(branch)
    left = git(branch, "rev-parse", "main").strip()
    git(branch, "switch", "-q", "main")
    decapod(branch, "knowledge", "add", "Meanwhile", "--provenance", "person:x")
    commit(branch)
    git(branch, "switch", "-q", "work")

    code, answer = validated(branch, "--base", "main", "--strict")

    assert (code, answer["findings"], answer["base"]) == (0, [], left)


def test_a_base_without_decapod_makes_everything_new(tmp_path: Path) -> None:
    top = tmp_path / "young"
    top.mkdir()
    git(top, "init", "-q")
    (top / "a.txt").write_text("one\ntwo\n")
    commit(top)
    git(top, "switch", "-qc", "work")
    decapod(top, "init")
    decapod(top, "knowledge", "add", "One", "--from", "a.txt:1", "--id", "one")
    commit(top)
    assert validated(top, "--base", "main", "--strict")[0] == 0

    put(top, after(events(top)[-1], entry_id="procedural/x", path="procedural/x-1.md"))
    commit(top)

    assert ("promotions", "needs-promotion") in codes(validated(top, "--base", "main")[1])


def test_segments_that_are_not_tracked_yet_are_what_the_branch_brings(branch: Path) -> None:
    segment = put(branch, after(events(branch)[-1], entry_id="procedural/x", path="procedural/x-1.md"))
    assert "??" in git(branch, "status", "--porcelain", "--untracked-files=all", "--", place_of(branch, segment))

    assert ("promotions", "needs-promotion") in codes(validated(branch, "--base", "main")[1])


def test_segments_that_git_was_told_to_ignore_are_new_too(branch: Path) -> None:
    (branch / ".git" / "info" / "exclude").write_text("*.jsonl\n")
    put(branch, after(events(branch)[-1], entry_id="procedural/x", path="procedural/x-1.md"))

    assert ("promotions", "needs-promotion") in codes(validated(branch, "--base", "main")[1])


def test_packing_in_a_branch_takes_nothing_away(branch: Path) -> None:
    before = len(segments(branch))
    decapod(branch, "ledger", "pack")
    commit(branch)
    assert len(segments(branch)) < before

    code, answer = validated(branch, "--base", "main", "--strict")

    assert (code, answer["findings"]) == (0, [])


def test_redacting_in_a_branch_takes_no_event_away(branch: Path) -> None:
    decapod(branch, "ledger", "redact", "other", "--reason", "It leaked")
    commit(branch)

    code, answer = validated(branch, "--base", "main")

    assert (code, [one for one in answer["findings"] if one["severity"] == "error"]) == (0, [])


def test_a_text_taken_out_without_a_redaction_is_found(branch: Path) -> None:
    segment = segments(branch)[0]
    event = json.loads(segment.read_bytes())
    del event["text"]
    segment.write_bytes(canonical(event) + b"\n")
    commit(branch)

    code, answer = validated(branch, "--base", "main")

    assert code == 1
    assert ("ledgers", "text-missing", place_of(branch, segment), 1) in told(answer)


def test_a_branch_does_not_loosen_a_gate_or_forgive_itself(branch: Path) -> None:
    git(branch, "switch", "-q", "main")
    config = branch / ".decapod" / "config.toml"
    config.write_text("format = 1\n[gates]\ndrift = 'fail'\n")
    commit(branch)
    git(branch, "switch", "-q", "-C", "work")
    config.write_text("format = 1\n[gates]\ndrift = 'off'\n")
    change(branch, "other 2\n", "something else\n", "src/b.py")
    commit(branch)

    assert validated(branch)[0] == 0
    assert validated(branch, "--base", "main")[0] == 1

    config.write_text("format = 1\n[gates]\ndrift = 'warn'\n")
    decapod(branch, "validate", "--write-baseline")
    commit(branch)
    assert validated(branch, "--strict")[0] == 0
    assert validated(branch, "--base", "main")[0] == 1


def test_a_branch_may_tighten_a_gate(branch: Path) -> None:
    (branch / ".decapod" / "config.toml").write_text("format = 1\n[gates]\ndrift = 'fail'\n")
    change(branch, "other 2\n", "something else\n", "src/b.py")
    commit(branch)

    assert validated(branch, "--base", "main")[0] == 1


def test_what_the_base_knows_is_forgiven_in_a_branch(branch: Path) -> None:
    git(branch, "switch", "-q", "main")
    decapod(branch, "validate", "--write-baseline")
    commit(branch)
    git(branch, "switch", "-q", "-C", "work")
    change(branch, "quite another thing\n", "and yet another thing\n")
    commit(branch)

    code, answer = validated(branch, "--base", "main", "--strict")

    assert (code, answer["findings"], answer["known"]) == (0, [], 1)


def test_a_branch_is_judged_from_a_folder_below_the_top_too(branch: Path) -> None:
    change(branch, "other 2\n", "something else\n", "src/b.py")
    commit(branch)

    _, answer = validated(branch / "src", "--base", "main")

    assert [(one["file"], one["entry"]) for one in answer["findings"]] == [("src/b.py", "other")]
