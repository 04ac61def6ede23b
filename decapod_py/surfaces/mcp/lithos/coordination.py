"""Lithos's tools for agents, tasks, claims and findings."""

from __future__ import annotations

import json
from collections.abc import Callable

from decapod_py.domain.agents import check_agent
from decapod_py.surfaces.mcp.adapting import adapted, ask, in_utc, unless_refused
from decapod_py.surfaces.mcp.lithos import requests, shapes
from decapod_py.surfaces.mcp.tools import Answer
from decapod_py.workspace import Workspace

_ALL = 10_000
_UNKNOWN = ("not-found", "ambiguous-id")
_FAILED = (*_UNKNOWN, "task-closed")


@adapted(writes=True, idempotent=True)
def lithos_agent_register(workspace: Workspace, request: requests.AgentRegister) -> shapes.AgentRegistered:
    """Say more about an agent; nobody has to, whoever does something is known."""
    agent = check_agent(request.id)
    registered = ask(
        workspace,
        "agents.register",
        agent=agent,
        name=request.name,
        type=request.type,
        metadata=None if request.metadata is None else json.dumps(request.metadata),
        actor=agent,
    )
    return {"success": True, "created": registered["created"]}


@adapted()
def lithos_agent_info(workspace: Workspace, request: requests.AgentInfo) -> shapes.AgentKnown:
    """What is known about an agent; nothing but its id where it was never here."""
    info = unless_refused(workspace, _UNKNOWN, lambda: ask(workspace, "agents.info", agent=request.id))
    known = info or {}
    return {
        "id": known.get("id", request.id),
        "name": known.get("name"),
        "type": known.get("type"),
        "first_seen_at": known.get("first_seen_at"),
        "last_seen_at": known.get("last_seen_at"),
        "metadata": known.get("metadata", {}),
    }


@adapted()
def lithos_agent_list(workspace: Workspace, request: requests.AgentList) -> shapes.AgentsSeen:
    """Everybody who was ever here, last seen first."""
    listed = ask(workspace, "agents.list", type=request.type, active_since=in_utc(request.active_since), limit=_ALL)
    return {
        "agents": [
            {
                "id": agent["id"],
                "name": agent["name"],
                "type": agent["type"],
                "last_seen_at": agent["last_seen_at"],
            }
            for agent in listed["agents"]
        ]
    }


@adapted(writes=True)
def lithos_task_create(workspace: Workspace, request: requests.TaskCreate) -> shapes.TaskCreated:
    """Create a task that agents share."""
    created = ask(
        workspace,
        "tasks.create",
        title=request.title,
        description=request.description,
        tags=request.tags,
        agent=request.agent,
    )
    return {"task_id": created["task_id"]}


@adapted(writes=True, idempotent=True)
def lithos_task_claim(workspace: Workspace, request: requests.TaskClaim) -> shapes.Claimed:
    """Claim an aspect of a task; one agent holds it until it expires."""
    until = _held_until(workspace, lambda: ask(workspace, "tasks.claim", **request.model_dump()))
    return {"success": True, "expires_at": until} if until else {"success": False}


@adapted(writes=True, idempotent=True)
def lithos_task_renew(workspace: Workspace, request: requests.TaskClaim) -> shapes.Renewed:
    """Give a claim that you hold new time."""
    until = _held_until(workspace, lambda: ask(workspace, "tasks.renew", **request.model_dump()))
    return {"success": True, "new_expires_at": until} if until else {"success": False}


def _held_until(workspace: Workspace, claim: Callable[[], Answer]) -> str | None:
    """When the claim expires; nothing where it is not the agent's, and then who holds it is told beside the answer."""
    claimed = unless_refused(workspace, _FAILED, claim)
    if claimed and claimed["ok"]:
        return str(claimed["expires_at"])
    if claimed:
        _tell_holder(workspace, claimed)
    return None


def _tell_holder(workspace: Workspace, claimed: Answer) -> None:
    holder = claimed["held_by"]
    held = f"held by {holder} until {claimed['expires_at']}" if holder else "held by nobody"
    workspace.warnings.append(f"{claimed['aspect']} is {held}")


@adapted(writes=True, idempotent=True)
def lithos_task_release(workspace: Workspace, request: requests.TaskRelease) -> shapes.Succeeded:
    """Give up a claim that you hold."""
    released = unless_refused(workspace, _FAILED, lambda: ask(workspace, "tasks.release", **request.model_dump()))
    if released and not released["ok"]:
        _tell_holder(workspace, released)
    return {"success": bool(released and released["ok"])}


@adapted(writes=True, idempotent=True)
def lithos_task_complete(workspace: Workspace, request: requests.TaskComplete) -> shapes.Succeeded:
    """Say that a task is done; all claims on it end."""
    done = unless_refused(workspace, _FAILED, lambda: ask(workspace, "tasks.complete", **request.model_dump()))
    return {"success": done is not None}


@adapted()
def lithos_task_status(workspace: Workspace, request: requests.TaskStatus) -> shapes.TasksShown:
    """A task with the claims that hold, or all active tasks."""
    status = unless_refused(
        workspace, _UNKNOWN, lambda: ask(workspace, "tasks.status", task_id=request.task_id, limit=_ALL)
    )
    return {"tasks": [_task(task) for task in (status or {"tasks": []})["tasks"]]}


def _task(task: Answer) -> shapes.TaskShown:
    return {
        "id": task["id"],
        "title": task["title"] or "",  # another worktree created it, and its ledger is not here yet
        "status": task["status"],
        "claims": [
            {"agent": claim["agent"], "aspect": claim["aspect"], "expires_at": claim["expires_at"]}
            for claim in task["claims"]
        ],
    }


@adapted(writes=True)
def lithos_finding_post(workspace: Workspace, request: requests.FindingPost) -> shapes.FindingPosted:
    """Post a finding to a task, with the knowledge item that says more."""
    posted = ask(workspace, "tasks.post-finding", **request.model_dump())
    return {"finding_id": posted["finding_id"]}


@adapted()
def lithos_finding_list(workspace: Workspace, request: requests.FindingList) -> shapes.FindingsShown:
    """The findings of a task, newest last."""
    found = unless_refused(
        workspace,
        _UNKNOWN,
        lambda: ask(workspace, "tasks.findings", task_id=request.task_id, since=in_utc(request.since), limit=_ALL),
    )
    return {
        "findings": [
            {
                "id": finding["id"],
                "agent": finding["agent"],
                "summary": finding["summary"],
                "knowledge_id": finding["knowledge_id"],
                "created_at": finding["created_at"],
            }
            for finding in (found or {"findings": []})["findings"]
        ]
    }
