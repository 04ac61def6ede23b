"""`drift --fix` that is killed has anchored all of them anew, or none; drift is what it was, or is mended."""

from __future__ import annotations

import pytest
from durability.commands import KILLED, Tree

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
