"""`decapod status`: where the repository's knowledge stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py import __version__
from decapod_py.operations.catalogue import operation
from decapod_py.operations.coordination import board_of
from decapod_py.operations.problems import config_problems, ledger_problems, markdown_problems, state_problems

if TYPE_CHECKING:
    from decapod_py.operations.requests import Nothing
    from decapod_py.operations.shapes import StatusShape
    from decapod_py.workspace import Workspace


@operation(core=True)
def status(workspace: Workspace, request: Nothing) -> StatusShape:
    """Show where the knowledge stands: counts, open questions, problems and the digest of the folded state.

    Equal digests mean equal knowledge, on any machine.
    """
    state = workspace.state()
    connection = state.connection
    unlike = workspace.unlike_the_fold()
    return {
        "root": workspace.root,
        "version": __version__,
        "digest": state.digest(),
        "entries": dict(connection.execute("SELECT status, count(*) FROM entries GROUP BY status ORDER BY status")),
        "events": state.count("events"),
        "segments": state.count("segments"),
        "heads": dict(
            connection.execute("SELECT ledger, count(*) FROM events WHERE is_head GROUP BY ledger ORDER BY ledger")
        ),
        "diverged": state.diverged(),
        "clashes": [f"{key} ({scope}): {', '.join(ids)}" for key, scope, ids in state.clashes()],
        "proposals": sum(promotion.state == "proposed" for promotion in state.promotions()),
        "expired": state.count("entries", "status = 'active' AND expires <= ?", (workspace.clock(),)),
        "tasks": dict(connection.execute("SELECT status, count(*) FROM tasks GROUP BY status ORDER BY status")),
        "claims": len(board_of(workspace).claims),
        "markdown": _counted([page.state for page in unlike]),
        "problems": [
            *ledger_problems(state),
            *markdown_problems(unlike),
            *state_problems(state),
            *config_problems(workspace),
        ],
    }


def _counted(states: list[str]) -> dict[str, int]:
    return {state: states.count(state) for state in sorted(set(states))}
