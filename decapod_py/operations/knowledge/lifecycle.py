"""`decapod knowledge edit`, `deprecate`, `revive`, `delete`, `settle`, `decay`: an entry's life after it was added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from decapod_py.domain.authored import Authored, authored_of, decimal, version_fields, version_text, with_lifetime
from decapod_py.domain.entry import ROOT_SCOPE, Entry
from decapod_py.domain.fold import DECAY, EVENTS, citations_of, fold_entry, is_due, versions_of
from decapod_py.domain.text import check_content, check_label, check_tags, check_title
from decapod_py.foundation.clock import format_time, parse_time
from decapod_py.foundation.errors import Call, Misused, Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.citing import anchored, anchored_again, carried, with_citations
from decapod_py.operations.knowledge.discretion import allowed_before, recorded_reason, without_secrets
from decapod_py.operations.knowledge.entries import (
    changed,
    check_provenances,
    find_entry,
    find_living_entry,
    refuse_diverged,
    refuse_held_key,
    refuse_other_version,
    refuse_unknown_events,
)
from decapod_py.views import firewall
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from decapod_py.operations.requests import Decay, EditEntry, Revive, Settle, StatusChange
    from decapod_py.operations.shapes import Changed, Decayed
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace
    from decapod_py.writer import Writer


@operation(writes=True, core=True)
def edit(workspace: Workspace, request: EditEntry) -> Changed:
    """Write a new version of an entry; what is left out stays, what is given empty is cleared.

    A rule (procedural/) changes only to the text of a promotion: give its event: as provenance.
    """
    provenances = check_provenances(workspace, request.provenance or [], request.sources)
    actor = workspace.actor(request.actor)
    with workspace.writing() as writer:
        entry = find_living_entry(writer.state, request.id)
        refuse_other_version(entry, request.expected_version)
        refuse_diverged(entry)
        before = authored_of(entry)
        after = _edited(workspace, writer, entry, before, request, provenances)
        same = _says_the_same(before, after)
        if same and not provenances:
            return _unchanged(entry)
        refuse_unknown_events(workspace, writer.state, provenances)
        after = anchored(workspace, after) if provenances else anchored_again(workspace, writer.state, entry, after)
        if same and _reads_the_same(entry, after):
            return _unchanged(entry)
        allowed = request.allow_secret or allowed_before(writer.state, entry)
        after = without_secrets(workspace, after, allowed)
        if _may_be_active(entry, after):
            refuse_held_key(writer.state, after.merge_key, after.scope, entry.id)
        event = writer.append(actor, _version("entry.edited", writer, entry, after))
    return changed(entry.id, "edited", event)


def _edited(
    workspace: Workspace,
    writer: Writer,
    entry: Entry,
    before: Authored,
    request: EditEntry,
    provenances: tuple[str, ...],
) -> Authored:
    after = before._replace(
        title=before.title if request.title is None else check_title(request.title),
        content=before.content if request.text is None else _nonempty(check_content(request.text)),
        provenances=provenances or before.provenances,
        merge_key=_label(request.merge_key, before.merge_key, "merge key"),
        claim_id=_label(request.claim_id, before.claim_id, "claim id"),
        source=_label(request.source, before.source, "source"),
        tags=before.tags if request.tags is None else tuple(check_tags([tag for tag in request.tags if tag.strip()])),
        confidence=before.confidence if request.confidence is None else decimal(request.confidence),
    )
    if entry.procedural:
        promotion = firewall.promotion_for(writer.state, workspace.policy, entry.id, provenances)
        given = check_content(request.text) if request.text is not None else None
        firewall.refuse_other_text(writer.state, promotion, request.title, given)
        title, content = firewall.approved_text(writer.state, promotion)
        after = after._replace(title=title, content=content)
    if request.ttl_policy is None and request.expires_ts is None and not before.expires_by_default:
        return after
    lifetimes = workspace.policy.lifetimes["default"]
    return with_lifetime(after, request.ttl_policy, request.expires_ts or None, writer.now, lifetimes)


def _says_the_same(before: Authored, after: Authored) -> bool:
    """Whether an edit changes nothing; a lifetime that only starts anew is no change by itself."""
    if after.expires_by_default and before.expires_by_default:
        after = after._replace(expires=before.expires)
    return before == after


def _reads_the_same(entry: Entry, after: Authored) -> bool:
    """Whether what is cited once more is what it was: where it stands, and what it says."""
    then, now = (
        [anchor and anchor._replace(blob=None, commit=None) for anchor in one] for one in (entry.anchors, after.anchors)
    )
    return then == now


def _may_be_active(entry: Entry, after: Authored) -> bool:
    """Whether a version like this leaves an entry active, or makes a stale one active by living longer."""
    before = authored_of(entry)
    anew = after.expires_by_default or (after.ttl_policy, after.expires, after.expires_by_default) != (
        before.ttl_policy,
        before.expires,
        before.expires_by_default,
    )
    return entry.status == "active" or (entry.status == "stale" and anew)


def _unchanged(entry: Entry) -> Changed:
    return {
        "id": entry.id,
        "action": "unchanged",
        "event_id": entry.version,
        "version": entry.version,
        "superseded_ids": [],
    }


def _label(given: str | None, old: str | None, name: str) -> str | None:
    if given is None:
        return old
    return check_label(given, name) if given.strip() else None


def _nonempty(content: str) -> str:
    if not content:
        raise Misused("no-text", "an entry needs a text", "deprecate or delete the entry instead")
    return content


def _version(
    kind: str,
    writer: Writer,
    entry: Entry,
    authored: Authored,
    *,
    status: str | None = None,
    superseded: list[Entry] | None = None,
    reason: str | None = None,
) -> Draft:
    replaced = superseded or []
    fields = version_fields(entry.id, entry.path, authored, writer.was(entry, *replaced))
    if status:
        fields["status"] = status
    if replaced:
        fields["supersedes"] = [other.id for other in replaced]
    return Draft(EVENTS, kind, fields, version_text(authored, reason))


@operation(writes=True)
def deprecate(workspace: Workspace, request: StatusChange) -> Changed:
    """Mark an entry as no longer true; it stays readable and can be revived."""
    return _set_status(workspace, request, "deprecated", "entry.deprecated")


@operation(writes=True, destructive=True)
def delete(workspace: Workspace, request: StatusChange) -> Changed:
    """Take an entry out of use for good; its history stays in the ledger."""
    return _set_status(workspace, request, "deleted", "entry.deleted")


def _set_status(workspace: Workspace, request: StatusChange, status: str, kind: str) -> Changed:
    actor = workspace.actor(request.actor)
    reason = recorded_reason(workspace, request.reason)
    with workspace.writing() as writer:
        entry = find_entry(writer.state, request.id)
        if entry.status == "deleted":
            raise Refused("deleted", f"entry {entry.id} was deleted already")
        refuse_other_version(entry, request.expected_version)
        if entry.procedural and workspace.agent:
            raise Refused("rule-protected", f"{entry.id} is a rule: people take rules out of use, agents do not")
        if entry.status == status:
            raise Refused("no-change", f"entry {entry.id} is {status} already")
        fields = {"entry_id": entry.id, "status": status, "was": writer.was(entry)}
        event = writer.append(actor, Draft(EVENTS, kind, fields, {"reason": reason} if reason else {}))
    return {**changed(entry.id, status, event), "version": entry.version}


@operation(writes=True)
def revive(workspace: Workspace, request: Revive) -> Changed:
    """Make an entry active again; a rule needs a promotion of its own for that."""
    actor = workspace.actor(request.actor)
    reason = recorded_reason(workspace, request.reason)
    provenances = check_provenances(workspace, [request.provenance] if request.provenance else [], [])
    with workspace.writing() as writer:
        entry = find_living_entry(writer.state, request.id)
        refuse_other_version(entry, request.expected_version)
        if entry.status == "active" and not entry.expired(writer.now):
            raise Refused("no-change", f"entry {entry.id} is active already")
        refuse_diverged(entry)
        refuse_held_key(writer.state, entry.merge_key, entry.scope, entry.id)
        authored = authored_of(entry)
        if entry.procedural:
            promotion = firewall.promotion_for(writer.state, workspace.policy, entry.id, provenances)
            firewall.refuse_other_text(writer.state, promotion, entry.title, entry.content)
        if provenances:
            authored = anchored(workspace, authored._replace(provenances=provenances))
        else:
            authored = carried(writer.state, entry, authored)
        if request.expires_ts or entry.expired(writer.now):
            lifetimes = workspace.policy.lifetimes["default"]
            authored = with_lifetime(authored, None, request.expires_ts, writer.now, lifetimes)
        event = writer.append(actor, _version("entry.revived", writer, entry, authored, status="active", reason=reason))
    return changed(entry.id, "revived", event)


@operation(writes=True)
def settle(workspace: Workspace, request: Settle) -> Changed:
    """Settle a diverged entry by keeping one version, or a merge key with several holders by keeping one entry.

    What is not kept stays in history.
    """
    actor = workspace.actor(request.actor)
    reason = recorded_reason(workspace, request.reason)
    with workspace.writing() as writer:
        scope = check_label(request.scope, "scope") if request.scope is not None else ROOT_SCOPE
        holders = writer.state.holders(request.target, scope)
        if len(holders) == 1 and not writer.state.entry(request.target):
            raise Refused("nothing-to-settle", f"only {holders[0].id} holds the merge key {request.target!r}")
        if len(holders) > 1:
            entry, authored, replaced = _settled_key(writer.state, holders, request.keep)
        else:
            entry, authored, replaced = _settled_entry(writer.state, request.target, request.keep)
        if entry.procedural:
            firewall.refuse_unpromoted(writer.state, workspace.policy, entry.id, authored)
        # Kept means active: on another branch somebody may have kept another one, and the later choice stands.
        status = "active" if replaced else None
        draft = _version("entry.settled", writer, entry, authored, status=status, superseded=replaced, reason=reason)
        event = writer.append(actor, draft)
    return changed(entry.id, "settled", event, draft.fields.get("supersedes"))


Settled = tuple[Entry, Authored, list[Entry]]  # what is kept, what it says, and what it supersedes


def _settled_key(state: State, holders: list[Entry], keep: str) -> Settled:
    kept = next((holder for holder in holders if holder.id == keep), None)
    if kept is None:
        raise Refused(
            "not-a-holder",
            f"{keep!r} does not hold the merge key {holders[0].merge_key!r}; its holders are"
            f" {', '.join(holder.id for holder in holders)}",
        )
    refuse_diverged(kept)
    authored = carried(state, kept, authored_of(kept))
    replaced = [holder for holder in holders if holder is not kept]
    if not kept.procedural and any(holder.procedural for holder in replaced):
        raise Refused("rule-protected", "only another rule may supersede a rule", "keep the procedural entry")
    return kept, authored, replaced


def _settled_entry(state: State, target: str, keep: str) -> Settled:
    entry = find_living_entry(state, target)
    if not entry.diverged:
        raise Refused(
            "nothing-to-settle", f"entry {entry.id} has one head version, and no merge key of that name clashes"
        )
    version = next((head for head in entry.heads if head == keep.strip().upper()), None)
    if version is None:
        raise Refused(
            "not-a-head",
            f"{keep!r} is no head version of {entry.id}; its heads are {', '.join(entry.heads)}",
            Call("knowledge.history", {"id": entry.id}),
        )
    authored = _authored_at(state, entry.id, version)
    if _may_be_active(entry, authored):
        refuse_held_key(state, authored.merge_key, authored.scope, entry.id)
    return entry, authored, []


def _authored_at(state: State, entry_id: str, version: str) -> Authored:
    """What one version by itself says."""
    # Among this entry's own: an id that was used twice may mean an event of another's too.
    versions = versions_of(entry_id, state.events_of(f"e:{entry_id}"))
    alone = [event for event in versions if event["event_id"] == version]
    folded = fold_entry(entry_id, alone)
    assert folded
    return with_citations(authored_of(folded), citations_of(entry_id, alone, version))


@operation(writes=True)
def decay(workspace: Workspace, request: Decay) -> Decayed:
    """Mark every expired entry as stale, as one event; a dry run only says which.

    Search hides expired entries even before this runs.
    """
    lifetimes = _lifetimes(workspace, request.policy)
    now = workspace.clock()
    as_of = parse_time(request.as_of) if request.as_of is not None else now
    if as_of > now and not request.dry_run:
        raise Misused(
            "future", f"{request.as_of} is in the future", "add --dry-run to see what would become stale by then"
        )
    result: Decayed = {
        "as_of": format_time(as_of),
        "policy": request.policy,
        "dry_run": request.dry_run,
        "stale_ids": [],
        "event_id": None,
    }
    if request.dry_run:
        result["stale_ids"] = [entry.id for entry in _due(workspace.state(), as_of, lifetimes)]
        return result
    actor = workspace.actor(request.actor)
    with workspace.writing() as writer:
        due = _due(writer.state, as_of, lifetimes)
        if not due:
            return result
        result["stale_ids"] = [entry.id for entry in due]
        fields: dict[str, Any] = {
            "policy": request.policy,
            "as_of": result["as_of"],
            "dry_run": False,
            "lifetimes": lifetimes,
            "stale_ids": result["stale_ids"],
            "was": writer.was(*due),
        }
        result["event_id"] = writer.append(actor, Draft(DECAY, "decay.run", fields, {}))["event_id"]
    return result


def _lifetimes(workspace: Workspace, policy: str) -> dict[str, int]:
    known = workspace.policy.lifetimes
    if policy not in known:
        raise Misused(
            "unknown-policy",
            f"there is no decay policy {policy!r}",
            f"known are {', '.join(known)}; see [decay] in config.toml",
        )
    return known[policy]


def _due(state: State, as_of: int, lifetimes: dict[str, int]) -> list[Entry]:
    candidates = state.entries("status = 'active' AND ttl_policy != 'persistent' AND expires IS NOT NULL")
    return [
        entry
        for entry in candidates
        if is_due(
            entry.ttl_policy, entry.expires, entry.expires_by_default, version_time(state, entry), as_of, lifetimes
        )
    ]


def version_time(state: State, entry: Entry) -> int:
    """When the version that shows was recorded."""
    row = state.connection.execute("SELECT recorded FROM events WHERE event_id = ?", (entry.version,)).fetchone()
    return int(row[0])
