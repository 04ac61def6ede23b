"""`decapod review`: what a branch does to knowledge, for whoever reviews it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.domain.fold import fold_entry
from decapod_py.gates.drift import settling
from decapod_py.operations.catalogue import operation
from decapod_py.views.change import Change, change_since, entries_citing, merge_base
from decapod_py.workspace import CONFIG, FOLDER

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.operations.requests import Review
    from decapod_py.operations.shapes import Reviewed, ReviewedItem
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace

_MOST_ROWS, _MOST_DIFFS = 200, 20  # of a page that people read

# What became of an entry, in the order a reviewer wants to read it, and the words of the summary.
_KINDS = {
    "untrue": "{} your change made untrue",
    "awaiting": "{} awaits approval",
    "diverged": "{} diverged",
    "rule": "{} promoted",
    "added": "{} added",
    "edited": "{} edited",
    "superseded": "{} superseded",
    "deprecated": "{} deprecated",
    "deleted": "{} deleted",
    "stale": "{} gone stale",
    "revived": "{} revived",
    "reaffirmed": "{} reaffirmed",
    "policy": "policy changed",
}
_COUNTED = {"untrue": ("entry", "entries"), "awaiting": ("rule", "rules"), "rule": ("rule", "rules")}


@operation()
def review(workspace: Workspace, request: Review) -> Reviewed:
    """Show what a branch does to knowledge: added, superseded, awaiting approval, made untrue, with what settles each.

    --format markdown is for a pull request's summary page.
    """
    state = workspace.inspected()
    base = merge_base(workspace.root, workspace.repository, request.base)
    assert workspace.repository
    change = change_since(state, workspace.root, workspace.repository, base)
    items = [
        *_untrue(workspace, state, change),
        *_awaiting(state, change),
        *_changed_entries(state, change),
        *_policy(change),
    ]
    items.sort(key=lambda item: (list(_KINDS).index(item["kind"]), item["id"]))
    result: Reviewed = {"base": base, "summary": _summary(items), "items": items}
    if request.format == "markdown":
        result["report"] = _markdown(result["summary"], items)
    return result


def _markdown(summary: str, items: list[ReviewedItem]) -> str:
    """For a pull request's page: whatever an entry says, it stays in its cell or its fence."""
    from decapod_py.gates.reports import fenced, markdown_text

    rows = [
        f"| {item['kind']} | {markdown_text(item['title'])} | {markdown_text(item['detail'])}"
        f" | {markdown_text(item['next'])} |"
        for item in items[:_MOST_ROWS]
    ]
    parts = [f"### Knowledge: {markdown_text(summary)}"]
    if rows:
        parts.append("\n".join(["| what | entry | why | next |", "| --- | --- | --- | --- |", *rows]))
    if len(items) > _MOST_ROWS:
        parts.append(f"{len(items) - _MOST_ROWS} more are not shown; `decapod review` shows all.")
    for item in [item for item in items if item["diff"]][:_MOST_DIFFS]:
        heading = f"<summary>{markdown_text(item['title'])}</summary>"
        parts.append(f"<details>{heading}\n\n{fenced(item['diff'] or '', 'diff')}\n\n</details>")
    return "\n\n".join(parts)


def _summary(items: list[ReviewedItem]) -> str:
    parts = []
    for kind, words in _KINDS.items():
        count = sum(item["kind"] == kind for item in items)
        if count:
            one, many = _COUNTED.get(kind, ("", ""))
            noun = f" {one if count == 1 else many}" if one else ""
            parts.append(words.format(f"{count}{noun}").replace("rules awaits", "rules await"))
    return ", ".join(parts) if parts else "nothing about knowledge changes"


def _item(kind: str, entry_id: str, title: str, step: str, detail: str = "", diff: str | None = None) -> ReviewedItem:
    return {"kind": kind, "id": entry_id, "title": title, "detail": detail, "diff": diff, "next": step}


def _untrue(workspace: Workspace, state: State, change: Change) -> list[ReviewedItem]:
    """Entries that cite what the branch changed, and that nobody looked at since."""
    from decapod_py.operations.knowledge.drift import WRONG

    found = []
    entries = [entry for named in entries_citing(state, change.paths) if (entry := state.entry(named))]
    by_id = {entry.id: entry for entry in entries}
    watch = workspace.watch(state)
    for one in watch.check(entries):
        if one.state in WRONG:
            entry = by_id[one.entry_id]
            diff = watch.difference(entry, one) if one.state == "changed" else None
            found.append(
                _item("untrue", entry.id, entry.title, settling(one), f"{one.provenance} is {one.state}", diff)
            )
    return found


def _awaiting(state: State, change: Change) -> list[ReviewedItem]:
    found = []
    for promotion in state.promotions():
        if f"p:{promotion.id}" in change.subjects and promotion.state == "proposed":
            source = state.entry(promotion.source_entry_id)
            title = source.title if source else promotion.source_entry_id
            step = f"someone else: decapod knowledge approve {promotion.id}"
            found.append(_item("awaiting", promotion.source_entry_id, title, step, promotion.reason))
    return found


def _changed_entries(state: State, change: Change) -> list[ReviewedItem]:
    found = []
    for entry_id in change.entry_ids:
        entry = state.entry(entry_id)
        if entry is None:
            continue
        events = state.events_of(f"e:{entry_id}")
        before = fold_entry(entry_id, [event for event in events if event["hash"] not in change.hashes])
        if entry.diverged:
            step = f"decapod knowledge settle {entry_id} --keep VERSION"
            found.append(_item("diverged", entry_id, entry.title, step, f"{len(entry.heads)} head versions"))
        found.append(_became(entry, before))
    return found


def _became(entry: Entry, before: Entry | None) -> ReviewedItem:
    kind, diff = _kind(entry, before), None
    if kind == "edited" and before:
        from decapod_py.domain.drift import unified

        then, now = (f"{version.title}\n\n{version.content}" for version in (before, entry))
        diff = unified(then, now, f"{FOLDER}/knowledge/{entry.path}", 1, 1)
    steps = {
        "added": f"decapod knowledge get {entry.id}",
        "deleted": f"decapod knowledge history {entry.id}",
        "superseded": f"decapod knowledge revive {entry.id}, if it still holds",
        "deprecated": f"decapod knowledge revive {entry.id}, if it still holds",
        "stale": f"decapod knowledge revive {entry.id}, if it still holds",
    }
    step = steps.get(kind, f"decapod knowledge history {entry.id}")
    return _item(kind, entry.id, entry.title, step, f"by {entry.author}, from {entry.provenance}", diff)


def _kind(entry: Entry, before: Entry | None) -> str:
    if entry.status != "active":
        return entry.status
    if before is None:
        return "rule" if entry.procedural else "added"
    if before.status != "active":
        return "revived"
    return "edited" if before.version != entry.version else "reaffirmed"


def _policy(change: Change) -> list[ReviewedItem]:
    if CONFIG not in change.paths:
        return []
    step = f"git diff {change.base[:12]} -- {CONFIG}"
    return [_item("policy", CONFIG, CONFIG, step, "gates, approvers or proofs may be other than they were")]
