"""Events dated in the future: some clock ran fast, or somebody made a date up.

What is dated in the future would win over what is written in the meantime, and `--as-of` would not show it.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.domain.fold import recorded
from decapod_py.foundation.clock import DAY
from decapod_py.foundation.ids import milliseconds_of
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views.change import LEDGERS

_TOLERANCE = 10 * 60_000  # clocks differ


def check(context: Context) -> Iterator[Finding]:
    late = _dated_in_the_future(context) | _named_in_the_future(context)
    if context.change is not None:
        late &= context.change.numbers
    for event, segment, offset in context.state.placed_events(numbers=late):
        future = recorded(event) > context.now + _TOLERANCE
        said = f"is dated {event['ts']}" if future else "has an id that says a later time"
        yield context.finding(
            "future",
            f"event {event['event_id']} {said}, which is in the future",
            "set the clock of the machine that wrote it; the finding goes when that time has come",
            file=f"{LEDGERS}/{segment}",
            line=context.line_of(segment, offset),
        )


def _dated_in_the_future(context: Context) -> set[int]:
    rows = context.state.connection.execute("SELECT number FROM events WHERE recorded > ?", (context.now + _TOLERANCE,))
    return {row[0] for row in rows}


def _named_in_the_future(context: Context) -> set[int]:
    """Ids may run ahead a little by design, for they sort after everything they were decided from."""
    rows = context.state.connection.execute("SELECT number, event_id FROM events ORDER BY event_id DESC LIMIT 1000")
    return {number for number, event_id in rows if milliseconds_of(event_id) > context.now + DAY}
