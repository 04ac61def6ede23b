"""`decapod tags`: the tags in use."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from decapod_py.operations.catalogue import operation

if TYPE_CHECKING:
    from decapod_py.operations.requests import Nothing
    from decapod_py.operations.shapes import TagsCounted
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace

_TAGS = """
    SELECT tag.value, count(*) FROM entries JOIN json_each(entries.tags) AS tag
    WHERE status = 'active' AND tags != '[]' GROUP BY tag.value
"""


@operation()
def tags(workspace: Workspace, request: Nothing) -> TagsCounted:
    """Count the tags of the entries in use, the most used first.

    A tag is one whatever its case; it is shown as most entries write it.
    """
    counted = workspace.worked_out(workspace.state(), count_tags)
    return {"tags": dict(sorted(counted.items(), key=lambda tag: (-tag[1], tag[0].casefold())))}


def count_tags(state: State) -> dict[str, int]:
    """How many entries in use have each tag."""
    written: dict[str, Counter[str]] = {}
    for tag, entries in state.connection.execute(_TAGS):
        written.setdefault(tag.casefold(), Counter())[tag] += entries
    return {_usual(spellings): spellings.total() for spellings in written.values()}


def _usual(spellings: Counter[str]) -> str:
    return min(spellings, key=lambda spelling: (-spellings[spelling], spelling))
