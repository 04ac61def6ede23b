"""`decapod tasks`: what is to be done, who works on which aspect of it, and what they found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain import tasks as rules
from decapod_py.domain.agents import agent_of
from decapod_py.domain.event import text_of
from decapod_py.domain.tasks import MINUTE, TASKS, Claim, Standing
from decapod_py.domain.text import check_tags, check_title
from decapod_py.domain.words import tag_key
from decapod_py.foundation.clock import format_time, parse_time
from decapod_py.foundation.errors import Call, Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.coordination import Found, acting_agent, as_known, board_of, find_task, tell
from decapod_py.operations.knowledge.discretion import recorded_reason, refuse_secrets
from decapod_py.operations.knowledge.entries import find_living_entry
from decapod_py.storage.claims import Closed, Held, Taken
from decapod_py.views import tasks as views
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from decapod_py.domain.tasks import Finding
    from decapod_py.operations.requests import (
        ClaimTask,
        CreateTask,
        DecideTask,
        ListFindings,
        ListTasks,
        PostFinding,
        ReleaseTask,
        TaskStatus,
    )
    from decapod_py.operations.shapes import (
        Claimed,
        ClaimShape,
        FindingPosted,
        FindingsListed,
        PostedFinding,
        TaskCreated,
        TaskDecided,
        TaskShape,
        TasksListed,
    )
    from decapod_py.storage.claims import Board
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace


@operation(writes=True)
def create(workspace: Workspace, request: CreateTask) -> TaskCreated:
    """Create a task that agents can share: each claims an aspect of it.

    It is an event like any other and travels with the repository; claims stay in this clone.
    """
    actor = workspace.actor(request.actor)
    agent = acting_agent(workspace, request.agent)
    title, tags = check_title(request.title), check_tags(request.tags)
    description = rules.check_description(request.description)
    refuse_secrets(workspace, [title, description, *tags])
    text = {"title": title, **({"description": description} if description else {})}
    with workspace.writing() as writer:
        event = writer.append(actor, Draft(TASKS, rules.CREATED, {"agent": agent, "tags": tags}, text))
    tell(workspace, Standing(event["event_id"], "open", event["event_id"]), agent)
    return {"task_id": event["event_id"]}


@operation(writes=True, idempotent=True)
def claim(workspace: Workspace, request: ClaimTask) -> Claimed:
    """Claim an aspect of a task: one agent holds it, in all worktrees of this clone, until it expires.

    An aspect that another agent holds is told with its holder; claiming what you hold gives it new time.
    """
    standing, wanted = _wanted(workspace, request, request.ttl_minutes)
    outcome = workspace.claims.take(standing, wanted)
    if isinstance(outcome, Closed):
        raise _closed(outcome.standing)
    return _claimed(wanted, outcome)


@operation(writes=True, idempotent=True)
def renew(workspace: Workspace, request: ClaimTask) -> Claimed:
    """Give a claim that you hold new time, counted from now; nobody else can.

    One that expired is not held any more: claim it again.
    """
    standing, wanted = _wanted(workspace, request, request.ttl_minutes)
    outcome = workspace.claims.renew(standing, wanted)
    if isinstance(outcome, Closed):
        raise _closed(outcome.standing)
    return _claimed(wanted, outcome)


@operation(writes=True, idempotent=True)
def release(workspace: Workspace, request: ReleaseTask) -> Claimed:
    """Give up a claim that you hold, so that others can take it."""
    _, wanted = _wanted(workspace, request, 0)
    outcome = workspace.claims.release(wanted)
    return {**_claimed(wanted, outcome), "expires_at": _until(outcome) if isinstance(outcome, Held) else None}


@operation(writes=True, idempotent=True)
def complete(workspace: Workspace, request: DecideTask) -> TaskDecided:
    """Say that a task is done; all claims on it end."""
    return _decide(workspace, request, rules.COMPLETED)


@operation(writes=True, idempotent=True)
def cancel(workspace: Workspace, request: DecideTask) -> TaskDecided:
    """Say that a task is not to be done; all claims on it end."""
    return _decide(workspace, request, rules.CANCELLED)


@operation(writes=True, idempotent=True)
def reopen(workspace: Workspace, request: DecideTask) -> TaskDecided:
    """Open a task again that was completed or cancelled."""
    return _decide(workspace, request, rules.REOPENED)


@operation()
def status(workspace: Workspace, request: TaskStatus) -> TasksListed:
    """Show a task with its claims, or all open tasks, newest first. Claims that expired are not there any more."""
    state = workspace.state()
    if request.task_id is None:
        return _listed(state, board_of(workspace), Filter(), request.limit)
    found = find_task(workspace, state, request.task_id)
    shape = _shown(found, views.finding_counts(state, [found.id]).get(found.id, 0))
    return {"total": 1, "count": 1, "tasks": [{**shape, **_details(state, found)}]}  # type: ignore[typeddict-item]


@operation()
def list_(workspace: Workspace, request: ListTasks) -> TasksListed:
    """List tasks by status, tags and who created them, newest first."""
    state = workspace.state()
    wanted = Filter(request.status, tuple(check_tags(request.tags)), request.created_by)
    return _listed(state, board_of(workspace), wanted, request.limit, request.offset)


@operation(writes=True)
def post_finding(workspace: Workspace, request: PostFinding) -> FindingPosted:
    """Post what you found to a task, with the entry that says more, if there is one."""
    actor = workspace.actor(request.actor)
    agent = acting_agent(workspace, request.agent)
    summary = rules.check_summary(request.summary)
    refuse_secrets(workspace, [summary])
    with workspace.writing() as writer:
        found = find_task(workspace, writer.state, request.task_id)
        _warn_if_elsewhere(workspace, found)
        knowledge_id = request.knowledge_id and find_living_entry(writer.state, request.knowledge_id).id
        fields = {"task_id": found.id, "agent": agent, "knowledge_id": knowledge_id or None}
        event = writer.append(actor, Draft(TASKS, rules.POSTED, fields, {"summary": summary}))
    tell(workspace, found.standing, agent)
    return {"finding_id": event["event_id"], "task_id": found.id}


@operation()
def findings(workspace: Workspace, request: ListFindings) -> FindingsListed:
    """List the findings of a task, newest last."""
    state = workspace.state()
    found = find_task(workspace, state, request.task_id)
    where, arguments = "task_id = ? AND recorded >= ?", (found.id, parse_time(request.since) if request.since else 0)
    listed = views.findings(state, where, arguments, request.limit)
    return {
        "task_id": found.id,
        "total": state.count("findings", where, arguments),
        "count": len(listed),
        "findings": [_finding(one) for one in listed],
    }


def _wanted(workspace: Workspace, request: ClaimTask | ReleaseTask, minutes: int) -> tuple[Standing, Claim]:
    """How the task stands, and the claim as it would be."""
    aspect = rules.check_aspect(request.aspect)
    agent = acting_agent(workspace, request.agent)
    found = find_task(workspace, workspace.state(), request.task_id)
    workspace.end_question()  # whoever waits for a claim must not keep anybody from writing
    now = workspace.clock()
    return found.standing, Claim(found.id, aspect, agent, now, now + minutes * MINUTE)


def _claimed(wanted: Claim, outcome: Any) -> Claimed:
    return {
        "ok": isinstance(outcome, Taken),
        "task_id": wanted.task_id,
        "aspect": wanted.aspect,
        "agent": wanted.agent,
        "expires_at": _until(outcome),
        "held_by": outcome.claim.agent if isinstance(outcome, Held) else None,
    }


def _until(outcome: Any) -> str | None:
    return format_time(outcome.claim.expires) if isinstance(outcome, Taken | Held) else None


def _closed(standing: Standing) -> Refused:
    return Refused(
        "task-closed",
        f"task {standing.task_id} was {standing.status}",
        Call("tasks.reopen", {"task_id": standing.task_id}),
        {"status": standing.status},
    )


def _decide(workspace: Workspace, request: DecideTask, kind: str) -> TaskDecided:
    actor = workspace.actor(request.actor)
    agent = acting_agent(workspace, request.agent)
    reason = recorded_reason(workspace, request.reason)
    wanted = rules.STATUSES[kind]
    event = None
    with workspace.writing() as writer:
        found = find_task(workspace, writer.state, request.task_id)
        standing = found.standing
        if standing.status != wanted:
            if not standing.is_open and wanted != "open":
                raise _closed(standing)
            _warn_if_elsewhere(workspace, found)
            fields = {"task_id": found.id, "agent": agent}
            draft = Draft(TASKS, kind, fields, {"reason": reason} if reason else {})
            # Another worktree may have told how the task stands, by a clock that is ahead of ours.
            event = writer.append(actor, draft, after=standing.decided)
            standing = Standing(found.id, wanted, event["event_id"])
    # After the event: a crash in between leaves claims on a closed task, which count for nothing.
    released = tell(workspace, standing, agent)
    return {
        "task_id": found.id,
        "status": wanted,
        "changed": event is not None,
        "event_id": event["event_id"] if event else None,
        "released": [_claim(one) for one in released],
    }


def _warn_if_elsewhere(workspace: Workspace, found: Found) -> None:
    if found.task is None:
        workspace.warnings.append(
            f"task {found.id} was recorded in another worktree: what is written here waits for it to be merged"
        )


class Filter(NamedTuple):
    """Which tasks a list is about."""

    status: str = "open"
    tags: tuple[str, ...] = ()
    created_by: str | None = None


def open_tasks(state: State, board: Board) -> int:
    """How many tasks are to be done, by all that the clone knows."""
    return state.count("tasks", *_conditions(state, board, Filter()))


def _listed(state: State, board: Board, wanted: Filter, limit: int, offset: int = 0) -> TasksListed:
    where, arguments = _conditions(state, board, wanted)
    listed = views.tasks(state, where, arguments, limit, offset)
    counts = views.finding_counts(state, [task.id for task in listed])
    shown = [found for task in listed if (found := as_known(state, board, task.id))]
    return {
        "total": state.count("tasks", where, arguments),
        "count": len(shown),
        "tasks": [_shown(found, counts.get(found.id, 0)) for found in shown],
    }


def _conditions(state: State, board: Board, wanted: Filter) -> tuple[str, list[str]]:
    """The filter as SQL, so that a list costs what it shows."""
    conditions: list[tuple[str, list[str]]] = [("1", [])]
    if wanted.status != "any":
        told = _told_otherwise(state, board)
        gone = [task_id for task_id, status in told.items() if status != wanted.status]
        come = [task_id for task_id, status in told.items() if status == wanted.status]
        conditions.append((f"(status = ? AND id NOT {_AMONG} OR id {_AMONG})", [wanted.status, *_lists(gone, come)]))
    if wanted.tags:
        conditions.append((f"id {_AMONG}", _lists(_tagged(state, wanted.tags))))
    if wanted.created_by is not None:
        conditions.append(("agent = ?", [wanted.created_by]))
    arguments = [argument for _, given in conditions for argument in given]
    return " AND ".join(condition for condition, _ in conditions), arguments


_AMONG = "IN (SELECT value FROM json_each(?))"


def _lists(*lists: list[str]) -> list[str]:
    return [json.dumps(each) for each in lists]


def _tagged(state: State, tags: tuple[str, ...]) -> list[str]:
    """The tasks that have all of these tags, whatever their case."""
    wanted = {tag_key(tag) for tag in tags}
    rows = state.connection.execute("SELECT id, tags FROM tasks WHERE tags != '[]'")
    return [task_id for task_id, held in rows if wanted <= {tag_key(tag) for tag in json.loads(held)}]


def _told_otherwise(state: State, board: Board) -> dict[str, str]:
    """The tasks of this ledger of which another worktree said something later, and what."""
    here = views.tasks(state, f"id {_AMONG}", _lists(list(board.standings)))
    return {
        task.id: told.status
        for task in here
        if (told := board.standings[task.id]).decided > task.decided and told.status != task.status
    }


def _shown(found: Found, findings: int) -> TaskShape:
    task = found.task
    return {
        "id": found.id,
        "title": task.title if task else None,
        "status": found.standing.status,
        "agent": task.agent if task else None,
        "tags": list(task.tags) if task else [],
        "created_at": format_time(task.created) if task else None,
        "here": task is not None,
        "claims": [_claim(one) for one in found.claims],
        "findings": findings,
    }


def _details(state: State, found: Found) -> dict[str, str]:
    """What a list leaves out: the description, and who closed or reopened the task, when and why."""
    details = {"description": found.task.description} if found.task and found.task.description else {}
    for event in state.events("event_id = ?", (found.standing.decided,)):
        if event["type"] in (rules.COMPLETED, rules.CANCELLED, rules.REOPENED):
            details |= {"decided_by": agent_of(event), "decided_at": event["ts"]}
            reason = text_of(event, "reason")
            details |= {"reason": reason} if reason else {}
    return details


def _claim(claim: Claim) -> ClaimShape:
    return {
        "agent": claim.agent,
        "aspect": claim.aspect,
        "claimed_at": format_time(claim.claimed),
        "expires_at": format_time(claim.expires),
    }


def _finding(finding: Finding) -> PostedFinding:
    return {
        "id": finding.id,
        "task_id": finding.task_id,
        "agent": finding.agent,
        "summary": finding.summary,
        "knowledge_id": finding.knowledge_id,
        "created_at": format_time(finding.recorded),
    }
