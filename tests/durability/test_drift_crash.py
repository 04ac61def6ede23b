"""`drift --fix` and `reaffirm` that are killed have anchored all of them anew, or none; so do many at once."""

from __future__ import annotations

import pytest
from durability.commands import KILLED, Tree
from durability.test_races import race

BEFORE = ["locked", "caught-up", "segment-opened", "half-written"]
AFTER = ["line-written", "appended", "kept", "folded", "committed"]
FIX = ("knowledge", "drift", "--fix")


@pytest.fixture
def moved(tree: Tree) -> Tree:
    """Two entries whose lines moved, all of it committed."""
    code = tree.top / "steps.py"
    code.write_text("".join(f"def step_{word}():\n    return {word}()\n" for word in ("wash", "rinse", "spin")))
    for entry_id, lines in (("wash", "L1-L2"), ("spin", "L5-L6")):
        words = ("--id", entry_id, "--title", entry_id, "--text", "So it is.", "--provenance", f"file:steps.py#{lines}")
        tree.ask("knowledge", "add", *words)
    tree.git("add", "-A")
    tree.git("commit", "-qm", "Write down")
    code.write_text("import os\n" + code.read_text())
    return tree


def summary(tree: Tree) -> dict[str, int]:
    found: dict[str, int] = tree.ask("knowledge", "drift")["summary"]
    return found


@pytest.mark.parametrize("step", [*BEFORE, *AFTER])
def test_a_killed_fix_has_anchored_all_anew_or_none(step: str, moved: Tree) -> None:
    events = moved.event_ids()

    assert moved.run(*FIX, kill_at=step).code == KILLED

    happened = step in AFTER
    assert summary(moved) == ({"ok": 2} if happened else {"moved": 2})
    assert len(moved.event_ids() - events) == happened
    assert moved.ask(*FIX)["fixed"] == ([] if happened else ["spin", "wash"])
    assert summary(moved) == {"ok": 2}
    moved.check(torn=step == "half-written")
    moved.check_against_a_clone()


@pytest.mark.parametrize("step", [*BEFORE, *AFTER])
def test_a_killed_reaffirmation_holds_for_all_or_for_none(step: str, moved: Tree) -> None:
    events = moved.event_ids()

    assert moved.run("knowledge", "reaffirm", "wash", "spin", "--reason", "Looked.", kill_at=step).code == KILLED

    happened = step in AFTER
    assert [bool(moved.entry(entry_id)["reaffirmed_at"]) for entry_id in ("wash", "spin")] == [happened] * 2
    assert summary(moved) == ({"ok": 2} if happened else {"moved": 2})
    assert len(moved.event_ids() - events) == happened
    moved.check(torn=step == "half-written")
    moved.check_against_a_clone()


def test_many_processes_that_reaffirm_mend_and_add_at_once_lose_nothing(moved: Tree) -> None:
    before = moved.event_ids()

    answers = race(moved, "reaffirms", "reaffirms", "mends", "adds")

    said = {answer["event_id"] for found in answers[:3] for answer in found if answer["event_id"]}
    assert said <= moved.event_ids() and len(moved.event_ids() - before - said) == 50
    assert [len(found) for found in answers] == [20, 20, 20, 50]
    assert summary(moved) == {"ok": 2}
    for entry_id, text in (
        ("wash", "def step_wash():\n    return wash()"),
        ("spin", "def step_spin():\n    return spin()"),
    ):
        first, last = (
            int(line.removeprefix("L"))
            for line in moved.entry(entry_id)["citations"][0]["now"].split("#")[1].split("-")
        )
        assert "\n".join((moved.top / "steps.py").read_text().split("\n")[first - 1 : last]) == text
    moved.check()
    moved.check_against_a_clone()
