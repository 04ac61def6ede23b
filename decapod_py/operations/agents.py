"""`decapod agents`: who works here. Whoever does something is known from then on; registering says more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.agents import AGENTS, REGISTERED, Agent, check_metadata, fold_agents, metadata_of
from decapod_py.domain.text import check_label
from decapod_py.foundation.clock import format_time, parse_time
from decapod_py.foundation.errors import Call, Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.coordination import acting_agent, board_of, tell_presence
from decapod_py.operations.knowledge.discretion import refuse_secrets
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from decapod_py.operations.requests import AgentInfo, ListAgents, RegisterAgent
    from decapod_py.operations.shapes import AgentInfoShape, AgentRegistered, AgentShape, AgentsListed, HeldClaim
    from decapod_py.storage.claims import Board
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace


class Known(NamedTuple):
    """An agent by all that is known of it: what it registered, what it recorded, and when it was here."""

    id: str
    first_seen: int
    last_seen: int
    agent: Agent | None


@operation(writes=True, idempotent=True)
def register(workspace: Workspace, request: RegisterAgent) -> AgentRegistered:
    """Say more about an agent: a display name, its type, metadata. Nobody has to.

    An omitted field keeps what it was, an empty one clears it. Saying the same again records nothing.
    """
    actor = workspace.actor(request.actor)
    agent = acting_agent(workspace, request.agent)
    fields, text = _given(request)
    refuse_secrets(workspace, [agent, *fields.values(), *text.values()])
    with workspace.writing() as writer:
        board = board_of(workspace)
        known = known_agents(writer.state, board, agent).get(agent)
        changed = known is None or known.agent is None or _differs(known.agent, fields, text)
        if changed:
            writer.append(actor, Draft(AGENTS, REGISTERED, {"agent": agent, **fields}, text))
    tell_presence(workspace, agent)
    return {"agent": agent, "created": known is None, "changed": changed}


@operation()
def info(workspace: Workspace, request: AgentInfo) -> AgentInfoShape:
    """Show what is known about an agent, and what it holds."""
    agent = acting_agent(workspace, request.agent)
    board = board_of(workspace)
    known = known_agents(workspace.state(), board, agent).get(agent)
    if known is None:
        raise Refused("not-found", f"no agent {agent!r} was ever here", Call("agents.list"))
    held: list[HeldClaim] = [
        {"task_id": claim.task_id, "aspect": claim.aspect, "expires_at": format_time(claim.expires)}
        for claim in board.claims
        if claim.agent == agent
    ]
    return {**_shown(known), "metadata": metadata_of(known.agent) if known.agent else {}, "claims": held}


@operation()
def list_(workspace: Workspace, request: ListAgents) -> AgentsListed:
    """List everybody who was ever here: who registered, recorded anything, or claimed; last seen first."""
    since = parse_time(request.active_since) if request.active_since is not None else 0
    found = [
        known
        for known in known_agents(workspace.state(), board_of(workspace)).values()
        if known.last_seen >= since and request.type in (None, known.agent and known.agent.type)
    ]
    found.sort(key=lambda known: (-known.last_seen, known.id))
    shown = found[: request.limit]
    return {"total": len(found), "count": len(shown), "agents": [_shown(known) for known in shown]}


def known_agents(state: State, board: Board, only: str | None = None) -> dict[str, Known]:
    """Everybody, or one: times in the ledgers are the same in every clone, presence is known in this one."""
    registered = fold_agents(state.events("ledger = ?", (AGENTS,)))
    rows = state.connection.execute(
        "SELECT agent, min(recorded), max(recorded) FROM events WHERE ?1 IS NULL OR agent = ?1 GROUP BY agent", (only,)
    )
    seen = {agent: (first, last) for agent, first, last in rows}
    for agent, (first, last) in board.agents.items():
        if only in (None, agent):
            earlier, later = seen.get(agent, (first, last))
            seen[agent] = (min(first, earlier), max(last, later))
    return {agent: Known(agent, *times, registered.get(agent)) for agent, times in seen.items()}


def _given(request: RegisterAgent) -> tuple[dict[str, str], dict[str, str]]:
    """The fields of the event and its free text: only what was given."""
    fields, text = {}, {}
    if request.type is not None:
        fields["agent_type"] = request.type and check_label(request.type, "type")
    if request.name is not None:
        text["name"] = request.name and check_label(request.name, "name")
    if request.metadata is not None:
        text["metadata"] = check_metadata(request.metadata)
    return fields, text


def _differs(known: Agent, fields: dict[str, str], text: dict[str, str]) -> bool:
    said = {"agent_type": known.type, "name": known.name, "metadata": known.metadata}
    return any((said[name] or "") != value for name, value in {**fields, **text}.items())


def _shown(known: Known) -> AgentShape:
    return {
        "id": known.id,
        "name": known.agent.name if known.agent else None,
        "type": known.agent.type if known.agent else None,
        "first_seen_at": format_time(known.first_seen),
        "last_seen_at": format_time(known.last_seen),
        "registered": known.agent is not None,
    }
