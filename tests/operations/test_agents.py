"""`decapod agents`: who works here."""

from __future__ import annotations

from typing import Any

import pytest
from support import NOON, decapod

from decapod_py.foundation.clock import DAY, format_time


@pytest.fixture
def agents(opened: Any) -> Any:
    return opened.agents


def names(agents: Any, **filters: Any) -> list[str]:
    return [agent["id"] for agent in agents.list(**filters)["agents"]]


def test_whoever_does_something_is_known_from_then_on(opened, knowledge, agents, clock):
    knowledge.add(title="T", text="x", provenance=["cmd:x"], actor="writer")
    clock.forward(days=1)
    task = opened.tasks.create(title="T", agent="planner")["task_id"]
    clock.forward(days=1)
    opened.tasks.claim(task_id=task, aspect="docs", agent="worker")
    clock.forward(days=1)
    opened.tasks.claim(task_id=task, aspect="docs", agent="worker")

    assert agents.list()["agents"] == [
        {
            "id": agent,
            "name": None,
            "type": None,
            "first_seen_at": format_time(NOON + first * DAY),
            "last_seen_at": format_time(NOON + last * DAY),
            "registered": False,
        }
        for agent, first, last in (("worker", 2, 3), ("planner", 1, 1), ("writer", 0, 0))
    ]


def test_presence_alone_never_churns_the_ledgers(opened, agents):
    task = opened.tasks.create(title="T", agent="planner")["task_id"]
    for _ in range(3):
        opened.tasks.claim(task_id=task, aspect="docs", agent="worker")
        opened.tasks.release(task_id=task, aspect="docs", agent="worker")

    assert opened.status()["events"] == 1
    assert "worker" in names(agents)


def test_registering_tells_whether_the_agent_is_new(opened, agents):
    assert agents.register(agent="w", name="Worker", type="custom", metadata='{"version": 2}') == {
        "agent": "w",
        "created": True,
        "changed": True,
    }
    assert agents.register(agent="w", name="Worker") == {"agent": "w", "created": False, "changed": False}
    assert agents.register(agent="w", type="") == {"agent": "w", "created": False, "changed": True}
    assert {key: agents.info(agent="w")[key] for key in ("name", "type", "metadata", "registered")} == {
        "name": "Worker",
        "type": None,
        "metadata": {"version": 2},
        "registered": True,
    }


def test_an_agent_that_was_only_seen_is_not_created_by_registering_it(opened, agents):
    task = opened.tasks.create(title="T")["task_id"]
    opened.tasks.claim(task_id=task, aspect="docs", agent="w")

    assert agents.register(agent="w", name="Worker") == {"agent": "w", "created": False, "changed": True}


def test_registering_the_same_again_writes_no_event(opened, agents):
    for _ in range(3):
        agents.register(agent="w", name="Worker", metadata='{"b": 1, "a": 2}')
    agents.register(agent="w", metadata='{"a":2,"b":1}')

    assert opened.status()["events"] == 1


def test_an_agent_registers_itself_by_default(as_agent, opened):
    assert as_agent("agents.register", type="custom")["agent"] == "agent:tester"
    assert as_agent("agents.info")["type"] == "custom"


def test_info_tells_what_an_agent_holds(opened, agents, clock):
    task = opened.tasks.create(title="T")["task_id"]
    opened.tasks.claim(task_id=task, aspect="docs", agent="w", ttl_minutes=1)

    held = {"task_id": task, "aspect": "docs", "expires_at": format_time(NOON + 60_000)}
    assert agents.info(agent="w")["claims"] == [held]
    clock.forward(milliseconds=60_000)
    assert agents.info(agent="w")["claims"] == []


def test_agents_are_listed_by_type_and_time(opened, agents, clock):
    agents.register(agent="old", type="custom")
    clock.forward(days=10)
    agents.register(agent="new", type="claude-code")

    assert names(agents, type="custom") == ["old"]
    assert names(agents, active_since=format_time(NOON + DAY)) == ["new"]
    listed = agents.list(limit=1)
    assert (listed["count"], listed["total"]) == (1, 2)


def test_bad_input_is_refused_and_changes_nothing(refused, agents):
    for nothing in ("", " ", "\u200b"):
        refused("empty", 2, agents.register, agent=nothing)
        refused("empty", 2, agents.info, agent=nothing)
    refused("not-found", 1, agents.info, agent="nobody")
    refused("bad-arguments", 2, agents.list, limit=0)
    refused("bad-time", 2, agents.list, active_since="yesterday")
    refused("bad-metadata", 2, agents.register, agent="w", metadata="[1]")
    refused("bad-metadata", 2, agents.register, agent="w", metadata="{")
    refused("bad-text", 2, agents.register, agent="w", name="a\x1bb")
    refused("secret", 1, agents.register, agent="w", name="ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")


def test_a_redacted_registration_shows_no_name(opened, agents):
    agents.register(agent="w", name="Something private", type="custom")
    [event] = opened.ledger.show(ledger="agents")["events"]
    opened.ledger.redact(target=event["event_id"], reason="leaked")

    assert agents.info(agent="w")["name"] is None
    assert agents.info(agent="w")["type"] == "custom"


def test_the_command_line_registers_and_lists(repository):
    decapod(repository, "agents", "register", "w", "--name", "Worker", "--metadata", '{"load": 0.5}')

    assert decapod(repository, "agents", "info", "w")["metadata"] == {"load": 0.5}
    assert [one["id"] for one in decapod(repository, "agents", "list")["agents"]] == ["w"]
