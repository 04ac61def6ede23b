"""Entries that have expired and that no decay run marked as stale yet.

Search leaves them out already; the run makes it visible to everybody. Never asked with --base: the clock must not turn
a branch red.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.foundation.clock import format_time
from decapod_py.gates.context import Context, Skipped
from decapod_py.gates.finding import Finding


def check(context: Context) -> Iterator[Finding]:
    if context.change is not None:
        raise Skipped("the clock must not turn a branch red")
    for entry in context.state.entries("status = 'active' AND expires <= ?", (context.now,)):
        assert entry.expires is not None
        yield context.finding(
            "decay-overdue",
            f"entry {entry.id} expired on {format_time(entry.expires)[:10]}",
            "decapod knowledge decay, or give it a new expiry with decapod knowledge edit",
            entry=entry.id,
            file=f".decapod/knowledge/{entry.path}",
        )
