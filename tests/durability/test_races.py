"""Many processes at once on one working tree."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from durability.commands import Tree
from durability.racers import KEYS
from support import PROJECT

from decapod_py.storage import segments

JOURNALS = pytest.mark.parametrize("journal", ["write-ahead", "rollback"])


def race(tree: Tree, *jobs: str, journal: str = "write-ahead") -> list[Any]:
    """Starts one process a job, lets them go at once, and gives their answers."""
    if journal == "rollback":  # the database must be made by processes that cannot do otherwise
        shutil.rmtree(tree.local, ignore_errors=True)
    script = str(PROJECT / "tests" / "durability" / "racers.py")
    done = subprocess.run(
        [sys.executable, script, journal, str(tree.top), *jobs],
        capture_output=True,
        text=True,
        env=tree.commands.environment,
        timeout=300,
        check=False,
    )
    assert done.stderr == "", done.stderr
    assert (tree.local / "knowledge.db-journal").exists() == (journal == "rollback")
    answers: list[Any] = json.loads(done.stdout)
    return answers


@JOURNALS
def test_eight_processes_that_add_under_shared_keys_lose_nothing_and_leave_one_entry_a_key(
    tree: Tree, journal: str
) -> None:
    answers = [answer for found in race(tree, *["adds"] * 8, journal=journal) for answer in found]

    assert len(tree.event_ids()) == len(answers) == 400
    entries = tree.ask("knowledge", "list", "--status", "any", "--limit", "1000")["entries"]
    assert {entry["id"] for entry in entries} == {answer["id"] for answer in answers}
    active = [entry["merge_key"] for entry in entries if entry["status"] == "active"]
    assert Counter(active) == {f"key-{number}": 1 for number in range(KEYS)}
    replaced = Counter(entry for answer in answers for entry in answer["superseded_ids"])
    assert replaced == Counter(entry["id"] for entry in entries if entry["status"] == "superseded")
    tree.check()
    tree.check_against_a_clone()


def test_of_eight_edits_of_one_version_exactly_one_wins(tree: Tree) -> None:
    tree.add("plain")
    (tree.top / "version").write_text(tree.entry("plain")["version"])

    assert Counter(race(tree, *["edit"] * 8)) == {"won": 1, "version-conflict": 7}

    assert len(tree.event_ids()) == 2
    tree.check()


@JOURNALS
def test_eight_processes_that_do_everything_at_once_lose_nothing(tree: Tree, journal: str) -> None:
    tree.add("plain")
    before = tree.event_ids()

    turns = sum(race(tree, *["mixed"] * 8, journal=journal))

    types = Counter(event["type"] for event in tree.ask("ledger", "show", "--limit", "10000")["events"])
    assert types["entry.added"] == len(before) + turns + 8 * 10
    assert types["entry.edited"] == 2 * turns
    assert types["retrieval.logged"] == tree.entry("plain")["feedback"]["helped"] == turns
    assert types["entry.deprecated"] + types["entry.deleted"] == turns
    assert before <= tree.event_ids()
    tree.check()
    tree.check_against_a_clone()


@JOURNALS
def test_who_reads_while_others_write_never_fails_and_never_sees_half_a_change(tree: Tree, journal: str) -> None:
    tree.add("first", "A zebra.", "--merge-key", "zebra")

    _, *seen = race(tree, "supersedes", "reads", "reads", "reads", journal=journal)

    digests: dict[int, tuple[str, Any]] = {}
    for states in seen:
        assert all(earlier[0] <= later[0] for earlier, later in pairwise(states))
        for events, digest, entries in states:
            assert digests.setdefault(events, (digest, entries)) == (digest, entries)
            assert entries == {"active": 1, **({"superseded": events - 1} if events > 1 else {})}
    assert max(digests) == 61
    tree.check()


def test_what_is_written_while_a_gate_folds_everything_is_no_finding(tree: Tree) -> None:
    tree.add("first", "A zebra.", "--merge-key", "zebra")

    _, *asked = race(tree, "supersedes", "validates", "validates")

    assert min(asked) > 0
    tree.check()


def test_who_reads_segments_while_they_are_packed_never_fails(tree: Tree) -> None:
    tree.add("plain")

    joined, *looked = race(tree, "packs", "looks", "looks")

    assert joined > 4 and min(looked) > 0
    tree.check()
    tree.check_against_a_clone()


@JOURNALS
def test_a_fresh_clone_may_be_opened_by_many_at_once(lived_in: Tree, place: Path, journal: str) -> None:
    for turn in range(3):
        tree = lived_in.copy_to(place / f"tree-{turn}")

        digests = race(tree, *["first_read"] * 8, journal=journal)

        assert set(digests) == {tree.ask("status")["digest"]}
        assert not list(tree.local.glob("*.unreadable-*"))
        tree.check()


def test_a_line_that_is_being_written_while_it_is_read_is_one_unfinished_line(tree: Tree) -> None:
    tree.add("first")
    tree.add("second")
    segment = tree.segments()[-1]
    first, second = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(first + second[:100])
    ledgers = tree.decapod / "ledgers"

    lines = segments.read(str(ledgers), str(segment.relative_to(ledgers)))
    seen = [next(lines), next(lines)]
    with segment.open("ab") as file:
        file.write(second[100:])

    assert [line.terminated for line in [*seen, *lines]] == [True, False]
