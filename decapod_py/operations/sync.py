"""`decapod sync`: takes in what people did to the Markdown: edits, new files, moved ones, removed ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain.authored import Authored, authored_of, version_fields, version_text
from decapod_py.domain.entry import Entry, is_procedural
from decapod_py.domain.fold import EVENTS
from decapod_py.domain.naming import check_entry_id, is_safe_path
from decapod_py.foundation.errors import DecapodError, Refused
from decapod_py.foundation.ids import is_ulid
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.citing import anchored, anchored_again, carried
from decapod_py.operations.knowledge.discretion import allowed_before, without_secrets
from decapod_py.operations.knowledge.entries import refuse_held_key
from decapod_py.storage.front_matter import Damaged
from decapod_py.views import hand_edits, pages
from decapod_py.views.file_history import FileHistory
from decapod_py.views.hand_edits import HandEdit, Limits, Said
from decapod_py.views.markdown import classify
from decapod_py.workspace import FOLDER
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from decapod_py.operations.requests import Sync
    from decapod_py.operations.shapes import FileProblem, Synced
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace
    from decapod_py.writer import Writer

_MANY = 10  # files gone at once that may be a mistake


class Edit(NamedTuple):
    """A file that says something else than its entry, or stands somewhere else."""

    entry: Entry
    path: str
    edit: HandEdit


class Addition(NamedTuple):
    """A file that no entry has."""

    path: str
    entry_id: str | None
    authored: Authored
    filled: list[str]


class Plan(NamedTuple):
    edits: list[Edit]
    additions: list[Addition]
    removals: list[Entry]
    stale: list[tuple[str, str]]  # path and entry: only to be written anew
    stamps: dict[str, str]  # of the files, from before they were read
    problems: list[FileProblem]


@operation(writes=True, idempotent=True)
def sync(workspace: Workspace, request: Sync) -> Synced:
    """Take in what was done to the Markdown by hand: edits, new files, moved and removed ones.

    Who and when an entry is stays as it was; a file that cannot be taken in is reported and left alone.
    """
    if request.dry_run:
        plan = _plan(workspace, workspace.state(), request.allow_deletions)
        return _result(plan, dry_run=True)
    with workspace.writing() as writer:
        plan = _plan(workspace, writer.state, request.allow_deletions)
        added = _apply(workspace, writer, plan, request.actor)
    return _result(plan, dry_run=False, added=added)


def _plan(workspace: Workspace, state: State, allow_deletions: bool) -> Plan:
    """What is to be done; nothing is written yet."""
    folder = workspace.pages(state.connection)
    found = pages.on_disk(workspace.knowledge)
    plan = Plan([], [], [], [], found, [])
    known = dict(state.connection.execute("SELECT path, stamp FROM markdown_files WHERE state = 'same'").fetchall())
    owners = pages.owners(state)
    history = FileHistory(workspace.root, workspace.repository, f"{FOLDER}/knowledge")
    limits = Limits(workspace.policy.schemes, workspace.policy.lifetimes["default"], workspace.clock())
    seen: dict[str, str] = {}  # the file that each entry was found in
    changed = [path for path, stamp in sorted(found.items()) if known.get(path) != stamp]
    for path in changed:
        try:
            _plan_file(plan, state, folder, path, owners, found, seen, history, limits)
        except Damaged as damage:
            plan.problems.append(_problem(path, damage.code, damage.message, damage.line))
        except DecapodError as problem:
            plan.problems.append(_problem(path, problem.code, problem.message))
    _plan_removals(plan, state, folder, owners, found, seen, history, allow_deletions)
    return plan


def _plan_file(
    plan: Plan,
    state: State,
    folder: pages.Pages,
    path: str,
    owners: dict[str, str],
    found: dict[str, str],
    seen: dict[str, str],
    history: FileHistory,
    limits: Limits,
) -> None:
    if os.path.islink(folder.file(path)):
        raise Refused("link", "the file is a link; nothing is read or written through it")
    data = pages.bytes_of(folder, path)
    said = hand_edits.read(data)
    entry = _entry_of(state, path, said, owners, found)
    if entry is None:
        plan.additions.append(_addition(path, said, history, limits))
        return
    if entry.id in seen:
        raise Refused("duplicate-id", f"{seen[entry.id]} and {path} both say that they are {entry.id}")
    seen[entry.id] = path
    standing = classify(data, entry, lambda: pages.recorded_states(state, entry.id))
    if entry.diverged:
        raise Refused("diverged", f"{entry.id} has several head versions: settle it first")
    if standing == "conflicted":
        raise Damaged("conflict-markers", "a merge left conflict markers in the file", 1)
    if standing in ("same", "stale") and path == entry.path:
        if standing == "stale":
            plan.stale.append((path, entry.id))
        return
    if entry.procedural:
        raise Refused("rule-protected", f"{entry.id} is a rule: its text changes through a promotion only")
    before = carried(state, entry, authored_of(entry))
    if standing in ("same", "stale"):
        plan.edits.append(Edit(entry, path, HandEdit(before, None, [], False)))
    else:
        plan.edits.append(Edit(entry, path, hand_edits.edit_of(entry, before, said, limits)))


def _entry_of(state: State, path: str, said: Said, owners: dict[str, str], found: dict[str, str]) -> Entry | None:
    """The entry that a file is about: the one whose file it is, or the one it names if that one's file moved here."""
    named = state.entry(said.id) if said.id else None
    owner = owners.get(path)
    if owner is not None and (named is None or named.id == owner):
        return state.entry(owner)
    if named is None:
        if said.id and is_ulid(said.id):
            raise Refused("orphaned", f"the file names {said.id}, which no event recorded: bring the ledgers back")
        return None
    if named.status == "deleted":
        raise Refused("deleted", f"the file names {named.id}, which was deleted")
    if named.filed and named.path != path and named.path in found:
        raise Refused("duplicate-id", f"{named.path} and {path} both say that they are {named.id}")
    return named


def _addition(path: str, said: Said, history: FileHistory, limits: Limits) -> Addition:
    if not is_safe_path(path):
        raise Refused(
            "bad-path",
            "no file of this name can be checked out everywhere",
        )
    stem = os.path.basename(path).removesuffix(".md")
    authored, filled = hand_edits.entry_from(said, stem, history.provenance(path), limits)
    entry_id = check_entry_id(said.id) if said.id else None
    if entry_id and is_procedural(entry_id):
        raise Refused("needs-promotion", f"{entry_id} is a rule: rules are promoted, not written")
    return Addition(path, entry_id, authored, filled)


def _plan_removals(
    plan: Plan,
    state: State,
    folder: pages.Pages,
    owners: dict[str, str],
    found: dict[str, str],
    seen: dict[str, str],
    history: FileHistory,
    allow_deletions: bool,
) -> None:
    """A file that is gone counts only if git agrees that it is deleted: a sparse checkout has none."""
    hidden = pages.outside_sparse_checkout(folder)
    missing = [path for path, entry_id in owners.items() if path not in found and entry_id not in seen]
    gone = [path for path in sorted(missing) if path not in hidden and history.deleted(path)]
    entries = [entry for path in gone if (entry := state.entry(owners[path])) and entry.path == path]
    rules = [entry for entry in entries if entry.procedural]
    plan.problems.extend(
        _problem(rule.path, "rule-protected", f"{rule.id} is a rule: deprecate it to take its file away")
        for rule in rules
    )
    removals = [entry for entry in entries if not entry.procedural]
    if len(removals) > _MANY and not allow_deletions:
        message = f"{len(removals)} files are gone at once; --allow-deletions deprecates their entries"
        plan.problems.append(_problem(removals[0].path, "many-deletions", message))
    else:
        plan.removals.extend(removals)


def _problem(path: str, code: str, message: str, line: int | None = None) -> FileProblem:
    return {"file": f"{FOLDER}/knowledge/{path}", "line": line, "code": code, "message": message}


def _apply(workspace: Workspace, writer: Writer, plan: Plan, actor: str | None) -> list[dict[str, Any]]:
    history = FileHistory(workspace.root, workspace.repository, f"{FOLDER}/knowledge")
    pages.note(writer.state.connection, plan.stale, [])
    for edit in list(plan.edits):
        try:
            draft = _edited(workspace, writer, edit)
        except DecapodError as problem:
            plan.edits.remove(edit)
            plan.problems.append(_problem(edit.path, problem.code, problem.message))
            continue
        writer.append(workspace.actor(actor or history.author(edit.path)), draft)
        pages.take(writer.state.connection, edit.path, edit.entry.id, plan.stamps[edit.path])
    added = []
    for addition in list(plan.additions):
        try:
            entry_id, draft = _added(workspace, writer, addition)
        except DecapodError as problem:
            plan.additions.remove(addition)
            plan.problems.append(_problem(addition.path, problem.code, problem.message))
            continue
        writer.append(workspace.actor(actor or history.author(addition.path)), draft)
        pages.take(writer.state.connection, addition.path, entry_id, plan.stamps[addition.path])
        added.append({"id": entry_id, "path": addition.path, "filled": addition.filled})
    for entry in plan.removals:
        status = "deprecated" if entry.status == "active" else entry.status
        fields = {"entry_id": entry.id, "status": status, "unfiled": True, "was": writer.was(entry)}
        reason = {"reason": "its file was removed"}
        writer.append(
            workspace.actor(actor or history.remover(entry.path)), Draft(EVENTS, "entry.deprecated", fields, reason)
        )
    return added


def _edited(workspace: Workspace, writer: Writer, edit: Edit) -> Draft:
    entry, after = edit.entry, edit.edit.authored
    if after.merge_key != entry.merge_key:
        refuse_held_key(writer.state, after.merge_key, after.scope, entry.id)
    if edit.edit.provenance_changed:
        after = anchored(workspace, after)
    elif after.content != entry.content:
        after = anchored_again(workspace, writer.state, entry, after)
    after = without_secrets(workspace, after, allowed_before(writer.state, entry))
    fields = version_fields(entry.id, edit.path, after, writer.was(entry))
    if edit.edit.status:
        fields["status"] = edit.edit.status
    return Draft(EVENTS, "entry.edited", fields, version_text(after))


def _added(workspace: Workspace, writer: Writer, addition: Addition) -> tuple[str, Draft]:
    if addition.entry_id and writer.state.entry(addition.entry_id):
        raise Refused("id-taken", f"the id {addition.entry_id} is taken")
    authored = addition.authored
    refuse_held_key(writer.state, authored.merge_key, authored.scope, "")
    authored = without_secrets(workspace, anchored(workspace, authored), None)
    entry_id = addition.entry_id or writer.new_entry_id()
    fields = version_fields(entry_id, addition.path, authored, {})
    fields["status"] = "active"
    return entry_id, Draft(EVENTS, "entry.added", fields, version_text(authored))


def _result(plan: Plan, *, dry_run: bool, added: list[dict[str, Any]] | None = None) -> Synced:
    if added is None:
        added = [{"id": one.entry_id or "", "path": one.path, "filled": one.filled} for one in plan.additions]
    moved = [edit for edit in plan.edits if edit.path != edit.entry.path]
    return {
        "ok": not plan.problems,
        "dry_run": dry_run,
        "edited": [edit.entry.id for edit in plan.edits if edit not in moved],
        "moved": [{"id": edit.entry.id, "path": edit.path, "was": edit.entry.path} for edit in moved],
        "added": added,  # type: ignore[typeddict-item]
        "deprecated": [entry.id for entry in plan.removals],
        "restored": [
            {"id": edit.entry.id, "path": edit.path, "fields": edit.edit.restored}
            for edit in plan.edits
            if edit.edit.restored
        ],
        "problems": plan.problems,
    }
