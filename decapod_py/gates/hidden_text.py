"""Text that a reader does not see and an agent does: invisible characters, HTML comments, instructions in disguise.

Entries are written by agents and strangers. What they say is data; this gate finds what tries to be more.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.domain.hidden import find_hidden
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding


def check(context: Context) -> Iterator[Finding]:
    for entry in context.entries():
        text = "\n".join([entry.title, *entry.tags, *entry.provenances, entry.content])
        for hidden in find_hidden(text):
            yield context.finding(
                f"hidden-{hidden.kind}",
                f"entry {entry.id} holds {hidden.shown}",
                f"look at it, then decapod knowledge edit {entry.id}",
                entry=entry.id,
                file=f".decapod/knowledge/{entry.path}",
            )
