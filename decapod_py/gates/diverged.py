"""Entries with more than one head version: they were changed on two branches, and nobody chose yet.

The greatest shows, all are kept. `decapod knowledge settle` keeps one.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding


def check(context: Context) -> Iterator[Finding]:
    for entry_id in context.state.diverged():
        if context.change is not None and entry_id not in context.change.entry_ids:
            continue
        entry = context.state.entry(entry_id)
        assert entry
        yield context.finding(
            "diverged",
            f"entry {entry_id} has {len(entry.heads)} head versions",
            f"decapod knowledge history {entry_id}, then decapod knowledge settle {entry_id} --keep VERSION",
            entry=entry_id,
            file=f".decapod/knowledge/{entry.path}",
        )
