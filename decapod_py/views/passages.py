"""How many passages the entries in use have, whether or not anything that reads for meaning is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.domain.chunks import chunks

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.views.state import State

_IN_USE = "SELECT number, digest FROM entries WHERE status = 'active'"

# By the digest of an entry, which tells all of it: what one question counted, the next one of this process need not.
_counted: dict[bytes, int] = {}


def count_passages(state: State) -> int:
    """All passages of all entries in use; only those of entries that changed are counted again."""
    connection = state.connection
    in_use = connection.execute(_IN_USE).fetchall()
    found = {digest: _counted.get(digest) or _count(connection, number) for number, digest in in_use}
    _counted.clear()
    _counted.update(found)
    return sum(found[digest] for _, digest in in_use)


def _count(connection: Connection, number: int) -> int:
    content: str = connection.execute("SELECT content FROM entries WHERE number = ?", (number,)).fetchone()[0]
    return len(chunks(content)) or 1  # one without any text still has its title
