"""Ledgers only grow: every event that the merge base has is still here.

Hashes alone cannot show that the newest events of a ledger were cut off, or that everything was rewritten. git can:
what the base has committed must still be there. This gate needs --base; without it it is skipped, which is not a pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.gates.context import Context, Skipped
from decapod_py.gates.finding import Finding


def check(context: Context) -> Iterator[Finding]:
    if context.change is None:
        raise Skipped("it needs --base REF: git is what a cut tip is seen against")
    back = f"bring it back: git checkout {context.change.base[:12]} -- "
    for lost in context.change.lost:
        message = f"event {lost.event['event_id']} ({lost.event['type']}) was in the base and is not here"
        yield context.finding("event-removed", message, back + lost.file, file=lost.file, line=lost.line)
    for path in context.change.altered:
        message = "the segment holds other lines than in the base; a segment never changes once it is committed"
        yield context.finding("segment-changed", message, back + path, file=path)
