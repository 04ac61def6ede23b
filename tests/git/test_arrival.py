"""Whatever the order in which events arrive, and whatever the clocks said, the state is that of a rebuild."""

from __future__ import annotations

import random
import shutil
from typing import Any

import pytest
from support import NOON

from decapod_py.foundation.clock import DAY

YEAR = 365 * DAY


def a_lively_history(trees: Any) -> Any:
    """Two clones that added, edited, deprecated, superseded, decayed, diverged and settled, then merged."""
    ada = trees.new("ada")
    shared = [ada.add(f"Shared {number}", expires_ts="2d") for number in range(3)]
    ada.commit()
    ben = trees.clone(ada, "ben", now=NOON + 500)
    for tree in (ada, ben):
        tree.knowledge.edit(id=shared[0], text=f"As {tree.top.name} has it.")
        tree.commit()
        tree.add("Keyed", merge_key="key")
        tree.commit()
    ada.knowledge.deprecate(id=shared[1])
    ada.commit()
    ben.knowledge.add(title="New", text="New.", provenance=["person:Ann"], merge_key="key", on_conflict="supersede")
    ben.commit()
    ben.clock.now += 5 * DAY
    ben.knowledge.decay()
    ben.commit()
    ada.knowledge.retrieval_log(query="q", returned_ids=[shared[2]], used_ids=[shared[2]], outcome="hurt")
    promotion = ada.knowledge.promote(source_entry_id=shared[2], evidence_refs=["person:Ann"], reason="Why not")
    ada.commit()
    ada.merge(ada.fetch(ben))
    ada.knowledge.approve(event=promotion["event_id"], actor="Cleo")
    ada.knowledge.settle(target=shared[0], keep=ada.entry(shared[0])["heads"][0])
    ada.commit()
    trees.agree(ada)
    return ada


@pytest.mark.parametrize("seed", range(4))
def test_segments_that_arrive_and_vanish_in_any_order_fold_to_what_a_rebuild_gives(trees: Any, seed: int) -> None:
    ada = a_lively_history(trees)
    late = trees.new("late")
    choices = random.Random(seed)
    waiting = sorted(ada.segments())
    choices.shuffle(waiting)
    here: list[str] = []
    while waiting:
        segment = waiting.pop()
        target = late.top / ".decapod" / "ledgers" / segment
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ada.top / ".decapod" / "ledgers" / segment, target)
        here.append(segment)
        if len(here) > 1 and choices.random() < 0.3:
            gone = here.pop(choices.randrange(len(here) - 1))
            (late.top / ".decapod" / "ledgers" / gone).unlink()
            waiting.insert(0, gone)
        checked = late.decapod.rebuild(check=True)
        assert [found for found in checked["problems"] if found["code"] == "database-differs"] == []
        assert late.digest() == checked["digest"]

    assert late.digest() == ada.digest()
    assert late.is_sound()


def test_a_branch_merged_long_after_later_work_folds_into_its_place(trees: Any, ada: Any, ben: Any) -> None:
    entry = ada.add("Edited early and late")
    ada.commit()
    ben.merge(ben.fetch(ada))
    ben.knowledge.deprecate(id=entry)
    ben.commit()
    cleo = trees.clone(ada, "cleo", now=NOON + DAY)
    cleo.knowledge.deprecate(id=entry)
    cleo.knowledge.revive(id=entry)
    cleo.commit()
    ada.merge(ada.fetch(cleo))
    assert ada.entry(entry)["status"] == "active"

    trees.meet(ada, ben)  # ben's event is older than those that are here

    assert ada.entry(entry)["status"] == "active"


def test_a_clone_behind_a_fast_clock_still_builds_on_what_it_saw(trees: Any, ada: Any) -> None:
    ahead = trees.clone(ada, "ahead", now=NOON + YEAR)
    entry = ahead.add("From next year")
    ahead.commit()
    ada.merge(ada.fetch(ahead))

    changed = ada.knowledge.edit(id=entry, text="Changed by a clock that is a year behind.")

    assert changed["event_id"] > ahead.entry(entry)["version"]
    assert ada.entry(entry)["content"] == "Changed by a clock that is a year behind."
    ada.commit()
    ahead.merge(ahead.fetch(ada))
    trees.agree(ada, ahead)


def test_two_clones_with_fast_clocks_that_both_go_on_fold_to_one_state(trees: Any, ada: Any) -> None:
    one = trees.clone(ada, "one", now=NOON + YEAR)
    two = trees.clone(ada, "two", now=NOON + 3 * YEAR)
    slow = trees.clone(ada, "slow", now=NOON - YEAR)
    entry = ada.add("Shared", expires_ts="30d")
    ada.commit()
    clones = (one, two, slow)
    for tree in clones:
        tree.merge(tree.fetch(ada))
        tree.knowledge.edit(id=entry, text=f"By {tree.top.name}.", expires_ts="30d")
        tree.add(f"By {tree.top.name}", merge_key="key")
        tree.commit()
    two.knowledge.decay()
    two.commit()

    trees.meet(one, two)
    slow.knowledge.deprecate(id=entry)
    slow.commit()
    trees.meet(two, slow)
    one.merge(one.fetch(two))

    trees.agree(one, two, slow)
    assert len(one.entry(entry)["heads"]) == 3
    slow.knowledge.settle(target=entry, keep=slow.entry(entry)["heads"][0])
    slow.knowledge.settle(
        target="key", keep=min(holder["id"] for holder in slow.knowledge.list(merge_key="key")["entries"])
    )
    slow.commit()
    for tree in (one, two):
        tree.merge(tree.fetch(slow))
    trees.agree(one, two, slow)
    assert (one.decapod.status()["diverged"], one.decapod.status()["clashes"]) == ([], [])


def test_two_clones_at_the_same_millisecond_never_mint_one_id(trees: Any, ada: Any, ben: Any) -> None:
    ben.clock.now = ada.clock.now
    for tree in (ada, ben):
        tree.add("At one moment")
        tree.commit()

    trees.meet(ada, ben)

    assert ada.titles() == ["At one moment", "At one moment", "What both know"]


def test_an_event_that_stands_in_two_segments_counts_once(trees: Any, ada: Any) -> None:
    ada.knowledge.retrieval_log(
        query="q",
        returned_ids=[ada.knowledge.list()["entries"][0]["id"]],
        used_ids=[ada.knowledge.list()["entries"][0]["id"]],
        outcome="helped",
    )
    before = ada.digest()
    copies = []
    for segment in sorted(ada.segments()):
        source = ada.top / ".decapod" / "ledgers" / segment
        copies.append(source.with_name("01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl"))
        shutil.copy(source, copies[-1])

    assert ada.digest() == before
    assert ada.is_sound()
    for segment in sorted(ada.segments()):
        path = ada.top / ".decapod" / "ledgers" / segment
        if path not in copies:
            path.unlink()
    ada.commit()
    assert trees.agree(ada) == before
