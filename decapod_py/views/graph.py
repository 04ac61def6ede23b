"""How entries hang together: links, what supersedes what, what they cite, and which entry a rule was promoted from.

All of it is worked out from the entries when it is asked for, and only texts that hold `[[` are looked into; what is
around one entry is in `surroundings`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.links import Ambiguous, Link, Named, Names, Resolved, names_an_attachment, parse_links
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


class Unresolved(NamedTuple):
    """A link that leads to no entry, or to more than one."""

    entry_id: str
    link: Link
    candidates: tuple[str, ...]


class Row(NamedTuple):
    """What is looked at of an entry; its text only if there may be links in it."""

    id: str
    title: str
    status: str
    path: str
    aliases: str
    supersedes: str
    provenances: str
    filed: bool
    content: str

    @property
    def node(self) -> Node:
        return Node(self.id, self.title, self.status)

    @property
    def named(self) -> Named:
        return Named(
            self.id, self.path if self.filed else None, tuple(_texts(self.aliases)), in_use=self.status == "active"
        )


ROW = """
    SELECT e.id, e.title, e.status, e.path, e.aliases, e.supersedes, e.provenances, e.filed,
           CASE WHEN instr(e.content, '[[') THEN e.content ELSE '' END
    FROM entries e
"""
_PROMOTIONS = """
    SELECT promotion_uses.entry_id, promotions.source_entry_id
    FROM promotion_uses JOIN promotions ON promotions.id = promotion_uses.promotion ORDER BY 1, 2
"""


class Graph:
    """The entries that are not deleted, and the edges between them."""

    def __init__(self, connection: Connection) -> None:
        found = connection.execute(f"{ROW} WHERE e.status != 'deleted' ORDER BY e.id")
        self._rows = {row[0]: Row(*row) for row in found}
        self._promotions: list[tuple[str, str]] = connection.execute(_PROMOTIONS).fetchall()

    def node(self, node_id: str) -> Node:
        row = self._rows.get(node_id)
        return row.node if row else Node(node_id, node_id, None)

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

    @cached_property
    def _edges(self) -> list[Edge]:
        promoted = (
            Edge(rule, source, "promotion")
            for rule, source in self._promotions
            if rule in self._rows and source in self._rows
        )
        found = (
            edge
            for row in self._rows.values()
            for edge in edges_from(row, self._names.resolve, self._rows.__contains__)
        )
        return [edge for edge in (*dict.fromkeys(found), *promoted) if edge.source != edge.target]

    @cached_property
    def _names(self) -> Names:
        return Names(row.named for row in self._rows.values())


def edges_from(row: Row, resolve: Callable[[str], Resolved], is_here: Callable[[str], bool]) -> Iterator[Edge]:
    """What an entry leads to, but for promotions."""
    for link in parse_links(row.content):
        found = resolve(link.target) if link.target else None
        if isinstance(found, str):
            yield Edge(row.id, found, "link")
    for replaced in _texts(row.supersedes):
        if is_here(replaced):
            yield Edge(row.id, replaced, "supersedes")
    for provenance in _texts(row.provenances):
        if provenance.startswith(_SOURCES):
            # Entries that cite two places of one file meet at the file.
            yield Edge(row.id, provenance.partition("#")[0], "provenance")


def _texts(column: str) -> list[str]:
    return [] if column == "[]" else [text for text in json.loads(column) if isinstance(text, str)]


def line_in_file(entry: Entry, line: int) -> int:
    """A line of an entry's text as its Markdown file counts: after the front matter and a blank line."""
    return render_entry(entry._replace(content="")).count(b"\n") + 1 + line
