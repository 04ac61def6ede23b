"""The database equals the fold of the ledgers.

Everything that is read comes from the database, so it must say what the ledgers say: a fold from nothing is compared
with it, table by table. With --base only the entries that the change acts on are folded again.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.domain.fold import fold_entry
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views.comparison import differences
from decapod_py.views.projection import folded_from_nothing

_PLACE = ".decapod/local/knowledge.db"


def check(context: Context) -> Iterator[Finding]:
    for message in _of_the_change(context) if context.change else _of_everything(context):
        yield context.finding("database-differs", message, "decapod rebuild", file=_PLACE)


def _of_everything(context: Context) -> Iterator[str]:
    shown = context.state.connection
    fresh = folded_from_nothing(shown, context.workspace.ledgers, context.workspace.progress)
    try:
        yield from differences(shown, fresh)
    finally:
        fresh.close()


def _of_the_change(context: Context) -> Iterator[str]:
    assert context.change
    for entry_id in context.change.entry_ids:
        folded = fold_entry(entry_id, context.state.events_of(f"e:{entry_id}"))
        shown = context.state.entry(entry_id)
        row = context.state.connection.execute("SELECT digest FROM entries WHERE id = ?", (entry_id,)).fetchone()
        # The digest in the row is only what the fold wrote there: who edits the row leaves it as it is.
        digests = (row[0], shown.digest()) if row and shown else None
        if digests != ((folded.digest(),) * 2 if folded else None):
            yield f"entry {entry_id} differs from the fold of its events"
