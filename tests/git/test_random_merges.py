"""Any work on two clones, in any order, ends in one state once both have merged all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from decapod_py.foundation.clock import DAY
from decapod_py.foundation.errors import Refused

BRANCHES = ("main", "side")
# What the rules may say to a step that chance chose; anything else is a fault.
_REFUSALS = {"diverged", "deleted", "no-change", "key-held", "nothing-to-settle", "not-a-head", "id-taken", "not-found"}


class Player:
    """Takes steps in one clone; `choice` picks what a step acts on."""

    def __init__(self, tree: Any, other: Any) -> None:
        self.tree = tree
        self.other = other
        self.said = 0

    def take(self, step: str, choice: int) -> None:
        try:
            getattr(self, step)(choice)
        except Refused as refused:
            assert refused.code in _REFUSALS, refused

    def add(self, choice: int) -> None:
        self.tree.add(self.words(), expires_ts="2d" if choice % 2 else None)

    def add_given(self, choice: int) -> None:
        self.tree.add(self.words(), id=f"given/{choice % 2}")

    def add_keyed(self, choice: int) -> None:
        self.tree.add(self.words(), merge_key=f"key-{choice % 2}", on_conflict=("merge", "supersede")[choice // 2 % 2])

    def edit(self, choice: int) -> None:
        self.tree.knowledge.edit(id=self.entry(choice), text=self.words(), expires_ts="9d" if choice % 3 else None)

    def deprecate(self, choice: int) -> None:
        self.tree.knowledge.deprecate(id=self.entry(choice))

    def revive(self, choice: int) -> None:
        self.tree.knowledge.revive(id=self.entry(choice))

    def delete(self, choice: int) -> None:
        if choice % 3 == 0:
            self.tree.knowledge.delete(id=self.entry(choice))

    def decay(self, choice: int) -> None:
        self.tree.clock.now += (choice % 4) * DAY
        self.tree.knowledge.decay()

    def feedback(self, choice: int) -> None:
        entry = self.entry(choice)
        outcome = ("helped", "hurt")[choice % 2]
        self.tree.knowledge.retrieval_log(query="q", returned_ids=[entry], used_ids=[entry], outcome=outcome)

    def settle(self, choice: int) -> None:
        status = self.tree.decapod.status()
        for entry in status["diverged"]:
            heads = self.tree.entry(entry)["heads"]
            self.tree.knowledge.settle(target=entry, keep=heads[choice % len(heads)])
        for key in ("key-0", "key-1"):
            holders = sorted(entry["id"] for entry in self.tree.knowledge.list(merge_key=key)["entries"])
            if len(holders) > 1:
                self.tree.knowledge.settle(target=key, keep=holders[choice % len(holders)])

    def commit(self, _: int) -> None:
        self.tree.commit()

    def stage(self, _: int) -> None:
        self.tree.git("add", "-A")

    def commit_what_is_staged(self, _: int) -> None:
        self.tree.git("commit", "-qm", "Staged", "--allow-empty")

    def amend(self, _: int) -> None:
        self.tree.commit("Amended", "--amend")

    def stash_and_pop(self, choice: int) -> None:
        if "No local changes" not in self.tree.git("stash", "-u"):
            if choice % 2:
                self.tree.digest()
                # The read may have mended a file that was committed with conflict markers; git will not pop over it.
                self.tree.git("checkout", "-q", "--", ".decapod/knowledge")
            self.tree.git("stash", "pop", "-q")

    def switch(self, choice: int) -> None:
        if choice % 2:
            self.tree.commit()
        # git may refuse to carry a file along: then this branch is worked on for longer.
        self.tree.git("switch", "-q", BRANCHES[choice // 2 % 2], check=False)

    def merge_branch(self, choice: int) -> None:
        self.tree.commit()
        self.tree.merge(BRANCHES[choice // 2 % 2], take_ours=bool(choice % 2))

    def pull(self, choice: int) -> None:
        self.tree.commit()
        theirs = self.tree.fetch(self.other, BRANCHES[choice // 2 % 2])
        self.tree.merge(theirs, take_ours=bool(choice % 2))

    def pack(self, _: int) -> None:
        self.tree.commit()
        self.tree.decapod.ledger.pack()

    def read(self, _: int) -> None:
        self.agree_with_a_rebuild()

    def finish(self) -> None:
        """Everything this clone knows, on the branch it is on."""
        self.tree.commit()
        for branch in BRANCHES:
            self.tree.merge(branch)
            self.agree_with_a_rebuild()
            self.tree.commit()  # the Markdown that git could not merge is now as the fold has it

    def agree_with_a_rebuild(self) -> None:
        checked = self.tree.decapod.rebuild(check=True)
        assert [found for found in checked["problems"] if found["code"] == "database-differs"] == []
        assert checked["digest"] == self.tree.digest()

    def entry(self, choice: int) -> str:
        known = sorted(entry["id"] for entry in self.tree.knowledge.list(status="any", limit=1000)["entries"])
        return str(known[choice % len(known)]) if known else "none"

    def words(self) -> str:
        self.said += 1
        return f"{self.tree.top.name} says {self.said}"


STEPS = sorted(name for name in vars(Player) if not name.startswith("_"))
for not_a_step in ("take", "finish", "agree_with_a_rebuild", "entry", "words"):
    STEPS.remove(not_a_step)

plays = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(STEPS), st.integers(0, 11)), min_size=10, max_size=30)
_SLOW_ON_PURPOSE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def play(trees: Any, steps: list[tuple[int, str, int]]) -> None:
    ada = trees.new("ada")
    for title in ("First", "Second"):
        ada.add(title, expires_ts="3d")
        ada.commit()
    ada.git("branch", "side")
    ben = trees.clone(ada, "ben", "--no-local", now=ada.clock.now + 500)
    ben.git("branch", "side", "origin/side")
    players = Player(ada, ben), Player(ben, ada)
    for who, step, choice in steps:
        players[who].take(step, choice)
    for player in players:
        player.finish()
    served = trees.forge(ada, ben)
    from_ben, from_ada = ada.fetch(ben), ben.fetch(ada)
    ada.merge(from_ben)
    ben.merge(from_ada, take_ours=True)
    trees.agree(ada, ben, served)


@settings(_SLOW_ON_PURPOSE, max_examples=25, derandomize=True)
@given(steps=plays)
def test_two_clones_agree_after_any_work(new_trees: Callable[[], Any], steps: list[tuple[int, str, int]]) -> None:
    with new_trees() as trees:
        play(trees, steps)


@pytest.mark.slow
@settings(_SLOW_ON_PURPOSE, max_examples=300)
@given(steps=plays)
def test_two_clones_agree_after_any_work_however_often_it_is_tried(
    new_trees: Callable[[], Any], steps: list[tuple[int, str, int]]
) -> None:
    with new_trees() as trees:
        play(trees, steps)
