"""Markdown that somebody took away with git and without a word to us: it stays away until `sync` takes that in."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from support import git


@pytest.fixture
def clone(trees: Any, ada: Any) -> Any:
    """A fresh clone, in which somebody else's commit has taken a file away."""
    ada.add("Kept", id="kept")
    ada.add("Taken away", id="taken")
    ada.commit()
    git(ada.top, "rm", "-q", str(ada.file("taken")))
    git(ada.top, "-c", "user.name=Bea", "commit", "-qm", "Tidy up")
    return trees.clone(ada, "clone")


def test_a_question_in_a_fresh_clone_does_not_bring_a_removed_file_back(clone: Any) -> None:
    assert clone.entry("taken")["status"] == "active"

    assert not clone.file("taken").exists()
    assert clone.file("kept").exists()
    assert clone.decapod.status()["markdown"] == {"missing": 1}
    assert clone.git("status", "--porcelain") == ""


def test_sync_in_a_fresh_clone_deprecates_by_whoever_removed_the_file(clone: Any) -> None:
    assert clone.decapod.sync()["deprecated"] == ["taken"]

    assert clone.entry("taken")["status"] == "deprecated"
    assert clone.knowledge.history(id="taken")["events"][0]["actor"] == "Bea"
    assert not clone.file("taken").exists()
    assert clone.decapod.sync()["deprecated"] == []


def test_a_write_that_is_about_something_else_does_not_bring_it_back(clone: Any) -> None:
    clone.add("Another")

    assert not clone.file("taken").exists()


def test_a_file_that_was_removed_and_not_committed_stays_away_when_the_database_is_lost(ada: Any) -> None:
    entry_id = ada.add("Taken away")
    ada.commit()
    ada.file(entry_id).unlink()
    shutil.rmtree(ada.top / ".decapod" / "local")

    assert not ada.file(entry_id).exists()
    assert ada.decapod.sync()["deprecated"] == [entry_id]


def test_rebuild_writes_a_removed_file_again(clone: Any) -> None:
    clone.decapod.rebuild()

    assert clone.file("taken").exists()


def test_a_file_that_nobody_ever_committed_is_written_in_a_fresh_clone(trees: Any, ada: Any) -> None:
    entry_id = ada.add("Fresh")
    name = ada.file(entry_id).name
    ada.git("add", ".decapod/ledgers")
    ada.git("commit", "-qm", "Only the ledger")
    clone = trees.clone(ada, "clone")

    clone.entry(entry_id)

    assert (clone.top / ".decapod" / "knowledge" / name).exists()


def test_a_revived_entrys_file_is_written_though_git_saw_it_go(ada: Any) -> None:
    entry_id = ada.add("Taken away")
    ada.commit()
    file = ada.file(entry_id)
    file.unlink()
    ada.decapod.sync()
    ada.commit()
    ada.knowledge.revive(id=entry_id)
    file.unlink()  # as if the power had failed before it was written
    shutil.rmtree(ada.top / ".decapod" / "local")

    ada.entry(entry_id)

    assert file.exists()
