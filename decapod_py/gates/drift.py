"""Entries whose cited code changed: what they say may no longer be true.

A citation is `changed` when the text it cited reads differently now, `gone` when it is nowhere, and `unresolvable` when
that cannot be told here. What only moved or was reformatted is no finding. With --base only entries that cite what the
change touches are looked at, and those that it adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from decapod_py.domain.entry import Entry
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views.change import entries_citing
from decapod_py.views.watch import Checked

_SAID = {
    "changed": "reads differently now",
    "gone": "is gone",
    "unresolvable": "cannot be looked up here",
}


def check(context: Context) -> Iterator[Finding]:
    for one in context.watch.check(_looked_at(context)):
        if one.state in _SAID:
            yield _finding(context, one)


def _looked_at(context: Context) -> Iterable[Entry]:
    if context.change is None:
        return context.entries()
    return context.active(sorted({*context.change.entry_ids, *entries_citing(context.state, context.change.paths)}))


def _paths(one: Checked) -> list[str]:
    cited = one.provenance.removeprefix("file:").partition("#")[0]
    return [cited, *([one.now.path] if one.now else [])]


def _finding(context: Context, one: Checked) -> Finding:
    why = f": {one.why}" if one.why else ""
    return context.finding(
        one.state,
        f"{one.provenance}, which entry {one.entry_id} cites, {_SAID[one.state]}{why}",
        f"does it still hold? decapod knowledge reaffirm {one.entry_id} --reason WHY; else edit or deprecate it",
        entry=one.entry_id,
        file=_paths(one)[-1] if one.provenance.startswith("file:") else None,
        line=one.now.first if one.now else None,
    )
