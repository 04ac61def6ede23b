"""How entries hang together: links, what supersedes what, what they cite, and which entry a rule was promoted from.

Worked out from the entries when it is asked for. Only texts that hold `[[` are looked into.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.links import Ambiguous, Link, Named, Names, names_an_attachment, parse_links
from decapod_py.views.markdown import render_entry

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.domain.entry import Entry

KINDS = ("link", "supersedes", "promotion", "provenance")
_SOURCES = ("file:", "commit:", "event:")  # provenance that several entries can share


class Node(NamedTuple):
    """An entry, or what entries cite: then its id is the provenance, and it has no status."""

    id: str
    title: str
    status: str | None


class Edge(NamedTuple):
    source: str
    target: str
    kind: str


class Reached(NamedTuple):
    """A node at the end of a walk, and by which kinds of edges it is reached."""

    node: Node
    kinds: tuple[str, ...]


class Unresolved(NamedTuple):
    """A link that leads to no entry, or to more than one."""

    entry_id: str
    link: Link
    candidates: tuple[str, ...]


class _Row(NamedTuple):
    id: str
    title: str
    status: str
    path: str
    aliases: str
    supersedes: str
    provenances: str
    filed: bool
    content: str


_ROWS = """
    SELECT id, title, status, path, aliases, supersedes, provenances, filed,
           CASE WHEN instr(content, '[[') THEN content ELSE '' END
    FROM entries WHERE status != 'deleted' ORDER BY id
"""
_PROMOTIONS = """
    SELECT promotion_uses.entry_id, promotions.source_entry_id
    FROM promotion_uses JOIN promotions ON promotions.id = promotion_uses.promotion ORDER BY 1, 2
"""


class Graph:
    """The entries that are not deleted, and the edges between them."""

    def __init__(self, connection: Connection) -> None:
        self._rows = {row[0]: _Row(*row) for row in connection.execute(_ROWS)}
        self._promotions: list[tuple[str, str]] = connection.execute(_PROMOTIONS).fetchall()

    def node(self, node_id: str) -> Node:
        row = self._rows.get(node_id)
        return Node(row.id, row.title, row.status) if row else Node(node_id, node_id, None)

    def unresolved(self, entry_ids: Iterable[str] | None = None) -> Iterator[Unresolved]:
        """The links of entries in use that nobody can follow, in the order of ids and lines."""
        for entry_id in self._rows if entry_ids is None else sorted(set(entry_ids) & self._rows.keys()):
            row = self._rows[entry_id]
            for link in parse_links(row.content) if row.status == "active" else ():
                found = self._names.resolve(link.target) if link.target else entry_id
                if isinstance(found, Ambiguous):
                    yield Unresolved(entry_id, link, found.ids)
                elif found is None and not names_an_attachment(link):
                    yield Unresolved(entry_id, link, ())

    def edges(self, kinds: Collection[str] = KINDS) -> list[Edge]:
        """Every edge of these kinds once; none leads back to where it begins."""
        return [edge for edge in self._edges if edge.kind in kinds]

    def reachable(self, start: str, depth: int, kinds: Collection[str], *, backwards: bool = False) -> list[Reached]:
        """The nodes within so many steps, the nearest first, each once and without the start."""
        beyond: dict[str, list[Edge]] = {}
        for edge in self.edges(kinds):
            beyond.setdefault(edge.target if backwards else edge.source, []).append(edge)
        found: dict[str, dict[str, None]] = {}
        here, seen = [start], {start}
        for _ in range(depth):
            there: dict[str, dict[str, None]] = {}
            for edge in (edge for node_id in here for edge in beyond.get(node_id, ())):
                end = edge.source if backwards else edge.target
                if end not in seen:
                    there.setdefault(end, {})[edge.kind] = None
            seen |= there.keys()
            here = sorted(there)
            found |= {node_id: there[node_id] for node_id in here}
        return [
            Reached(self.node(node_id), tuple(kind for kind in KINDS if kind in by)) for node_id, by in found.items()
        ]

    @cached_property
    def _edges(self) -> list[Edge]:
        promoted = (
            Edge(rule, source, "promotion")
            for rule, source in self._promotions
            if rule in self._rows and source in self._rows
        )
        found = dict.fromkeys(edge for row in self._rows.values() for edge in self._edges_from(row))
        return [edge for edge in (*found, *promoted) if edge.source != edge.target]

    def _edges_from(self, row: _Row) -> Iterator[Edge]:
        for link in parse_links(row.content):
            found = self._names.resolve(link.target) if link.target else None
            if isinstance(found, str):
                yield Edge(row.id, found, "link")
        for replaced in _texts(row.supersedes):
            if replaced in self._rows:
                yield Edge(row.id, replaced, "supersedes")
        for provenance in _texts(row.provenances):
            if provenance.startswith(_SOURCES):
                # Entries that cite two places of one file meet at the file.
                yield Edge(row.id, provenance.partition("#")[0], "provenance")

    @cached_property
    def _names(self) -> Names:
        return Names(
            Named(row.id, row.path if row.filed else None, tuple(_texts(row.aliases)), row.status == "active")
            for row in self._rows.values()
        )


def _texts(column: str) -> list[str]:
    return [] if column == "[]" else [text for text in json.loads(column) if isinstance(text, str)]


def line_in_file(entry: Entry, line: int) -> int:
    """A line of an entry's text as its Markdown file counts: after the front matter and a blank line."""
    return render_entry(entry._replace(content="")).count(b"\n") + 1 + line
