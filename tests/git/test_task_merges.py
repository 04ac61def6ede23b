"""Tasks and findings on real git: ledgers never conflict, and everybody ends with one digest."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def task(ada: Any) -> str:
    task = str(ada.decapod.tasks.create(title="What both know of", agent="planner")["task_id"])
    ada.commit()
    return task


@pytest.fixture
def ben(trees: Any, ada: Any, task: str) -> Any:
    return trees.clone(ada, "ben")


def shown(tree: Any, task: str) -> Any:
    [found] = tree.decapod.tasks.status(task_id=task)["tasks"]
    return found


def test_tasks_and_findings_of_two_clones_meet_without_a_conflict(trees: Any, ada: Any, ben: Any, task: str) -> None:
    for tree in (ada, ben):
        tree.decapod.tasks.create(title=f"{tree.top.name}'s own")
        tree.decapod.tasks.post_finding(task_id=task, summary=f"{tree.top.name} found it.")
        tree.decapod.agents.register(agent="worker", name=tree.top.name)
        tree.commit()

    trees.meet(ada, ben)

    for tree in (ada, ben):
        assert sorted(one["title"] for one in tree.decapod.tasks.list()["tasks"]) == [
            "What both know of",
            "ada's own",
            "ben's own",
        ]
        found = tree.decapod.tasks.findings(task_id=task)["findings"]
        assert sorted(one["summary"] for one in found) == ["ada found it.", "ben found it."]
    assert ada.decapod.agents.info(agent="worker")["name"] == ben.decapod.agents.info(agent="worker")["name"]


@pytest.mark.parametrize("later", ["complete", "cancel"])
def test_where_one_completes_and_another_cancels_the_later_word_counts_for_all(
    trees: Any, ada: Any, ben: Any, task: str, later: str
) -> None:
    earlier = {"complete": "cancel", "cancel": "complete"}[later]
    getattr(ada.decapod.tasks, earlier)(task_id=task, reason="as Ada has it")
    ada.commit()
    ben.clock.now = ada.clock.now + 60_000
    getattr(ben.decapod.tasks, later)(task_id=task, reason="as Ben has it")
    ben.commit()

    trees.meet(ada, ben)

    for tree in (ada, ben):
        assert shown(tree, task)["status"] == {"complete": "completed", "cancel": "cancelled"}[later]
        assert shown(tree, task)["reason"] == "as Ben has it"


def test_a_finding_picked_without_its_task_waits_for_it(trees: Any, ada: Any, ben: Any) -> None:
    start = ben.tip()
    task = ben.decapod.tasks.create(title="Ben's")["task_id"]
    ben.commit()
    ben.decapod.tasks.post_finding(task_id=task, summary="Found.")
    ben.decapod.tasks.complete(task_id=task)
    ben.commit()
    ada.git("fetch", "-q", str(ben.top), "HEAD")
    ada.git("cherry-pick", "FETCH_HEAD")

    assert ada.decapod.tasks.list(status="any")["total"] == 1
    assert ada.is_sound(allow_gaps=True) and ada.tip() != start

    ada.merge(ada.fetch(ben))
    ben.merge(ben.fetch(ada))
    trees.agree(ada, ben)
    assert (shown(ada, task)["status"], shown(ada, task)["findings"]) == ("completed", 1)


def test_a_branch_without_a_task_does_not_have_it_and_its_claim_survives_the_switch(ada: Any) -> None:
    ada.git("switch", "-q", "-c", "other")
    task = ada.decapod.tasks.create(title="Only there")["task_id"]
    ada.decapod.tasks.claim(task_id=task, aspect="docs", agent="one")
    ada.commit()

    ada.git("switch", "-q", "main")

    assert ada.decapod.tasks.list()["total"] == 0
    assert not ada.decapod.tasks.claim(task_id=task, aspect="docs", agent="two")["ok"]
    assert ada.decapod.tasks.release(task_id=task, aspect="docs", agent="one")["ok"]
    ada.git("switch", "-q", "other")
    assert shown(ada, task)["title"] == "Only there"
