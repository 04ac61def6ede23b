"""Events that others build on and that are not here.

A partial cherry-pick, a revert or a branch switch with uncommitted events makes a gap, and the merge heals it; somebody
who takes an event away makes one too. The gate `append-only` tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding


def check(context: Context) -> Iterator[Finding]:
    rows = context.state.connection.execute(
        "SELECT e.hash, e.event_id, e.segment, e.offset, p.parent FROM event_parents p"
        " JOIN events e ON e.number = p.child"
        " LEFT JOIN events parent ON parent.hash = p.parent AND parent.ledger = e.ledger"
        " WHERE parent.hash IS NULL ORDER BY e.segment, e.offset"
    ).fetchall()
    for identity, event_id, segment, offset, parent in rows:
        if context.change is None or identity.hex() in context.change.hashes:
            yield context.finding_at(
                segment,
                offset,
                "gap",
                f"event {event_id} builds on {parent.hex()[:12]}…, which is not here",
                "merge the branch that has it, or bring the ledger back from git",
            )
