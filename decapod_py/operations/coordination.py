"""What the operations on tasks and agents share: who acts, what the whole clone knows, finding a task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.agents import check_agent
from decapod_py.domain.tasks import Claim, Standing, later
from decapod_py.foundation.clock import format_time
from decapod_py.foundation.errors import Call, Refused
from decapod_py.storage.claims import NOTHING, Board
from decapod_py.views import tasks as views

if TYPE_CHECKING:
    from decapod_py.domain.tasks import Task
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace

_SHORTEST_PREFIX = 4


class Found(NamedTuple):
    """A task as the whole clone knows it."""

    standing: Standing
    task: Task | None  # nothing where only another worktree has it
    claims: list[Claim]

    @property
    def id(self) -> str:
        return self.standing.task_id


def acting_agent(workspace: Workspace, given: str | None) -> str:
    """The agent that is named, or whoever acts. A name is free: what proves who acted is the event's actor."""
    return check_agent(workspace.actor() if given is None else given)


def board_of(workspace: Workspace) -> Board:
    """Who works on what; nothing, and a warning, where that cannot be read: a question is answered all the same."""
    try:
        return workspace.claims.board(workspace.clock())
    except Refused as problem:
        if problem.message not in workspace.warnings:
            workspace.warnings.append(problem.message)
        return NOTHING


def find_task(workspace: Workspace, state: State, given: str) -> Found:
    """The task of this id, or the only one whose id begins like this, in any worktree of the clone."""
    board = board_of(workspace)
    wanted = given.strip().upper()
    named = re.fullmatch(r"[0-9A-Z]{1,26}", wanted) is not None  # anything else is no part of any id
    if named and len(wanted) == 26:
        found = as_known(state, board, wanted)
        if found:
            return found
    close = _beginning(state, board, wanted) if named and len(wanted) >= _SHORTEST_PREFIX else []
    if len(close) > 1:
        raise Refused("ambiguous-id", f"{given!r} begins more than one id: {', '.join(close)}", "give more of the id")
    only = as_known(state, board, close[0]) if close else None
    if only is None:
        raise Refused("not-found", f"there is no task {given!r}", Call("tasks.list", {"status": "any"}))
    return only


def as_known(state: State, board: Board, task_id: str) -> Found | None:
    """A task by what this ledger says and by what other worktrees told since."""
    task = views.task(state, task_id)
    told = board.standings.get(task_id)
    standing = later(task.standing, told) if task else told
    if standing is None:
        return None
    # A claim may outlive its task by a crash: what is closed is nobody's.
    claims = [claim for claim in board.claims if claim.task_id == task_id] if standing.is_open else []
    return Found(standing, task, claims)


def _beginning(state: State, board: Board, prefix: str) -> list[str]:
    told = [task_id for task_id in board.standings if task_id.startswith(prefix)]
    return sorted({*views.tasks_beginning(state, prefix), *told})[:5]


def tell(workspace: Workspace, standing: Standing, agent: str) -> list[Claim]:
    """Tells all worktrees how a task stands; returns the claims that ended.

    Where that cannot be told, nothing is lost: the ledger has it, and claims end by themselves.
    """
    now = workspace.clock()
    try:
        return workspace.claims.note(standing, agent, now)
    except Refused as problem:
        held = [claim for claim in board_of(workspace).claims if claim.task_id == standing.task_id]
        if held and not standing.is_open:
            last = format_time(max(claim.expires for claim in held))
            workspace.warnings.append(f"{problem.message}; its claims end by themselves, the last at {last}")
        return []


def tell_presence(workspace: Workspace, agent: str) -> None:
    """Notes that an agent was here, if that can be noted."""
    try:
        workspace.claims.see(agent, workspace.clock())
    except Refused:
        return
