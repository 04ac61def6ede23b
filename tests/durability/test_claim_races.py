"""However many agents want an aspect, from however many worktrees, exactly one gets it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from durability.commands import CLAIMING, KILLED, Tree
from support import PROJECT

RACERS = 50


@pytest.fixture
def task(tree: Tree) -> str:
    return str(tree.ask("tasks", "create", "What everybody wants")["task_id"])


@pytest.fixture
def other(tree: Tree, task: str) -> Tree:
    """A second worktree, which has the task by its ledger."""
    tree.git("add", "-A")
    tree.git("commit", "-qm", "A task")
    top = tree.top.with_name("other")
    tree.git("worktree", "add", "-q", "-b", "other", str(top))
    return Tree(tree.commands, top)


def race(tree: Tree, mode: str, rounds: int, task: str, *places: Path) -> list[list[Any]]:
    script = str(PROJECT / "tests" / "durability" / "claimers.py")
    done = subprocess.run(
        [sys.executable, script, mode, str(RACERS), str(rounds), task, *map(str, places)],
        capture_output=True,
        text=True,
        env=tree.commands.environment,
        timeout=300,
        check=False,
    )
    assert done.stderr == "", done.stderr
    answers: list[list[Any]] = json.loads(done.stdout)
    return answers


def the_winner(answers: list[Any]) -> str:
    """The one agent that won; everybody else was told so."""
    [winner] = [answer["agent"] for answer in answers if answer["ok"]]
    assert len(answers) == RACERS
    assert {answer["held_by"] for answer in answers if not answer["ok"]} == {winner}
    return str(winner)


def held(tree: Tree, task: str) -> dict[str, str]:
    [shown] = tree.ask("tasks", "status", task)["tasks"]
    return {claim["aspect"]: claim["agent"] for claim in shown["claims"]}


@pytest.mark.parametrize("mode", ["fresh", "fresh", "unlocked"], ids=["once", "once more", "without a lock"])
def test_of_fifty_processes_in_two_worktrees_exactly_one_wins_each_aspect(
    tree: Tree, other: Tree, task: str, mode: str
) -> None:
    # The clone's first claim is among these: they race to make the database, too.
    (tree.top / ".git" / "decapod" / "claims.db").unlink()

    rounds = race(tree, mode, 10, task, tree.top, other.top)

    assert len({the_winner(answers) for answers in rounds}) == 10


def test_a_claim_that_expires_is_taken_over_by_exactly_one_and_not_a_millisecond_earlier(
    tree: Tree, other: Tree, task: str
) -> None:
    for turn, answers in enumerate(race(tree, "edge", 10, task, tree.top, other.top)):
        # Whoever is late finds the new holder, a millisecond before the old claim would have ended.
        assert not any(ok for answer in answers for ok in answer["early"])
        assert the_winner(answers).endswith(f"of turn {turn}")


def test_of_fifty_commands_in_two_worktrees_exactly_one_wins(tree: Tree, other: Tree, task: str) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "decapod_py", "tasks", "claim", task, "docs", "--agent", f"a{number}", "--json"],
            cwd=(tree, other)[number % 2].top,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=tree.commands.environment,
        )
        for number in range(RACERS)
    ]
    ended = [(*process.communicate(), process.returncode) for process in started]

    assert [err for _, err, _ in ended if err] == []
    winner = the_winner([json.loads(out) for out, _, _ in ended])
    assert sorted(code for _, _, code in ended) == [0] + [1] * (RACERS - 1)
    assert held(tree, task) == held(other, task) == {"docs": winner}


@pytest.mark.parametrize("step", CLAIMING)
def test_an_agent_killed_in_a_claim_holds_it_whole_or_not_at_all(tree: Tree, other: Tree, task: str, step: str) -> None:
    if step == "claims-made":
        (tree.top / ".git" / "decapod" / "claims.db").unlink()
    assert tree.run("tasks", "claim", task, "docs", "--agent", "killed", kill_at=step).code == KILLED

    after = other.run("tasks", "claim", task, "docs", "--agent", "next")

    survived = step == "claim-committed"
    assert after.code == (1 if survived else 0)
    assert json.loads(after.out)["held_by"] == ("killed" if survived else None)
    assert held(tree, task) == held(other, task) == {"docs": "killed" if survived else "next"}


def test_agents_killed_at_any_moment_never_leave_two_holders_or_a_lock(tree: Tree, other: Tree, task: str) -> None:
    started = time.monotonic()
    tree.ask("tasks", "claim", task, "measured", "--agent", "one")
    usual = time.monotonic() - started

    outcomes = set()
    for turn in range(60):
        aspect = f"aspect {turn}"
        delay = None if turn == 59 else usual * (turn % 30) / 20  # the first is killed before it begins, the last never
        killed = tree.run("tasks", "claim", task, aspect, "--agent", "killed", kill_after=delay)
        after = json.loads(other.run("tasks", "claim", task, aspect, "--agent", "next").out)
        holder = held(tree, task)[aspect]
        assert holder == (after["held_by"] or "next")
        assert killed.code == KILLED or holder == "killed"
        outcomes.add((killed.code, holder))
    assert {holder for _, holder in outcomes} == {"killed", "next"}


def test_an_agent_killed_while_it_completes_a_task_leaves_it_open_or_closed_for_everybody(
    tree: Tree, other: Tree, task: str
) -> None:
    tree.ask("tasks", "claim", task, "docs", "--agent", "one")
    assert tree.run("tasks", "complete", task, kill_at="committed").code == KILLED

    # The event is there and the claims could not be told any more: here nobody holds anything.
    assert held(tree, task) == {}
    assert tree.run("tasks", "claim", task, "tests", "--agent", "two").error == "task-closed"
    # That attempt told the other worktree.
    assert other.run("tasks", "claim", task, "tests", "--agent", "two").error == "task-closed"
    tree.check()
