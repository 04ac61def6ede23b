"""`decapod watch`: hand edits are taken in while it runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import decapod


@pytest.fixture
def watching(repository: Path):
    process = subprocess.Popen(
        [sys.executable, "-m", "decapod_py", "watch", "--json"], cwd=repository, stdout=subprocess.PIPE, text=True
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
