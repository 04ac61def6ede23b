"""`decapod links`: how entries hang together, and which links lead nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.domain.links import advice
from decapod_py.foundation.errors import Misused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.entries import find_living_entry
from decapod_py.views.graph import KINDS, Graph, line_in_file
from decapod_py.views.surroundings import Surroundings

if TYPE_CHECKING:
    from decapod_py.operations.requests import BrokenLinks, LinkGraph, ShowLinks
    from decapod_py.operations.shapes import (
        EdgeShape,
        LinkedShape,
        LinkGraphShape,
        LinksChecked,
        LinksShown,
        NodeShape,
        UnresolvedShape,
    )
    from decapod_py.views.graph import Edge, Node, Unresolved
    from decapod_py.views.state import State
    from decapod_py.views.surroundings import Reached
    from decapod_py.workspace import Workspace


@operation()
def show(workspace: Workspace, request: ShowLinks) -> LinksShown:
    """Show what an entry leads to and what leads to it, the nearest first.

    Links, what it supersedes, what it was promoted from, and the files, commits and events that it cites.
    """
    kinds = _known_kinds(request.kinds)
    state = workspace.state()
    entry = find_living_entry(state, request.id)
    around = Surroundings(state.connection)
    ways = {"outgoing": False, "incoming": True}
    found = {
        way: around.reachable(entry.id, request.depth, kinds, backwards=backwards)
        if request.direction in (way, "both")
        else []
        for way, backwards in ways.items()
    }
    return {
        "id": entry.id,
        "title": entry.title,
        "outgoing": [_linked(one) for one in found["outgoing"][: request.limit]],
        "incoming": [_linked(one) for one in found["incoming"][: request.limit]],
        "omitted": sum(max(0, len(reached) - request.limit) for reached in found.values()),
    }


@operation()
def broken(workspace: Workspace, request: BrokenLinks) -> LinksChecked:
    """List the links of entries in use that lead to no entry, or to more than one. Exit 1 when there are any."""
    state = workspace.state()
    found = workspace.worked_out(state, _all_unresolved)
    return {
        "ok": not found,
        "count": len(found),
        "links": [_unresolved(state, one) for one in found[: request.limit]],
        "omitted": max(0, len(found) - request.limit),
    }


@operation()
def graph(workspace: Workspace, request: LinkGraph) -> LinkGraphShape:
    """Draw how entries hang together: as Mermaid, as DOT for Graphviz, or as JSON."""
    known = workspace.worked_out(workspace.state(), _whole_graph)
    edges = known.edges(_known_kinds(request.kinds))
    shown = edges[: request.limit]
    nodes = [known.node(node_id) for node_id in dict.fromkeys(end for edge in shown for end in edge[:2])]
    result: LinkGraphShape = {"format": request.format, "omitted": len(edges) - len(shown)}
    if request.format == "json":
        result["nodes"] = [_node(node) for node in nodes]
        result["edges"] = [_edge(edge) for edge in shown]
    else:
        result["text"] = _drawn(request.format, nodes, shown)
    return result


def _whole_graph(state: State) -> Graph:
    return Graph(state.connection)


def _all_unresolved(state: State) -> list[Unresolved]:
    return list(Graph(state.connection).unresolved())


def _known_kinds(wanted: list[str]) -> tuple[str, ...]:
    for kind in wanted:
        if kind not in KINDS:
            raise Misused("unknown-kind", f"no kind of edge is called {kind!r}", f"there are {', '.join(KINDS)}")
    return tuple(wanted) or KINDS


def _drawn(form: str, nodes: list[Node], edges: list[Edge]) -> str:
    from decapod_py.domain import diagrams

    draw = {"mermaid": diagrams.mermaid, "dot": diagrams.dot}[form]
    return draw({node.id: node.title for node in nodes}, edges)


def _linked(reached: Reached) -> LinkedShape:
    return {**_node(reached.node), "kinds": list(reached.kinds)}


def _node(node: Node) -> NodeShape:
    return {"id": node.id, "title": node.title, "status": node.status}


def _edge(edge: Edge) -> EdgeShape:
    return {"from": edge.source, "to": edge.target, "kind": edge.kind}


def _unresolved(state: State, one: Unresolved) -> UnresolvedShape:
    entry = state.entry(one.entry_id)
    assert entry
    return {
        "id": entry.id,
        "file": f".decapod/knowledge/{entry.path}",
        "line": line_in_file(entry, one.link.line),
        "link": one.link.written,
        "problem": "ambiguous" if one.candidates else "broken",
        "candidates": list(one.candidates),
        "fix": advice(one.candidates),
    }
