"""`decapod review`: what a branch does to knowledge."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import decapod, git, refusal


@pytest.fixture
def branch(repository: Path) -> Path:
    """A branch `side` off `main`, where one entry is known."""
    git(repository, "branch", "-m", "main")
    decapod(repository, "knowledge", "add", "Line three", "--id", "three", "--from", "src/a.py:3")
    commit(repository)
    git(repository, "checkout", "-qb", "side")
    return repository


def commit(repository: Path) -> None:
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "More")


def test_a_branch_that_does_nothing_says_so(branch: Path) -> None:
    found = decapod(branch, "review", "--base", "main")

    assert (found["summary"], found["items"]) == ("nothing about knowledge changes", [])


def test_every_change_is_told_with_what_settles_it(branch: Path) -> None:
    source = branch / "src" / "a.py"
    source.write_text(source.read_text().replace("line 3\n", "line three\n"))
    decapod(branch, "knowledge", "add", "New", "--id", "new", "--provenance", "person:ada")
    promotion = decapod(
        branch,
        *("knowledge", "promote", "--source-entry-id", "new", "--evidence-ref", "cmd:x", "--reason", "held"),
    )
    commit(branch)

    found = decapod(branch, "review", "--base", "main")

    assert found["summary"] == "1 entry your change made untrue, 1 rule awaits approval, 1 added"
    untrue, awaiting, added = found["items"]
    assert "-line 3\n+line three" in untrue["diff"]
    assert "reaffirm three" in untrue["next"]
    assert awaiting["next"].endswith(f"approve {promotion['event_id']}")
    assert (added["kind"], added["id"]) == ("added", "new")


def test_no_text_breaks_the_table_of_a_pull_request(branch: Path) -> None:
    decapod(branch, "knowledge", "add", "a | b <script> ``` [x](y)", "--id", "evil", "--provenance", "person:ada")
    commit(branch)

    report = decapod(branch, "review", "--base", "main", "--format", "markdown")["report"]

    (row,) = [line for line in report.splitlines() if line.startswith("| added")]
    assert row.count("|") == 5
    assert "<script>" not in report


def test_a_base_that_is_none_is_misuse(branch: Path) -> None:
    assert refusal(branch, "review", "--base", "nowhere") == (2, "no-such-ref")
