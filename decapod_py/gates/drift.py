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
from decapod_py.views.change import Change, entries_citing, is_touched
from decapod_py.views.watch import Checked, Watch

_SAID = {
    "changed": "reads differently now",
    "gone": "is gone",
    "unresolvable": "cannot be looked up here",
}


def check(context: Context) -> Iterator[Finding]:
    if context.change is None:
        wrong = _wrong(context.watch, context.entries())
    else:
        wrong = _wrong_by(context.change, context)
    for one in wrong:
        yield _finding(context, one)


def _wrong(watch: Watch, entries: Iterable[Entry]) -> list[Checked]:
    return [one for one in watch.check(entries) if one.state in _SAID]


def _wrong_by(change: Change, context: Context) -> list[Checked]:
    cited = {*change.entry_ids, *entries_citing(context.state, change.paths)}
    wrong = _wrong(context.watch, context.active(sorted(cited)))
    # What was moved before is cited under its old name: it counts where the change touches the new one.
    absent = {
        path
        for path in context.state.cited_paths()
        if not is_touched(path, change.paths) and not context.tree.stamp(path)
    }
    moved = context.active(named for named in entries_citing(context.state, absent) if named not in cited)
    wrong_now = [
        one for one in _wrong(context.watch, moved) if one.now is None or is_touched(one.now.path, change.paths)
    ]
    if not wrong_now:
        return wrong
    past = context.workspace.past_watch(context.state, change.base)
    wrong_then = {(one.entry_id, one.place) for one in _wrong(past, moved)}
    return wrong + [one for one in wrong_now if (one.entry_id, one.place) not in wrong_then]


def settling(one: Checked) -> str:
    """The step that settles a citation that is not as it was."""
    if one.state == "changed":
        return f"does it still hold? decapod knowledge reaffirm {one.entry_id} --reason WHY; else edit or deprecate it"
    cite = f"decapod knowledge edit {one.entry_id} --provenance WHERE_IT_IS_NOW"
    return f"does it still hold? {cite}; else decapod knowledge deprecate {one.entry_id}"


def _paths(one: Checked) -> list[str]:
    cited = one.provenance.removeprefix("file:").partition("#")[0]
    return [cited, *([one.now.path] if one.now else [])]


def _finding(context: Context, one: Checked) -> Finding:
    why = f": {one.why}" if one.why else ""
    return context.finding(
        one.state,
        f"{one.provenance}, which entry {one.entry_id} cites, {_SAID[one.state]}{why}",
        settling(one),
        entry=one.entry_id,
        file=_paths(one)[-1] if one.provenance.startswith("file:") else None,
        line=one.now.first if one.now else None,
    )
