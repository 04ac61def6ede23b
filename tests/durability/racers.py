"""Several processes that work on a repository at once: `racers.py JOURNAL PLACE JOB...` forks one a job.

They start together; the answers of all come out as one JSON list. An error of any goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import sqlite3
import subprocess
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import IO, Any

from decapod_py.client import Decapod
from decapod_py.foundation.errors import DecapodError
from decapod_py.operations.catalogue import all_operations

KEYS = 5


def adds(decapod: Decapod, place: Path, number: int) -> list[Any]:
    """50 adds that share their merge keys with everybody's."""
    return [
        decapod.knowledge.add(
            title=f"Add {turn} of {number}",
            text=f"Text {turn} of {number}.",
            provenance=["person:Ada"],
            merge_key=f"key-{turn % KEYS}",
            on_conflict="merge" if turn % 2 else "supersede",
        )
        for turn in range(50)
    ]


def edit(decapod: Decapod, place: Path, number: int) -> str:
    """One edit of the version that everybody saw."""
    version = (place / "version").read_text()
    try:
        decapod.knowledge.edit(id="plain", text=f"As {number} has it.", expected_version=version)
    except DecapodError as refusal:
        return refusal.code
    return "won"


def mixed(decapod: Decapod, place: Path, number: int) -> int:
    """Whatever a team does in a day."""
    knowledge = decapod.knowledge
    lines = [
        json.dumps({"id": f"imported/{number}-{line}", "title": "T", "content": "C.", "provenance": "person:Ada"})
        for line in range(10)
    ]
    file = place.with_name(f"import-{number}.jsonl")
    file.write_text("\n".join(lines))
    for turn in range(5):
        mine = knowledge.add(title=f"{number} {turn}", text="Mine.", provenance=["person:Ada"])["id"]
        knowledge.edit(id=mine, text=f"Mine still, {turn}.")
        knowledge.edit(id="plain", text=f"As {number} has it at {turn}.")
        knowledge.decay()
        knowledge.retrieval_log(query="q", returned_ids=["plain"], used_ids=["plain"], outcome="helped")
        if turn == 2:
            assert knowledge.import_(file=str(file))["added"] == len(lines)
        getattr(knowledge, "delete" if turn % 2 else "deprecate")(id=mine)
    return 5


def supersedes(decapod: Decapod, place: Path, number: int) -> int:
    """Entries that each take the place of the one before."""
    for turn in range(60):
        decapod.knowledge.add(
            title=f"Zebra {turn}",
            text="There is one zebra.",
            provenance=["person:Ada"],
            merge_key="zebra",
            on_conflict="supersede",
        )
    (place / "finished").touch()
    return 60


def reads(decapod: Decapod, place: Path, number: int) -> list[Any]:
    """Questions without end; gives the states that were seen."""
    seen = []
    while True:
        last = (place / "finished").exists()
        found = decapod.knowledge.search(query="zebra")
        assert found["count"] == 1, found
        status = decapod.status()
        assert not status["problems"] and not status["markdown"], status
        decapod.knowledge.history(id=found["results"][0]["id"])
        verified = decapod.ledger.verify()
        assert verified["ok"], verified
        if number == 1:
            checked = decapod.rebuild(check=True)
            assert checked["ok"], checked
        seen.append((status["events"], status["digest"], status["entries"]))
        if last:
            return seen


def looks(decapod: Decapod, place: Path, number: int) -> int:
    """Questions that read the segments themselves, which somebody may be packing."""
    looked = 0
    while not (place / "finished").exists() or not looked:
        assert decapod.knowledge.history(id="plain")["events"]
        verified = decapod.ledger.verify()
        assert verified["ok"], verified
        assert decapod.ledger.show()["events"]
        looked += 1
    return looked


def validates(decapod: Decapod, place: Path, number: int) -> int:
    """The gate that folds everything again, while others write."""
    asked = 0
    while not (place / "finished").exists() or not asked:
        found = decapod.validate(gates=["database"])
        assert found["ok"], found
        asked += 1
    return asked


def packs(decapod: Decapod, place: Path, number: int) -> int:
    """Commits, and joins what was committed, over and over."""
    joined = 0
    for turn in range(8):
        for edit in range(4):
            decapod.knowledge.edit(id="plain", text=f"At {turn} and {edit}.")
            subprocess.run(["git", "add", "-A"], cwd=place, check=True)
        subprocess.run(["git", "commit", "-qm", f"Turn {turn}"], cwd=place, check=True)
        joined += decapod.ledger.pack()["joined"]
    (place / "finished").touch()
    return joined


def reaffirms(decapod: Decapod, place: Path, number: int) -> list[Any]:
    """Says over and over that what cites a file holds, while somebody writes above it."""
    answers: list[Any] = []
    while len(answers) < 20:
        try:
            answers.append(decapod.knowledge.reaffirm(ids=["wash", "spin"], reason=f"Looked, {len(answers)}."))
        except DecapodError as refusal:
            assert refusal.code == "file-changed", refusal
    return answers


def mends(decapod: Decapod, place: Path, number: int) -> list[Any]:
    """Writes above what is cited, and anchors anew what moved."""
    file = place / "steps.py"
    answers = []
    for turn in range(20):
        new = place / ".git" / "steps.py"
        new.write_text(f"import step_{turn}\n" + file.read_text())
        new.replace(file)
        answers.append(decapod.knowledge.drift(fix=True))
    return answers


def first_read(decapod: Decapod, place: Path, number: int) -> Any:
    return decapod.status()["digest"]


JOBS = {
    job.__name__: job
    for job in (adds, edit, mixed, supersedes, reads, looks, validates, packs, reaffirms, mends, first_read)
}


class WithoutSharedMemory(sqlite3.Connection):
    """As SQLite behaves on a file system that cannot share memory."""

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        if sql == "PRAGMA journal_mode=WAL":
            raise sqlite3.OperationalError("locking protocol")
        return super().execute(sql, *arguments)


def race(journal: str, place: Path, jobs: list[str]) -> list[Any]:
    if journal == "rollback":
        sqlite3.connect = partial(sqlite3.connect, factory=WithoutSharedMemory)  # type: ignore[assignment]
    importlib.import_module("decapod_py.operations.requests")
    all_operations()
    wait, start = os.pipe()
    answers = []
    for number, job in enumerate(jobs):
        answer, told = os.pipe()
        if not os.fork():
            os.close(start)
            _run(job, place, number, wait, os.fdopen(told, "w"))
        os.close(told)
        answers.append(answer)
    os.close(start)
    return [json.loads(_text(answer) or "null") for answer in answers]


def _run(job: str, place: Path, number: int, wait: int, answer: IO[str]) -> None:
    code = 1
    try:
        os.read(wait, 1)  # ends when everybody is there and the other end is closed
        with Decapod(place, actor=f"Racer {number}") as decapod:
            answer.write(json.dumps(JOBS[job](decapod, place, number)))
        answer.close()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _text(handle: int) -> str:
    with os.fdopen(handle) as file:
        return file.read()


if __name__ == "__main__":
    print(json.dumps(race(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])))
