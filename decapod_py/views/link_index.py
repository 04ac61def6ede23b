"""What entries are called and what they mention, noted as they are folded: to follow a link takes no look at the rest.

The notes only narrow down who may be meant; which entry a link means is for `domain.links` to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.links import Named, keys_mentioned, keys_of, parse_links

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.domain.entry import Entry


class Noted(NamedTuple):
    """What the tables say of an entry."""

    names: set[str]
    mentions: set[str]


def noted(entry: Entry) -> Noted:
    """Of a deleted entry nothing: no link leads there, and none leads on."""
    if entry.status == "deleted":
        return Noted(set(), set())
    named = Named(entry.id, entry.path if entry.filed else None, entry.aliases)
    targets = [link.target for link in parse_links(entry.content) if link.target]
    return Noted(keys_of(named), keys_mentioned([*targets, *entry.supersedes]))


def note(connection: Connection, entries: Iterable[tuple[int, Noted]]) -> None:
    """Takes entries in that are not noted yet."""
    names, mentions = [], []
    for number, of_entry in entries:
        names += [(name, number) for name in of_entry.names]
        mentions += [(name, number) for name in of_entry.mentions]
    # In the order of the tables: neighbours go to one page.
    connection.executemany("INSERT INTO link_names VALUES (?, ?)", sorted(names))
    connection.executemany("INSERT INTO link_mentions VALUES (?, ?)", sorted(mentions))


def entries_mentioning(connection: Connection, keys: Iterable[str]) -> set[str]:
    """The ids of the entries that are noted to mention any of these."""
    query = "SELECT e.id FROM link_mentions m JOIN entries e ON e.number = m.number WHERE m.name = ?"
    return {row[0] for key in keys for row in connection.execute(query, (key,))}


def forget(connection: Connection, number: int) -> None:
    connection.execute("DELETE FROM link_names WHERE number = ?", (number,))
    connection.execute("DELETE FROM link_mentions WHERE number = ?", (number,))
