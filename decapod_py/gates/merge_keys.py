"""Merge keys that more than one active entry holds: two branches answered one question, each in its own way.

`decapod knowledge settle KEY --keep ID` keeps one; the next add under the key settles it too.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding


def check(context: Context) -> Iterator[Finding]:
    for key, scope, ids in context.state.clashes():
        if context.change is None or not set(ids).isdisjoint(context.change.entry_ids):
            yield context.finding(
                "key-clash",
                f"the merge key {key!r} in scope {scope!r} is held by {', '.join(ids)}",
                f"decapod knowledge settle {key} --keep {ids[0]}",
                entry=ids[0],
            )
