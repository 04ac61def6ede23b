"""`decapod stats`: how much is known here, and how much is going on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.operations.agents import known_agents
from decapod_py.operations.catalogue import operation
from decapod_py.operations.coordination import board_of
from decapod_py.operations.tags import count_tags
from decapod_py.operations.tasks import open_tasks
from decapod_py.views.passages import count_passages

if TYPE_CHECKING:
    from decapod_py.operations.requests import Nothing
    from decapod_py.operations.shapes import Stats
    from decapod_py.workspace import Workspace

_STATUSES = """
    SELECT CASE WHEN status = 'active' AND expires <= ? THEN 'stale' ELSE status END AS seen, count(*)
    FROM entries GROUP BY seen ORDER BY seen
"""


@operation()
def stats(workspace: Workspace, request: Nothing) -> Stats:
    """Count entries by status, their passages and tags, agents, open tasks and claims.

    Ask it before a broad question: it says how much there is to find.
    """
    board = board_of(workspace)
    state = workspace.state()
    return {
        "entries": dict(state.connection.execute(_STATUSES, (workspace.clock(),))),
        "passages": workspace.worked_out(state, count_passages),
        "tags": len(workspace.worked_out(state, count_tags)),
        "agents": len(known_agents(state, board)),
        "open_tasks": open_tasks(state, board),
        "open_claims": len(board.claims),
    }
