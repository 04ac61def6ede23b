"""No line has a text that was redacted.

A redaction is an event, and readers obey it at once. But a branch from before it, a cherry-pick or a backup can bring
the old line back, text and all, and then the leak is in the repository again. Run decapod ledger redact EVENT --reason
WHY once more: it takes the text out of every copy and writes no second event. What git's history has stays there until
the history is rewritten, so make a leaked secret void first. With --base every line is looked at too, for it is a merge
that brings old lines back.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views.change import LEDGERS


def check(context: Context) -> Iterator[Finding]:
    for segment, offset, event_id in context.state.undone_redactions():
        yield context.finding(
            "redaction-undone",
            f"event {event_id} was redacted, and this line has its text",
            f"decapod ledger redact {event_id} --reason 'it came back'",
            file=f"{LEDGERS}/{segment}",
            line=context.line_of(segment, offset),
        )
