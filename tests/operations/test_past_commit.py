"""`--as-of REF`: what the repository knew at a commit, read from the ledgers of that commit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import git, run


@pytest.fixture
def history(repository: Path, knowledge: Any) -> Path:
    """Three commits: an entry is added; then edited beside a new one; then deprecated."""
    knowledge.add(id="a", title="Retries", text="We try three times.", provenance=["file:src/a.py#L3"])
    commit(repository, "one")
    knowledge.edit(id="a", text="We try five times.")
    knowledge.add(id="b", title="Timeouts", text="We wait ten seconds.", provenance=["person:Ada"])
    commit(repository, "two")
    knowledge.deprecate(id="a")
    commit(repository, "three")
    return repository


def commit(repository: Path, tag: str) -> None:
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", tag)
    git(repository, "tag", tag)


def listed(knowledge: Any, as_of: str, **wanted: Any) -> list[str]:
    return sorted(entry["id"] for entry in knowledge.list(as_of=as_of, **wanted)["entries"])


def test_get_shows_the_text_and_status_of_that_commit(history, knowledge):
    assert (knowledge.get(id="a", as_of="one")["content"]) == "We try three times."
    assert (knowledge.get(id="a", as_of="two")["content"]) == "We try five times."
    assert [knowledge.get(id="a", as_of=ref)["status"] for ref in ("two", "three")] == ["active", "deprecated"]


def test_what_was_not_known_yet_is_not_found(history, knowledge, refused):
    refused("not-found", 1, knowledge.get, id="b", as_of="one")
    refused("not-found", 1, knowledge.get, id="a", as_of="one~1")


def test_list_shows_what_was_active_then(history, knowledge):
    assert listed(knowledge, "one~1") == []
    assert listed(knowledge, "one") == ["a"]
    assert listed(knowledge, "two") == ["a", "b"]
    assert listed(knowledge, "HEAD") == ["b"]
    assert listed(knowledge, "HEAD", status="any") == ["a", "b"]


def test_search_finds_the_words_of_that_commit(history, knowledge):
    def found(query: str, as_of: str) -> list[str]:
        return [hit["id"] for hit in knowledge.search(query=query, as_of=as_of)["results"]]

    assert found("three", "one") == ["a"]
    assert found("three", "two") == []
    assert found("five", "two") == ["a"]
    assert found("five", "HEAD") == []


def test_another_branch_is_asked_without_a_checkout(history, knowledge):
    git(history, "checkout", "-qb", "side", "one")
    knowledge.add(id="c", title="Caches", text="We keep them an hour.", provenance=["person:Bea"])
    commit(history, "sideways")
    git(history, "checkout", "-q", "three")
    assert listed(knowledge, "side") == ["a", "c"]
    assert listed(knowledge, "three") == ["b"]


def test_what_is_not_committed_is_not_in_a_commit(history, knowledge):
    knowledge.add(id="d", title="Drafts", text="Not yet.", provenance=["person:Ada"])
    assert "d" not in listed(knowledge, "HEAD")


def test_of_the_past_no_drift_is_said(history, knowledge):
    (history / "src" / "a.py").write_text("other\n")
    entry = knowledge.get(id="a", as_of="one")
    assert (entry["drift"], entry["standing"], entry["citations"]) == (None, None, [])


@pytest.mark.parametrize("ref", ["nowhere", "", "--all", "HEAD:src", "-1", "two..three"])
def test_what_is_no_commit_and_no_time_is_refused(ref, history, knowledge, refused):
    for call, more in ((knowledge.list, {}), (knowledge.get, {"id": "a"}), (knowledge.search, {"query": "q"})):
        refused("bad-time", 2, call, as_of=ref, **more)


def test_short_hashes_tags_and_relative_names_all_name_a_commit(history, knowledge):
    whole = git(history, "rev-parse", "two").strip()
    for ref in (whole, whole[:10], "two", "HEAD~1", "three^"):
        assert listed(knowledge, ref) == ["a", "b"], ref


def test_the_command_takes_a_commit(history):
    for arguments in (["get", "a"], ["list"], ["search", "three"]):
        done = run(history, "knowledge", *arguments, "--as-of", "one", "--json")
        assert (done.returncode, "We try three times." in json.dumps(json.loads(done.stdout))) == (0, True), arguments


def test_asking_about_a_commit_changes_nothing(history, knowledge):
    before = git(history, "status", "--porcelain")
    listed(knowledge, "one")
    assert git(history, "status", "--porcelain") == before
