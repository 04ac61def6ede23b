"""Whether a database is what a fold of the ledgers from nothing gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.views.state import COLUMNS

if TYPE_CHECKING:
    from sqlite3 import Connection

# What must be the same in a database made anew. Row numbers may differ, and which of an event's copies is shown.
_COMPARED = {
    "events": "SELECT lower(hex(hash)), event_id, ledger, type, recorded, agent, has_text, is_head FROM events"
    " ORDER BY hash",
    "places of events": "SELECT lower(hex(hash)), segment, offset, length FROM events"
    " WHERE hash NOT IN (SELECT hash FROM event_copies) ORDER BY hash",
    "event_subjects": "SELECT lower(hex(e.hash)), s.subject FROM event_subjects s JOIN events e ON e.number = s.event"
    " ORDER BY e.hash, s.subject",
    "event_parents": "SELECT lower(hex(e.hash)), p.parent FROM event_parents p JOIN events e ON e.number = p.child"
    " ORDER BY e.hash, p.parent",
    "entries": f"SELECT {COLUMNS}, lower(hex(digest)), title_key FROM entries ORDER BY id",
    "cited_files": "SELECT e.id, c.path FROM cited_files c JOIN entries e ON e.number = c.number ORDER BY e.id, c.path",
    "link_names": "SELECT e.id, n.name FROM link_names n JOIN entries e ON e.number = n.number ORDER BY e.id, n.name",
    "link_mentions": "SELECT e.id, m.name FROM link_mentions m JOIN entries e ON e.number = m.number"
    " ORDER BY e.id, m.name",
    "redactions": "SELECT DISTINCT event_id FROM redactions ORDER BY event_id",
    "promotions": "SELECT * FROM promotions ORDER BY id",
    "promotion_uses": "SELECT * FROM promotion_uses ORDER BY promotion, entry_id",
    "feedback": "SELECT * FROM feedback ORDER BY entry_id",
    "tasks": "SELECT * FROM tasks ORDER BY id",
    "findings": "SELECT * FROM findings ORDER BY id",
    "search": "SELECT e.id, w.title, w.tags, w.content FROM entry_words w JOIN entries e ON e.number = w.rowid"
    " ORDER BY e.id",
}


def differences(found: Connection, fresh: Connection) -> list[str]:
    """Where the database is not the fold: table by table, the first row that differs."""
    differing = []
    for table, query in _COMPARED.items():
        mine, theirs = iter(found.execute(query)), iter(fresh.execute(query))
        while (one := next(mine, None)) == (other := next(theirs, None)):
            if one is None:
                break
        else:
            row = (one or other or ("?",))[0]
            differing.append(f"{table} differs from the fold of the ledgers, first at {row}")
    return differing
