"""A real process is killed at every named step of every write, and then somebody reads, or writes."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from durability.commands import CLAIMING, KILLED, SCRUBBING, Commands, Tree, new_tree, propose
from support import PROJECT, run

# In the order of the write. From `line-written` on, the event is whole in the file: it has happened.
BEFORE = ["locked", "caught-up", "segment-opened", "half-written"]
APPENDED = ["line-written", "appended"]
FOLDED = ["folded", "committed"]
NEW_SEGMENT = ["kept"]
FILE = ["temp-file-written", "markdown-renamed", "note-cleared"]
UNLINKED = ["markdown-unlinked", "markdown-renamed", "note-cleared"]
NOTE_ALONE = ["markdown-renamed", "note-cleared"]
NO_FILE: list[str] = []
CATCH_UP = ["others-folded", "others-committed"]

Effects = Callable[[Tree], list[bool]]


class Write(NamedTuple):
    """One write: what it says, which steps it passes, and how each of its effects shows."""

    arguments: Callable[[Tree], list[str]]
    steps: list[str]
    effects: Effects
    prepare: Callable[[Tree], object] = lambda tree: None
    events: int = 1


def said(*words: str) -> Callable[[Tree], list[str]]:
    return lambda tree: ["knowledge", *words]


def about_the_proposal(*words: str) -> Callable[[Tree], list[str]]:
    def arguments(tree: Tree) -> list[str]:
        event = tree.ask("ledger", "show", "--type", "promotion.recorded")["events"][-1]["event_id"]
        return ["knowledge", words[0], event, *words[1:]]

    return arguments


def adding(*words: str) -> Callable[[Tree], list[str]]:
    return said("add", "--title", "New", "--text", "A new text.", "--provenance", "person:Ada", *words)


def has_status(entry_id: str, status: str) -> Effects:
    return lambda tree: [tree.status_of(entry_id) == status]


def has_text(entry_id: str, text: str) -> Effects:
    def effects(tree: Tree) -> list[bool]:
        entry = tree.entry(entry_id)
        file = tree.top / entry["path"]
        return [entry["content"] == text, text in file.read_text()]

    return effects


def has_proposals(count: int) -> Effects:
    return lambda tree: [tree.ask("status")["proposals"] == count]


def superseded(tree: Tree) -> list[bool]:
    return [tree.status_of("newer") == "active", tree.status_of("keyed") == "superseded"]


def imported(tree: Tree) -> list[bool]:
    return [tree.status_of(f"imported/{number}") == "active" for number in range(3)]


def write_import_file(tree: Tree) -> None:
    line = '{{"id": "imported/{0}", "title": "Imported {0}", "content": "Text.", "provenance": "person:Ada"}}\n'
    tree.top.with_name("import.jsonl").write_text("".join(line.format(number) for number in range(3)))


def stage(tree: Tree) -> None:
    tree.git("add", "-A")


IN_OPEN_SEGMENT = [*BEFORE, *APPENDED, *FOLDED]
IN_NEW_SEGMENT = [*BEFORE, *APPENDED, *NEW_SEGMENT, *FOLDED]

WRITES = {
    "add": Write(adding("--id", "new"), [*IN_OPEN_SEGMENT, *FILE], has_status("new", "active")),
    "add after git add": Write(
        adding("--id", "new"), [*IN_NEW_SEGMENT, *FILE], has_status("new", "active"), stage
    ),
    "merge": Write(adding("--merge-key", "key"), [*IN_OPEN_SEGMENT, *FILE], has_text("keyed", "A new text.")),
    "supersede": Write(
        adding("--id", "newer", "--merge-key", "key", "--on-conflict", "supersede"),
        [*IN_OPEN_SEGMENT, *FILE],
        superseded,
    ),
    "edit": Write(said("edit", "plain", "--text", "Edited."), [*IN_OPEN_SEGMENT, *FILE], has_text("plain", "Edited.")),
    "deprecate": Write(said("deprecate", "plain"), [*IN_OPEN_SEGMENT, *FILE], has_status("plain", "deprecated")),
    "delete": Write(
        said("delete", "doomed"),
        [*IN_OPEN_SEGMENT, *UNLINKED],
        lambda tree: [tree.status_of("doomed") == "deleted", not list(tree.decapod.rglob("knowledge/doomed*.md"))],
    ),
    "revive": Write(said("revive", "old"), [*IN_OPEN_SEGMENT, *FILE], has_status("old", "active")),
    "settle a key": Write(
        said("settle", "clash", "--keep", "left"), [*IN_OPEN_SEGMENT, *FILE], has_status("right", "superseded")
    ),
    "settle an entry": Write(
        lambda tree: ["knowledge", "settle", "split", "--keep", tree.entry("split")["heads"][0]],
        [*IN_OPEN_SEGMENT, *FILE],
        lambda tree: [len(tree.entry("split")["heads"]) == 1],
    ),
    "decay": Write(said("decay"), [*IN_NEW_SEGMENT, *NOTE_ALONE], has_status("fading", "stale")),
    "promote": Write(
        said("promote", "--source-entry-id", "source", "--evidence-ref", "person:Ada", "--reason", "Held."),
        [*IN_NEW_SEGMENT, *NO_FILE],
        has_proposals(1),
    ),
    "approve": Write(
        about_the_proposal("approve", "--actor", "Cy"), [*IN_OPEN_SEGMENT, *NO_FILE], has_proposals(0), propose
    ),
    "revoke-promotion": Write(
        about_the_proposal("revoke-promotion", "--reason", "It did not hold."),
        [*IN_OPEN_SEGMENT, *NO_FILE],
        has_proposals(0),
        propose,
    ),
    "retrieval-log": Write(
        said(
            "retrieval-log", "--query", "q", "--returned-id", "plain", "--used-id", "plain", "--outcome", "helped"
        ),
        [*IN_NEW_SEGMENT, *NO_FILE],
        lambda tree: [tree.entry("plain")["feedback"]["helped"] == 1],
    ),
    "import": Write(
        said("import", "../import.jsonl"), [*IN_OPEN_SEGMENT, *FILE], imported, write_import_file, events=3
    ),
}  # fmt: skip
HAPPENED = {*APPENDED, *NEW_SEGMENT, *FOLDED, *FILE, *UNLINKED}
FOLLOWED_BY = ["reads", "a write"]


def kills(steps: dict[str, list[str]]) -> list[object]:
    """Every step of every command with what follows; each is followed by one of the two in the short run."""
    cases = [(name, step, then) for name in steps for step in steps[name] for then in FOLLOWED_BY]
    short = [(number // 2 + number // 16) % 2 == number % 2 for number in range(len(cases))]
    return [
        pytest.param(*case, marks=[] if in_short_run else pytest.mark.slow)
        for case, in_short_run in zip(cases, short, strict=True)
    ]


@pytest.mark.parametrize(("name", "step", "then"), kills({name: write.steps for name, write in WRITES.items()}))
def test_a_write_killed_at_any_step_has_happened_whole_or_not_at_all(
    name: str, step: str, then: str, lived_in: Tree, place: Path
) -> None:
    write = WRITES[name]
    tree = lived_in.copy_to(place / "tree")
    tree.add("witness")
    write.prepare(tree)
    before = tree.event_ids()

    assert tree.run(*write.arguments(tree), kill_at=step).code == KILLED
    follow(tree, then)

    after = tree.event_ids()
    happened = len(after - before) - (then == "a write")
    effects = write.effects(tree)
    torn = step == "half-written"
    if torn and write.events > 1:  # lines before the torn one are whole
        assert effects == [number < happened < write.events for number in range(write.events)]
    else:
        assert happened == (write.events if step in HAPPENED else 0)
        assert effects == [step in HAPPENED] * len(effects)
    assert before <= after
    tree.check(torn=torn)
    tree.check_against_a_clone()


def follow(tree: Tree, then: str) -> None:
    """What comes after a crash: nobody repairs anything, people just go on."""
    if then == "reads":
        assert tree.ask("knowledge", "search", "witness")["results"][0]["id"] == "witness"
        assert tree.ask("knowledge", "get", "witness")["status"] == "active"
        tree.ask("status")
    else:
        tree.add("afterwards")


def swept_away(tree: Tree) -> None:
    """As `git clean -fd` leaves it: the newest segment is gone from the working tree."""
    tree.segments()[-1].unlink()
    tree.git("clean", "-qfd")


MAINTENANCE = {
    "pack": (
        ["ledger", "pack"],
        ["locked", "caught-up", "temp-file-written", "segments-joined", "part-unlinked", *FOLDED, *CATCH_UP],
        stage,
    ),
    "restore": (["ledger", "restore"], ["temp-file-written", "segment-restored", *CATCH_UP], swept_away),
    "rebuild": (["rebuild"], ["tables-made", "refilled", *NOTE_ALONE], stage),
    "the first read of a clone": (
        ["status"],
        ["temp-file-written", "tables-made", *CATCH_UP, "rechecked", *NOTE_ALONE],
        lambda tree: shutil.rmtree(tree.local),
    ),
    "a read beside a damaged database": (
        ["status"],
        ["database-moved-aside", "tables-made", *CATCH_UP, "rechecked", *NOTE_ALONE],
        lambda tree: (tree.local / "knowledge.db").write_bytes(os.urandom(40_000)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "step", "then"), kills({name: row[1] for name, row in MAINTENANCE.items()}))
def test_maintenance_killed_at_any_step_changes_no_knowledge(
    name: str, step: str, then: str, lived_in: Tree, place: Path
) -> None:
    arguments, _, prepare = MAINTENANCE[name]
    tree = lived_in.copy_to(place / "tree")
    tree.add("witness")
    events, digest = tree.event_ids(), tree.ask("status")["digest"]
    prepare(tree)

    assert tree.run(*arguments, kill_at=step).code == KILLED
    if name == "restore":
        tree.ask("status")  # what git took away is gone until it is restored, and no read fails over it
        tree.ask("ledger", "restore")
    follow(tree, then)

    assert events <= tree.event_ids()
    if then == "reads":
        assert tree.ask("status")["digest"] == digest
    tree.check()
    tree.check_against_a_clone()


@pytest.mark.parametrize("step", [*CATCH_UP, *FILE])
def test_a_process_killed_while_it_cleans_up_after_a_killed_process_leaves_nothing_half_done(
    step: str, lived_in: Tree, place: Path
) -> None:
    tree = lived_in.copy_to(place / "tree")
    tree.add("witness")

    assert tree.run("knowledge", "edit", "plain", "--text", "Edited.", kill_at="appended").code == KILLED
    assert tree.run("knowledge", "get", "plain", kill_at=step).code == KILLED

    assert has_text("plain", "Edited.")(tree) == [True, True]
    tree.check()
    tree.check_against_a_clone()


@pytest.mark.parametrize("step", [*IN_OPEN_SEGMENT[:3], *APPENDED, *FOLDED, *FILE])
def test_an_interrupted_write_has_happened_whole_or_not_at_all(step: str, lived_in: Tree, place: Path) -> None:
    tree = lived_in.copy_to(place / "tree")
    tree.add("witness")

    done = tree.run("knowledge", "edit", "plain", "--text", "Edited.", kill_at=step, signal=signal.SIGINT)

    assert (done.code, done.error) == (130, "interrupted")
    assert has_text("plain", "Edited.")(tree) == [step in HAPPENED] * 2
    tree.check()


@pytest.mark.parametrize("step", ["temp-file-written", "file-made"])
def test_an_init_that_was_killed_is_finished_by_the_next_one(step: str, commands: Commands, place: Path) -> None:
    whole = new_tree(commands, place / "whole")
    top = place / "killed"
    top.mkdir()
    tree = Tree(commands, top)
    tree.git("init", "-q", "--template=")

    assert tree.run("init", kill_at=step).code == KILLED
    tree.ask("init")

    for name in ("config.toml", ".gitattributes", "local/.gitignore"):
        assert (tree.decapod / name).read_bytes() == (whole.decapod / name).read_bytes()
    assert "local" not in tree.git("status", "--porcelain", "--untracked-files=all")
    tree.add("first")
    tree.check()


def test_the_temp_files_of_killed_processes_are_swept_away(tree: Tree) -> None:
    tree.add("plain")
    assert tree.run("knowledge", "edit", "plain", "--text", "Edited.", kill_at="temp-file-written").code == KILLED
    assert list(tree.local.glob("*.tmp"))

    tree.ask("status")

    assert not list(tree.local.glob("*.tmp"))


def test_a_line_without_its_line_end_that_verifies_has_happened(tree: Tree) -> None:
    tree.add("plain")
    segment = tree.segments()[-1]
    os.truncate(segment, segment.stat().st_size - 1)

    assert tree.status_of("plain") == "active"
    tree.add("next")

    assert len(tree.segments()) == 2
    assert not segment.read_bytes().endswith(b"\n")
    tree.check()
    tree.check_against_a_clone()


def test_a_command_started_by_a_shell_dies_at_the_step_its_environment_names(tree: Tree) -> None:
    words = ("knowledge", "add", "A thing", "--provenance", "person:Ada")

    assert run(tree.top, *words, DECAPOD_TEST_KILL_AT="half-written").returncode == KILLED
    tree.check(torn=True)
    assert run(tree.top, *words, DECAPOD_TEST_KILL_AT="line-written").returncode == KILLED

    assert len(tree.event_ids()) == 1
    tree.check(torn=True)


def test_no_step_in_the_code_goes_without_a_kill() -> None:
    named = {
        step
        for file in (PROJECT / "decapod_py").rglob("*.py")
        for step in re.findall(r'\bstep\("([a-z-]+)"\)', file.read_text())
    }
    killed_at = {step for write in WRITES.values() for step in write.steps}
    killed_at |= {step for _, steps, _ in MAINTENANCE.values() for step in steps} | {"file-made", *SCRUBBING, *CLAIMING}

    assert named == killed_at
