"""`decapod knowledge retrieval-log`: what came of using what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.domain.fold import RETRIEVAL
from decapod_py.domain.text import check_content
from decapod_py.foundation.errors import Misused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.discretion import refuse_secrets
from decapod_py.operations.knowledge.entries import find_entry
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from decapod_py.operations.requests import RetrievalLog
    from decapod_py.operations.shapes import Logged
    from decapod_py.workspace import Workspace


@operation(writes=True, core=True)
def retrieval_log(workspace: Workspace, request: RetrievalLog) -> Logged:
    """Say whether what search returned helped or hurt; entries that helped rank higher, those that hurt lower.

    The outcome counts for the entries that were used, which must be among those returned.
    """
    query = check_content(request.query)
    if not query:
        raise Misused("empty", "the query is empty")
    if not request.returned_ids:
        raise Misused("empty", "no entry was returned, so there is nothing to judge", "name them with --returned-id")
    refuse_secrets(workspace, [query])
    actor = workspace.actor(request.actor)
    with workspace.writing() as writer:
        returned = list(dict.fromkeys(find_entry(writer.state, given).id for given in request.returned_ids))
        used = list(dict.fromkeys(find_entry(writer.state, given).id for given in request.used_ids))
        stray = [entry_id for entry_id in used if entry_id not in returned]
        if stray:
            raise Misused("not-returned", f"{stray[0]} was used but is not among the returned ids")
        fields = {
            "returned_ids": returned,
            "used_ids": used,
            "outcome": request.outcome,
            "source": request.source,
        }
        event = writer.append(actor, Draft(RETRIEVAL, "retrieval.logged", fields, {"query": query}))
        file = writer.file_of(event)
    return {"event_id": event["event_id"], "file": file}
