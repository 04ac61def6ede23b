from __future__ import annotations

from pathlib import Path
from typing import Any

from support import decapod, run


def test_everything_is_counted_as_a_reader_sees_it(opened: Any, clock: Any) -> None:
    nothing = {"entries": {}, "passages": 0, "tags": 0, "agents": 0, "open_tasks": 0, "open_claims": 0}
    assert opened.stats() == nothing

    knowledge = opened.knowledge
    knowledge.add(id="a", title="A", text="One.\n\n" + "Long. " * 300, provenance=["cmd:x"], tags=["http", "net"])
    knowledge.add(id="b", title="B", text="Two.", provenance=["cmd:x"], tags=["HTTP"])
    knowledge.add(id="c", title="C", text="Three.", provenance=["cmd:x"], ttl_policy="ephemeral")
    knowledge.deprecate(id="b")
    clock.forward(days=2)
    task = opened.tasks.create(title="Parse it", agent="worker")["task_id"]
    opened.tasks.create(title="Print it", agent="worker")
    opened.tasks.claim(task_id=task, aspect="docs", agent="writer")

    counted = opened.stats()
    assert counted["entries"] == {"active": 1, "deprecated": 1, "stale": 1}
    assert counted["passages"] > 3
    assert (counted["tags"], counted["agents"]) == (2, 3)
    assert (counted["open_tasks"], counted["open_claims"]) == (2, 1)
    opened.tasks.complete(task_id=task)
    assert (opened.stats()["open_tasks"], opened.stats()["open_claims"]) == (1, 0)


def test_passages_follow_every_change(opened: Any) -> None:
    opened.knowledge.add(id="a", title="A", text="Short.", provenance=["cmd:x"])
    assert opened.stats()["passages"] == 1
    opened.knowledge.edit(id="a", text="A paragraph.\n\n" + "word " * 150)
    assert opened.stats()["passages"] == 2
    opened.knowledge.delete(id="a")
    assert opened.stats()["passages"] == 0


def test_the_command_says_it_in_lines(repository: Path) -> None:
    decapod(repository, "knowledge", "add", "Retries stop at 3", "--from", "src/a.py:3")

    assert run(repository, "stats").stdout.splitlines() == [
        "entries      1 active",
        "passages     1",
        "tags         0",
        "agents       1",
        "open tasks   0",
        "open claims  0",
    ]
