"""What is around one entry: found through the notes of `link_index`, without a look at the other entries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.links import (
    Names,
    Resolved,
    keys_mentioned,
    keys_that_mention,
    keys_to_look_under,
    parse_links,
)
from decapod_py.views.graph import KINDS, ROW, Edge, Node, Row, edges_from

if TYPE_CHECKING:
    from sqlite3 import Connection

_PROMOTED_FROM = (
    "SELECT p.source_entry_id FROM promotion_uses u JOIN promotions p ON p.id = u.promotion WHERE u.entry_id = ?"
)
_PROMOTED_TO = (
    "SELECT u.entry_id FROM promotions p JOIN promotion_uses u ON u.promotion = p.id WHERE p.source_entry_id = ?"
)


class Reached(NamedTuple):
    """A node at the end of a walk, and by which kinds of edges it is reached."""

    node: Node
    kinds: tuple[str, ...]


class Surroundings:
    """Walks from entry to entry. It lives as long as one question."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: dict[str, Row | None] = {}
        self._resolved: dict[str, Resolved] = {}

    def reachable(self, start: str, depth: int, kinds: Collection[str], *, backwards: bool = False) -> list[Reached]:
        """The nodes within so many steps, the nearest first, each once and without the start."""
        found: dict[str, dict[str, None]] = {}
        here, seen = [start], {start}
        for _ in range(depth):
            there: dict[str, dict[str, None]] = {}
            for edge in (edge for node_id in here for edge in self._edges(node_id, backwards)):
                end = edge.source if backwards else edge.target
                if end not in seen and edge.kind in kinds:
                    there.setdefault(end, {})[edge.kind] = None
            seen |= there.keys()
            here = sorted(there)
            found |= {node_id: there[node_id] for node_id in here}
        return [
            Reached(self._node(node_id), tuple(kind for kind in KINDS if kind in by)) for node_id, by in found.items()
        ]

    def _node(self, node_id: str) -> Node:
        row = self._row(node_id)
        return row.node if row else Node(node_id, node_id, None)

    def _edges(self, node_id: str, backwards: bool) -> Iterator[Edge]:
        row = self._row(node_id)
        if row is not None:
            yield from self._edges_to(row) if backwards else self._edges_of(row)

    def _edges_of(self, row: Row) -> Iterator[Edge]:
        yield from edges_from(row, self._resolve, self._is_here)
        for (source,) in self._connection.execute(_PROMOTED_FROM, (row.id,)).fetchall():
            if self._is_here(source):
                yield Edge(row.id, source, "promotion")

    def _edges_to(self, row: Row) -> Iterator[Edge]:
        keys = keys_that_mention(row.named)
        for other in self._noted("link_mentions", keys):
            if any(self._resolve(target) == row.id for target in _targets(other) if keys_mentioned([target]) & keys):
                yield Edge(other.id, row.id, "link")
            # What it supersedes is written out: to take the text away leaves its links out.
            superseding = edges_from(other._replace(content=""), self._resolve, self._is_here)
            yield from (edge for edge in superseding if edge.target == row.id)
        for (rule,) in self._connection.execute(_PROMOTED_TO, (row.id,)).fetchall():
            if self._is_here(rule):
                yield Edge(rule, row.id, "promotion")

    def _is_here(self, entry_id: str) -> bool:
        return self._row(entry_id) is not None

    def _row(self, entry_id: str) -> Row | None:
        if entry_id not in self._rows:
            row = self._connection.execute(f"{ROW} WHERE e.id = ? AND e.status != 'deleted'", (entry_id,)).fetchone()
            self._rows[entry_id] = Row(*row) if row else None
        return self._rows[entry_id]

    def _resolve(self, target: str) -> Resolved:
        if target not in self._resolved:
            by_id = self._row(target.strip().upper())  # a ULID is noted nowhere but there
            candidates = [*self._noted("link_names", keys_to_look_under(target)), *([by_id] if by_id else [])]
            self._resolved[target] = Names(row.named for row in candidates).resolve(target)
        return self._resolved[target]

    def _noted(self, table: str, keys: Collection[str]) -> Iterable[Row]:
        """The entries that are noted under any of these keys."""
        found = self._connection.execute(
            f"{ROW} WHERE e.number IN (SELECT number FROM {table} WHERE name IN ({', '.join('?' * len(keys))}))",
            tuple(keys),
        )
        return [Row(*row) for row in found]


def _targets(row: Row) -> set[str]:
    return {link.target for link in parse_links(row.content) if link.target}
