"""`decapod sync`: takes in what people did to the Markdown: edits, new files, moved ones, removed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain.authored import Authored, version_fields, version_text
from decapod_py.domain.fold import EVENTS
from decapod_py.foundation.errors import DecapodError, Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.citing import anchored, anchored_again
from decapod_py.operations.knowledge.discretion import allowed_before, without_secrets
from decapod_py.operations.knowledge.entries import refuse_held_key
from decapod_py.operations.sync_plan import Addition, Edit, Plan, plan_of, refuse_overwriting
from decapod_py.views import pages
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.operations.requests import Sync
    from decapod_py.operations.shapes import RestoredFile, Synced
    from decapod_py.workspace import Workspace
    from decapod_py.writer import Writer


@operation(writes=True, idempotent=True)
def sync(workspace: Workspace, request: Sync) -> Synced:
    """Take in what was done to the Markdown by hand: edits, new files, moved and removed ones.

    Who and when an entry is stays as it was; a file that cannot be taken in is reported and left alone. A file that was
    taken away and came back revives its entry.
    """
    if request.dry_run:
        plan = plan_of(workspace, workspace.state(), request.allow_deletions, request.actor)
        return _result(plan, dry_run=True)
    with workspace.writing() as writer:
        plan = plan_of(workspace, writer.state, request.allow_deletions, request.actor)
        added = _apply(workspace, writer, plan, request.actor)
    return _result(plan, dry_run=False, added=added)


class _Deed(NamedTuple):
    """One event to be written, and the file that is taken in by it."""

    draft: Draft
    author: str | None
    path: str | None
    entry_id: str


def _apply(workspace: Workspace, writer: Writer, plan: Plan, actor: str | None) -> list[dict[str, Any]]:
    """Decides everything first, then writes it at once: a thousand files are one `fsync` for each who touched them."""
    pages.note(writer.state.connection, plan.stale, [])
    keys: set[tuple[str, str]] = set()  # merge keys that are taken in this very moment
    edits = _edits(workspace, writer, plan, keys)
    additions = _additions(workspace, writer, plan, keys)
    removals = [_removal(writer, plan, entry) for entry in plan.removals]
    deeds: dict[str | None, list[_Deed]] = {}
    for deed in (*edits, *additions, *removals):
        deeds.setdefault(actor or deed.author, []).append(deed)
    for author, of_author in deeds.items():
        writer.append_many(workspace.actor(author), [deed.draft for deed in of_author])
    for deed in (*edits, *additions):
        assert deed.path
        pages.take(writer.state.connection, deed.path, deed.entry_id, plan.stamps[deed.path])
    filled = {addition.path: addition.filled for addition in plan.additions}
    return [{"id": deed.entry_id, "path": deed.path, "filled": filled[deed.path or ""]} for deed in additions]


def _edits(workspace: Workspace, writer: Writer, plan: Plan, keys: set[tuple[str, str]]) -> list[_Deed]:
    decided: dict[str, _Deed] = {}
    for edit in list(plan.edits):
        try:
            draft = _edited(workspace, writer, edit, keys)
            decided[edit.path] = _Deed(draft, plan.history.author(edit.path), edit.path, edit.entry.id)
        except DecapodError as problem:
            plan.edits.remove(edit)
            plan.report(edit.path, problem)
    refuse_overwriting(plan, pages.owners(writer.state))
    return [decided[edit.path] for edit in plan.edits]


def _edited(workspace: Workspace, writer: Writer, edit: Edit, keys: set[tuple[str, str]]) -> Draft:
    entry, after = edit.entry, edit.edit.authored
    if after.merge_key != entry.merge_key or (edit.revives and edit.edit.status == "active"):
        _hold_key(writer, after, entry.id, keys)
    if edit.edit.provenance_changed:
        after = anchored(workspace, after)
    elif after.content != entry.content:
        after = anchored_again(workspace, writer.state, entry, after)
    after = without_secrets(workspace, after, allowed_before(writer.state, entry))
    fields = version_fields(entry.id, edit.path, after, writer.was(entry))
    if edit.edit.status:
        fields["status"] = edit.edit.status
    if edit.revives:
        return Draft(EVENTS, "entry.revived", fields, version_text(after, "its file came back"))
    return Draft(EVENTS, "entry.edited", fields, version_text(after))


def _additions(workspace: Workspace, writer: Writer, plan: Plan, keys: set[tuple[str, str]]) -> list[_Deed]:
    deeds = []
    for addition in list(plan.additions):
        try:
            entry_id, draft = _added(workspace, writer, addition, keys)
            deeds.append(_Deed(draft, plan.history.author(addition.path), addition.path, entry_id))
        except DecapodError as problem:
            plan.additions.remove(addition)
            plan.report(addition.path, problem)
    return deeds


def _added(workspace: Workspace, writer: Writer, addition: Addition, keys: set[tuple[str, str]]) -> tuple[str, Draft]:
    authored, arrival = addition.authored, addition.arrival
    if arrival.status == "active":
        _hold_key(writer, authored, "", keys)
    authored = without_secrets(workspace, anchored(workspace, authored), None, [addition.entry_id, addition.path])
    entry_id = addition.entry_id or writer.new_entry_id()
    replaced = [entry for named in arrival.supersedes if (entry := writer.state.entry(named))]
    fields = version_fields(entry_id, addition.path, authored, writer.was(*replaced))
    fields["status"] = arrival.status
    if arrival.created_at:
        fields["created_at"] = arrival.created_at
    if arrival.supersedes:
        fields["supersedes"] = list(arrival.supersedes)
    return entry_id, Draft(EVENTS, "entry.added", fields, version_text(authored))


def _hold_key(writer: Writer, authored: Authored, entry_id: str, keys: set[tuple[str, str]]) -> None:
    """Refuses a merge key that an entry has, or that another file of this sync asks for."""
    refuse_held_key(writer.state, authored.merge_key, authored.scope, entry_id)
    if authored.merge_key is not None:
        held = (authored.merge_key, authored.scope)
        if held in keys:
            raise Refused("key-held", f"another file asks for the merge key {authored.merge_key!r}, too")
        keys.add(held)


def _removal(writer: Writer, plan: Plan, entry: Entry) -> _Deed:
    status = "deprecated" if entry.status == "active" else entry.status
    fields = {"entry_id": entry.id, "status": status, "unfiled": True, "was": writer.was(entry)}
    draft = Draft(EVENTS, "entry.deprecated", fields, {"reason": "its file was removed"})
    return _Deed(draft, plan.history.remover(entry.path), None, entry.id)


def _result(plan: Plan, *, dry_run: bool, added: list[dict[str, Any]] | None = None) -> Synced:
    if added is None:
        added = [{"id": one.entry_id or "", "path": one.path, "filled": one.filled} for one in plan.additions]
    return {
        "ok": not plan.problems,
        "dry_run": dry_run,
        "edited": [edit.entry.id for edit in plan.edits if not edit.moves and not edit.revives],
        "moved": [
            {"id": edit.entry.id, "path": edit.path, "was": edit.entry.path} for edit in plan.edits if edit.moves
        ],
        "added": added,  # type: ignore[typeddict-item]
        "deprecated": [entry.id for entry in plan.removals],
        "revived": [edit.entry.id for edit in plan.edits if edit.revives],
        "restored": _restored(plan, {one["path"]: one["id"] for one in added}),
        "problems": plan.problems,
    }


def _restored(plan: Plan, ids: dict[str, str]) -> list[RestoredFile]:
    """Fields that were not taken in: of changed files, and of new ones, where they are kept as `original_...`."""
    of_edits = [(edit.entry.id, edit.path, edit.edit.restored) for edit in plan.edits]
    of_additions = [(ids[one.path], one.path, one.arrival.left_out) for one in plan.additions]
    return [
        {"id": entry_id, "path": path, "fields": fields}
        for entry_id, path, fields in (*of_edits, *of_additions)
        if fields
    ]
