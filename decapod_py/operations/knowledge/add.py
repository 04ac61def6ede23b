"""`decapod knowledge add`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.authored import (
    Authored,
    decimal,
    title_and_content,
    version_fields,
    version_text,
    with_lifetime,
)
from decapod_py.domain.entry import ROOT_SCOPE, Entry, is_procedural
from decapod_py.domain.fold import EVENTS
from decapod_py.domain.naming import check_entry_id, check_folder, markdown_path
from decapod_py.domain.text import LONGEST_TITLE, check_content, check_label, check_tags, check_title
from decapod_py.foundation.errors import Call, Misused, Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.citing import anchored
from decapod_py.operations.knowledge.discretion import without_secrets
from decapod_py.operations.knowledge.entries import check_provenances, refuse_unknown_events
from decapod_py.views import firewall, search
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from decapod_py.operations.requests import AddEntry
    from decapod_py.operations.shapes import Added, Similar
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace
    from decapod_py.writer import Writer


class Decision(NamedTuple):
    """What an add turns out to be."""

    action: str
    entry_id: str
    path: str
    authored: Authored
    replaced: list[Entry]  # superseded by this
    merged_into: Entry | None


@operation(writes=True, core=True)
def add(workspace: Workspace, request: AddEntry) -> Added:
    """Record one piece of knowledge with its provenance.

    An active entry with the same merge key and scope is merged into (the old version stays in history), superseded,
    or the add is rejected. An id under procedural/ needs the event: of an approved promotion as its provenance.
    """
    authored = anchored(workspace, read_authored(workspace, request))
    if request.source is not None:
        authored = authored._replace(source=check_label(request.source, "source"))
    authored = without_secrets(workspace, authored, request.allow_secret, [request.id, request.folder])
    entry_id = check_entry_id(request.id) if request.id is not None else None
    folder = check_folder(request.folder, entry_id) if request.folder else ""
    actor = workspace.actor(request.actor)
    with workspace.writing() as writer:
        authored = with_lifetime(
            authored, request.ttl_policy, request.expires_ts, writer.now, workspace.policy.lifetimes["default"]
        )
        decision = decide(writer, workspace, authored, entry_id, request.on_conflict, request.status, folder)
        refuse_unknown_events(workspace, writer.state, authored.provenances)
        similar = _similar(writer, decision)
        writer.append(actor, draft_of(writer, decision, request.status))
    return {
        "id": decision.entry_id,
        "action": decision.action,  # type: ignore[typeddict-item]
        "superseded_ids": [entry.id for entry in decision.replaced],
        "similar": similar,
    }


def read_authored(workspace: Workspace, request: AddEntry) -> Authored:
    """Checks the form of everything a request says, before anything is locked or written."""
    title, content = _title_and_content(request)
    provenances = check_provenances(workspace, request.provenance, request.sources)
    if not provenances:
        raise Misused(
            "no-provenance",
            "an entry must say where it comes from",
            "add --from PATH:LINES, or --provenance with url:, cmd:, commit:, event: or person:",
        )
    return Authored(
        title=check_title(title) if title is not None else "",
        content=check_content(content) if content is not None else "",
        provenances=provenances,
        tags=tuple(check_tags(request.tags)),
        scope=check_label(request.scope, "scope") if request.scope is not None else ROOT_SCOPE,
        merge_key=check_label(request.merge_key, "merge key") if request.merge_key is not None else None,
        claim_id=check_label(request.claim_id, "claim id") if request.claim_id is not None else None,
        confidence=decimal(request.confidence),
    )


def _title_and_content(request: AddEntry) -> tuple[str | None, str | None]:
    note, title, text = request.note, request.title, request.text
    if note is not None:
        if title is None and text is None:
            return title_and_content(note, LONGEST_TITLE)
        if title is None:
            title = note
        elif text is None:
            text = note
        else:
            raise Misused("too-much", "a note, a title and a text are one too many", "leave the note out")
    if title is None and text is not None:
        return title_and_content(text, LONGEST_TITLE)
    return title, text


def decide(
    writer: Writer,
    workspace: Workspace,
    authored: Authored,
    entry_id: str | None,
    on_conflict: str,
    status: str,
    folder: str = "",
) -> Decision:
    """Inserts, merges or supersedes, or refuses; nothing is written yet."""
    state = writer.state
    holders = state.holders(authored.merge_key, authored.scope) if authored.merge_key and status == "active" else []
    if holders and on_conflict == "reject":
        raise Refused(
            "key-held",
            f"the merge key {authored.merge_key!r} is held by the active entry {holders[0].id}",
            Call("knowledge.get", {"id": holders[0].id}),
            {"holder": holders[0].id},
        )
    merged_into = holders[0] if holders and on_conflict == "merge" else None
    if entry_id is not None and not (merged_into and entry_id in [holder.id for holder in holders]):
        _refuse_taken(state, entry_id)
    target = merged_into.id if merged_into else entry_id or writer.new_entry_id()
    replaced = holders[1:] if merged_into else holders
    authored = _pass_firewall(state, workspace, target, authored, replaced)
    if merged_into:
        return Decision("merged", target, merged_into.path, _merged(authored, merged_into), replaced, merged_into)
    path = markdown_path(target, authored.title, state.path_is_taken, folder)
    return Decision("superseded" if holders else "inserted", target, path, authored, replaced, None)


def _refuse_taken(state: State, entry_id: str) -> None:
    taken = state.entry(entry_id)
    if taken:
        if taken.status == "deleted":
            raise Refused("id-taken", f"the id {entry_id} was used by an entry that was deleted", "choose another id")
        raise Refused(
            "id-taken",
            f"the id {entry_id} is taken: an entry of that id exists",
            Call("knowledge.edit", {"id": entry_id}),
        )


def _pass_firewall(
    state: State, workspace: Workspace, target: str, authored: Authored, replaced: list[Entry]
) -> Authored:
    """A rule carries the approved text; anything else needs a title and a text of its own."""
    if is_procedural(target):
        promotion = firewall.promotion_for(state, workspace.policy, target, authored.provenances)
        firewall.refuse_other_text(state, promotion, authored.title, authored.content)
        title, content = firewall.approved_text(state, promotion)
        return authored._replace(title=title, content=content)
    for entry in replaced:
        if entry.procedural:
            raise Refused(
                "rule-protected",
                f"{entry.id} is a rule: only another rule may supersede it",
                "choose another merge key",
            )
    if not authored.title:
        raise Misused("no-title", "an entry needs a title", 'decapod knowledge add "What is true" --from PATH')
    if not authored.content:
        raise Misused("no-text", "an entry needs a text", "add --text, --text-file or --text -")
    return authored


def _merged(authored: Authored, old: Entry) -> Authored:
    """The new version of a merged entry: what was said now, with tags and confidence kept where nothing was said."""
    tags = check_tags([*old.tags, *authored.tags])
    return authored._replace(tags=tuple(tags), confidence=authored.confidence or old.confidence)


def draft_of(writer: Writer, decision: Decision, status: str) -> Draft:
    acted_on = [*decision.replaced, *([decision.merged_into] if decision.merged_into else [])]
    fields = version_fields(decision.entry_id, decision.path, decision.authored, writer.was(*acted_on))
    if decision.replaced:
        fields["supersedes"] = [entry.id for entry in decision.replaced]
    if decision.replaced or not decision.merged_into:
        fields["status"] = status
    kind = "entry.merged" if decision.merged_into else "entry.added"
    return Draft(EVENTS, kind, fields, version_text(decision.authored))


def _similar(writer: Writer, decision: Decision) -> list[Similar]:
    mine = {decision.entry_id, *(entry.id for entry in decision.replaced)}
    if is_procedural(decision.entry_id):
        mine |= _source_of(writer.state, decision.authored)  # a rule says what its source says
    found = search.similar(
        writer.state.connection, decision.authored.title, decision.authored.content, now=writer.now, exclude=mine
    )
    return [
        {"id": entry_id, "title": title, "similarity": round(similarity, 3), "advice": _advice(entry_id)}
        for entry_id, title, similarity in found
    ]


def _source_of(state: State, authored: Authored) -> set[str]:
    promotion = state.promotion(authored.provenances[0].removeprefix("event:"))
    return {promotion.source_entry_id} if promotion else set()


def _advice(entry_id: str) -> str:
    return f"if {entry_id} says the same, edit or deprecate one of the two, or give both one merge key"
