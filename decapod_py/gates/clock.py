"""Events dated in the future: some clock ran fast, or somebody made a date up.

What is dated in the future would win over what is written in the meantime, and `--as-of` would not show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from decapod_py.domain.fold import recorded
from decapod_py.foundation.clock import DAY
from decapod_py.foundation.ids import ulid
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views.state import Placed

_TOLERANCE = 10 * 60_000  # clocks differ


def check(context: Context) -> Iterator[Finding]:
    latest = context.now + _TOLERANCE
    # Ids may run ahead a little by design, for they sort after everything they were decided from.
    last_id = ulid(context.now + DAY, b"\xff" * 10)
    for event, segment, offset in _late(context, latest, last_id):
        said = f"is dated {event['ts']}" if recorded(event) > latest else "has an id that says a later time"
        yield context.finding_at(
            segment,
            offset,
            "future",
            f"event {event['event_id']} {said}, which is in the future",
            "set the clock of the machine that wrote it; the finding goes when that time has come",
        )


def _late(context: Context, latest: int, last_id: str) -> Iterable[Placed]:
    if context.change is None:
        return context.state.placed_events("recorded > ? OR event_id > ?", (latest, last_id))
    return [one for one in context.change.brought if recorded(one.event) > latest or one.event["event_id"] > last_id]
