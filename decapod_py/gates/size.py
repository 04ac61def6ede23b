"""Entries that are too long to be read: split them, or cite the file that says it.

The bound is [limits] entry_characters in config.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding


def check(context: Context) -> Iterator[Finding]:
    most = context.policy.entry_characters
    for entry_id, path, length in context.state.connection.execute(
        "SELECT id, path, length(content) FROM entries WHERE status = 'active' AND length(content) > ? ORDER BY id",
        (most,),
    ):
        if context.change is None or entry_id in context.change.entry_ids:
            yield context.finding(
                "too-long",
                f"entry {entry_id} has {length} characters; more than {most} are hard to read",
                "split it, or cite the file that says it",
                entry=entry_id,
                file=f".decapod/knowledge/{path}",
            )
