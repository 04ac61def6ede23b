"""Tasks, findings and agents fold to one state, in any order of events."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from support import NOON

from decapod_py.domain.agents import Agent, check_agent, check_metadata, fold_agents, metadata_of
from decapod_py.domain.event import Event, seal
from decapod_py.domain.tasks import (
    Claim,
    Finding,
    Standing,
    Task,
    aspect_key,
    check_aspect,
    check_summary,
    findings_of,
    fold_finding,
    fold_task,
    later,
    tasks_of,
)
from decapod_py.foundation.clock import format_time
from decapod_py.foundation.errors import Misused
from decapod_py.foundation.ids import ulid


def event(kind: str, second: int, text: dict[str, Any] | None = None, ledger: str = "tasks", **fields: Any) -> Event:
    now = NOON + second * 1_000
    common = {
        "v": 1,
        "event_id": ulid(now),
        "ts": format_time(now),
        "type": kind,
        "ledger": ledger,
        "actor": "ada",
        "prev": [],
    }
    return seal({**common, **fields}, text or {}, "00")


CREATED = event("task.created", 0, {"title": "Parse it", "description": "All of it"}, agent="planner", tags=["core"])
TASK = CREATED["event_id"]


def test_a_task_is_what_the_event_says_that_created_it() -> None:
    assert fold_task(TASK, [CREATED]) == Task(TASK, "Parse it", "All of it", ("core",), "planner", NOON, "open", TASK)


def test_the_greatest_event_says_how_a_task_stands_in_any_order_of_arrival() -> None:
    completed = event("task.completed", 1, task_id=TASK)
    cancelled = event("task.cancelled", 2, task_id=TASK)
    reopened = event("task.reopened", 3, task_id=TASK)

    assert {fold_task(TASK, order) for order in permutations([CREATED, completed, cancelled])} == {
        fold_task(TASK, [CREATED])._replace(status="cancelled", decided=cancelled["event_id"])  # type: ignore[union-attr]
    }
    folded = {fold_task(TASK, order) for order in permutations([CREATED, completed, cancelled, reopened])}
    assert {task.status for task in folded if task} == {"open"}
    assert len(folded) == 1


def test_a_decision_about_a_task_that_is_not_here_waits_for_it() -> None:
    completed = event("task.completed", 1, task_id=TASK)

    assert fold_task(TASK, [completed]) is None
    assert fold_task(TASK, [completed, CREATED]).status == "completed"  # type: ignore[union-attr]


def test_a_decision_that_sorts_before_its_task_decides_nothing() -> None:
    early = event("task.completed", -5, task_id=TASK)

    assert fold_task(TASK, [early, CREATED]) == fold_task(TASK, [CREATED])


def test_fields_of_a_wrong_type_count_as_absent() -> None:
    odd = event("task.created", 0, {"title": 7, "description": ["x"]}, agent=3, tags="core")

    assert fold_task(odd["event_id"], [odd]) == Task(odd["event_id"], "", "", (), "ada", NOON, "open", odd["event_id"])
    assert tasks_of(event("task.completed", 1, task_id=["x"])) == []
    finding = event("finding.posted", 1, {"summary": "s"}, task_id=5)
    assert fold_finding(finding["event_id"], [finding]) is None


def test_events_of_another_ledger_do_not_act_on_tasks() -> None:
    stranger = event("task.completed", 1, ledger="knowledge.events", task_id=TASK)

    assert fold_task(TASK, [CREATED, stranger]).status == "open"  # type: ignore[union-attr]


def test_a_redacted_title_and_summary_are_shown_no_more() -> None:
    finding = event("finding.posted", 1, {"summary": "a secret"}, task_id=TASK, agent="w")
    redaction = event("event.redacted", 2, redacts=[TASK, finding["event_id"]], entry_ids=[])

    assert TASK in tasks_of(redaction) and finding["event_id"] in findings_of(redaction)
    assert fold_task(TASK, [redaction, CREATED]).title == "[redacted]"  # type: ignore[union-attr]
    assert fold_finding(finding["event_id"], [redaction, finding]) == Finding(
        finding["event_id"], TASK, "w", "[redacted]", None, NOON + 1_000
    )


def test_of_two_standings_the_one_with_the_greater_event_holds() -> None:
    one, other = Standing(TASK, "open", "01A"), Standing(TASK, "completed", "01B")

    assert later(one, other) == later(other, one) == other
    assert later(one, None) == one


def test_a_claim_holds_until_the_millisecond_it_expires_at() -> None:
    claim = Claim(TASK, "docs", "w", NOON, NOON + 60_000)

    assert claim.holds(NOON + 59_999)
    assert not claim.holds(NOON + 60_000)


@pytest.mark.parametrize("other", ["FRONT END", " front  end ", "front\u200b end", "ｆｒｏｎｔ end"])
def test_spellings_that_a_reader_takes_for_one_aspect_are_one(other: str) -> None:
    assert aspect_key(check_aspect(other)) == aspect_key("front end")


@pytest.mark.parametrize("nothing", ["", "  ", "\u200b", "\u2060 \u200d"])
def test_what_a_reader_sees_as_nothing_is_no_name(nothing: str) -> None:
    for check in (check_aspect, check_agent, check_summary):
        if check is check_summary and nothing.strip():
            continue
        with pytest.raises(Misused) as refused:
            check(nothing)
        assert refused.value.code == "empty"


def test_registrations_fold_field_by_field_in_any_order() -> None:
    first = event("agent.registered", 0, {"name": "One", "metadata": '{"a": 1}'}, "agents", agent="w", agent_type="x")
    second = event("agent.registered", 1, {"name": "Two"}, "agents", agent="w")
    third = event("agent.registered", 2, {"metadata": ""}, "agents", agent="w")

    for order in permutations([first, second, third]):
        assert fold_agents(order) == {"w": Agent("w", "Two", "x", None, NOON)}


def test_a_redacted_registration_says_nothing() -> None:
    first = event("agent.registered", 0, {"name": "A secret"}, "agents", agent="w", agent_type="x")
    redaction = event("event.redacted", 1, ledger="agents", redacts=[first["event_id"]], entry_ids=[])

    assert fold_agents([redaction, first]) == {"w": Agent("w", None, "x", None, NOON)}


def test_metadata_has_one_form() -> None:
    assert check_metadata('{"b": 1.50, "a": "ü"}') == '{"a": "ü", "b": 1.5}'
    assert check_metadata("{}") == check_metadata(" ") == ""


@pytest.mark.parametrize(
    "text",
    ["[1]", "7", "{", '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', "[" * 100_000, '{"a": "%s"}' % ("x" * 20_000)],
)
def test_what_is_no_json_object_is_no_metadata(text: str) -> None:
    with pytest.raises(Misused):
        check_metadata(text)


def test_metadata_of_a_stranger_that_is_none_counts_as_nothing() -> None:
    assert metadata_of(Agent("w", None, None, "[1", 0)) == metadata_of(Agent("w", None, None, "[1]", 0)) == {}
