"""Links that lead nowhere: `[[target]]` in an entry where no entry is called that, or more than one is.

A target is looked for as a path below the knowledge folder, as a file name, as an id and as an alias, in this order.
Links in code do not count. `decapod links broken` lists the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.domain.fold import texts
from decapod_py.domain.links import Named, advice, keys_mentioned, keys_that_mention
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views.graph import Graph, Unresolved, line_in_file
from decapod_py.views.link_index import entries_mentioning


def check(context: Context) -> Iterator[Finding]:
    graph = Graph(context.state.connection)
    for one in graph.unresolved() if context.change is None else _broken_by(context, graph):
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


def _broken_by(context: Context, graph: Graph) -> Iterator[Unresolved]:
    """The links of entries that the change brings, and those to what it took away, renamed or made ambiguous."""
    assert context.change
    brought = set(context.change.entry_ids)
    keys = {key for entry_id in brought for key in _ever_called(context, entry_id)}
    for one in graph.unresolved(brought | entries_mentioning(context.state.connection, keys)):
        if one.entry_id in brought or keys_mentioned([one.link.target]) & keys:
            yield one


def _ever_called(context: Context, entry_id: str) -> set[str]:
    """Under what a text may have mentioned any version of an entry."""
    events = context.state.events_of(f"e:{entry_id}")
    names = [(event.get("path"), tuple(texts(event, "aliases"))) for event in events]
    named = [Named(entry_id, path if isinstance(path, str) else None, aliases) for path, aliases in names]
    return {key for one in named for key in keys_that_mention(one)}
