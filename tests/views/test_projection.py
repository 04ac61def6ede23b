"""Bulk work by workers and by one process: the same database, whoever is killed on the way."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from support import PROJECT, decapod, make_repository

from decapod_py.client import Decapod
from decapod_py.foundation import workers
from decapod_py.views import projection
from decapod_py.workspace import Workspace

THIS_PROCESS = os.getpid()
ENTRIES = 40


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository with something in every table, and files that are right, edited, gone and nobody's."""
    top = tmp_path / "tree"
    make_repository(top)
    with Decapod(str(top), actor="Ada") as client:
        knowledge = client.knowledge
        for number in range(ENTRIES):
            knowledge.add(id=f"note/{number:02}", text=f"Ünïcode {number}: words of a note", provenance=["person:Ann"])
        knowledge.edit(id="note/01", text="changed words")
        knowledge.delete(id="note/02", reason="wrong")
        knowledge.deprecate(id="note/03", reason="old")
        knowledge.retrieval_log(query="words", returned_ids=["note/04"], used_ids=["note/04"], outcome="helped")
        knowledge.promote(source_entry_id="note/05", evidence_refs=["person:Ann"], reason="a rule")
    segment = sorted((top / ".decapod" / "ledgers").rglob("*.jsonl"))[0]
    copy = segment.with_name("01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl")
    copy.write_bytes(segment.read_bytes() + b'{"no": "event"}\n')
    pages = sorted((top / ".decapod" / "knowledge").rglob("*.md"))
    pages[7].write_text(pages[7].read_text() + "\nby hand\n")
    pages[8].unlink()
    (pages[9].parent / "mine.md").write_text("# nobody's\n")
    return top


@pytest.fixture
def everything_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "_REMEMBERED", 0)
    monkeypatch.setattr(projection, "_BULK", 1)
    monkeypatch.setattr(projection, "_BATCH", 7)


def rebuilt(place: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row after a rebuild, and the pages it names."""
    workspace = Workspace(str(place))
    unlike = workspace.rebuild()
    connection = workspace.state().connection
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = {name: sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr) for name in tables}
    workspace.close()
    return {**rows, "unlike": [tuple(page) for page in unlike]}


def test_workers_and_one_process_make_the_same_database(
    place: Path, everything_is_much: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuilt(place)  # writes the file that is missing, so that all runs see the same ones
    found = {}
    for name, spare in {"alone": 0, "with workers": 2}.items():
        monkeypatch.setattr(workers, "_spare", lambda spare=spare: spare)
        found[name] = rebuilt(place)
    monkeypatch.undo()
    found["as a few events"] = rebuilt(place)

    assert found["with workers"] == found["alone"]
    assert found["as a few events"] == found["alone"]
    assert {state for _, _, state in found["alone"]["unlike"]} == {"edited", "unknown"}
    assert all(found["alone"][name] for name in ("feedback", "promotions", "event_copies", "segment_problems"))


def test_a_rebuild_loses_nothing_with_its_workers(
    place: Path, everything_is_much: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_spare", lambda: 2)
    expected = rebuilt(place)
    folding = projection.fold_entry

    def deadly(entry_id: str, events: list[projection.Event]) -> object:
        if os.getpid() != THIS_PROCESS and entry_id == "note/20":
            os.kill(os.getpid(), signal.SIGKILL)
        return folding(entry_id, events)

    monkeypatch.setattr(projection, "fold_entry", deadly)
    assert rebuilt(place) == rebuilt(place) == expected


KILLED_WHILE_FOLDING = """
import os, sys
from decapod_py.foundation import workers
from decapod_py.views import projection
from decapod_py.workspace import Workspace

projection._REMEMBERED, projection._BULK, projection._BATCH = 0, 1, 7
workers._spare = lambda: 2

def deadly(label, done, total):
    if label == "folding" and done > 20:
        os.kill(os.getpid(), 9)

Workspace(sys.argv[1], progress=deadly).rebuild()
"""


def test_a_rebuild_killed_beside_its_workers_leaves_the_old_rows_and_no_lock(place: Path) -> None:
    expected = rebuilt(place)
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_FOLDING, str(place)], cwd=PROJECT, check=False)
    assert done.returncode == -signal.SIGKILL

    with sqlite3.connect(place / ".decapod" / "local" / "knowledge.db") as connection:
        assert sorted(connection.execute("SELECT * FROM entries"), key=repr) == expected["entries"]
    connection.close()
    # Waits for the lock, and would do so for as long as a worker had it.
    decapod(place, "knowledge", "add", "Afterwards", "--provenance", "person:Ann")
    assert len(rebuilt(place)["events"]) == len(expected["events"]) + 1


def test_markdown_behind_a_link_that_leads_out_is_not_looked_at(
    place: Path, tmp_path: Path, everything_is_much: None
) -> None:
    notes = place / ".decapod" / "knowledge" / "note"
    notes.rename(tmp_path / "elsewhere")
    notes.symlink_to(tmp_path / "elsewhere")
    assert {state for *_, state in rebuilt(place)["markdown_files"]} == {"outside"}
