"""`decapod tags`: the tags in use."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from decapod_py.operations.catalogue import operation

if TYPE_CHECKING:
    from decapod_py.operations.requests import Nothing
    from decapod_py.operations.shapes import TagsCounted
    from decapod_py.workspace import Workspace


@operation()
def tags(workspace: Workspace, request: Nothing) -> TagsCounted:
    """Count the tags of the entries in use, the most used first.

    A tag is one whatever its case; it is shown as most entries write it.
    """
    rows = workspace.state().connection.execute(
        "SELECT tags, count(*) FROM entries WHERE status = 'active' AND tags != '[]' GROUP BY tags"
    )
    written: dict[str, Counter[str]] = {}
    for listed, entries in rows:
        for tag in json.loads(listed):
            written.setdefault(tag.casefold(), Counter())[tag] += entries
    counted = {_usual(spellings): spellings.total() for spellings in written.values()}
    return {"tags": dict(sorted(counted.items(), key=lambda tag: (-tag[1], tag[0].casefold())))}


def _usual(spellings: Counter[str]) -> str:
    return min(spellings, key=lambda spelling: (-spellings[spelling], spelling))
