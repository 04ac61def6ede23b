"""`decapod watch`: hand edits are taken in while it runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import decapod, git

from decapod_py.surfaces.cli.watching import watch


@pytest.fixture
def watching(repository: Path):
    process = subprocess.Popen(
        [sys.executable, "-m", "decapod_py", "watch", "--json"],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.wait()


def test_a_new_file_is_taken_in_once_its_editor_is_done(repository: Path, watching: subprocess.Popen[str]) -> None:
    vault = repository / ".decapod" / "knowledge"
    # As editors do it: empty first, then whole under another name, then renamed over it.
    (vault / "note.md").write_text("")
    (vault / "note.md~").write_text("# A note\n\nText.\n")
    os.replace(vault / "note.md~", vault / "note.md")

    assert watching.stdout
    taken = json.loads(watching.stdout.readline())
    while taken["problems"]:  # it may have looked while the file was empty
        taken = json.loads(watching.stdout.readline())

    (added,) = taken["added"]
    assert decapod(repository, "knowledge", "get", added["id"])["title"] == "A note"


def test_an_interrupt_ends_it(repository: Path, watching: subprocess.Popen[str]) -> None:
    (repository / ".decapod" / "knowledge" / "note.md").write_text("Text.\n")
    assert watching.stdout
    watching.stdout.readline()

    watching.send_signal(signal.SIGINT)

    assert watching.wait(timeout=20) == 130


def test_what_is_saved_while_a_sync_runs_is_taken_in_by_the_next(repository: Path, monkeypatch) -> None:
    monkeypatch.chdir(repository)
    vault = repository / ".decapod" / "knowledge"
    (vault / "one.md").write_text("One.\n")
    taken: list[str] = []

    def show(result: dict) -> None:
        taken.extend(added["path"] for added in result["added"])
        if taken == ["one.md"]:
            (vault / "two.md").write_text("Two.\n")  # after the sync, and before anybody looks again
        else:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch(show, pytest.fail)

    assert taken == ["one.md", "two.md"]


def test_it_outlives_a_branch_that_has_no_knowledge(repository: Path, watching: subprocess.Popen[str]) -> None:
    vault = repository / ".decapod" / "knowledge"
    assert watching.stdout and watching.stderr
    (vault / "one.md").write_text("One.\n")
    watching.stdout.readline()
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "One")

    git(repository, "switch", "-q", "--orphan", "empty")
    assert "not-initialised" in watching.stderr.readline()

    git(repository, "switch", "-q", "main")
    (vault / "two.md").write_text("Two.\n")
    (added,) = json.loads(watching.stdout.readline())["added"]
    assert added["path"] == "two.md"


def test_a_file_that_goes_and_comes_back_ends_up_as_it_was(repository: Path, watching: subprocess.Popen[str]) -> None:
    file = repository / ".decapod" / "knowledge" / "one.md"
    assert watching.stdout
    file.write_text("One.\n")
    (added,) = json.loads(watching.stdout.readline())["added"]
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "One")

    file.rename(repository / "away.md")
    assert json.loads(watching.stdout.readline())["deprecated"] == [added["id"]]
    (repository / "away.md").rename(file)
    assert json.loads(watching.stdout.readline())["revived"] == [added["id"]]

    entry = decapod(repository, "knowledge", "get", added["id"])
    assert (entry["status"], entry["content"]) == ("active", "One.")
    assert file.exists()
