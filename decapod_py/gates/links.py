"""Links that lead nowhere: `[[target]]` in an entry where no entry is called that, or more than one is.

A target is looked for as a path below the knowledge folder, as a file name, as an id and as an alias, in this order.
Links in code do not count. `decapod links broken` lists the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.domain.links import advice
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views.graph import Graph, line_in_file


def check(context: Context) -> Iterator[Finding]:
    brought = context.change.entry_ids if context.change else None
    for one in Graph(context.state.connection).unresolved(brought):
        entry = context.state.entry(one.entry_id)
        assert entry
        problem = f"may mean any of {', '.join(one.candidates)}" if one.candidates else "leads to no entry"
        yield context.finding(
            "ambiguous-link" if one.candidates else "broken-link",
            f"{one.link.written} in entry {entry.id} {problem}",
            advice(one.candidates),
            entry=entry.id,
            file=f".decapod/knowledge/{entry.path}",
            line=line_in_file(entry, one.link.line),
        )
