"""`decapod knowledge promote`, `approve`, `revoke-promotion`: how an entry may become a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.domain.entry import is_procedural
from decapod_py.domain.fold import PROMOTIONS
from decapod_py.domain.naming import check_entry_id
from decapod_py.domain.provenance import check_provenance
from decapod_py.domain.text import check_label
from decapod_py.foundation.clock import format_time
from decapod_py.foundation.errors import Call, Misused, Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.citing import resolver_of
from decapod_py.operations.knowledge.discretion import recorded_reason, refuse_secrets
from decapod_py.operations.knowledge.entries import find_living_entry, refuse_diverged, refuse_unknown_events
from decapod_py.views.firewall import refuse_approver
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from decapod_py.domain.fold import Promotion
    from decapod_py.operations.requests import Approve, Promote, RevokePromotion
    from decapod_py.operations.shapes import PromotionShape
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace


@operation(writes=True, core=True)
def promote(workspace: Workspace, request: Promote) -> PromotionShape:
    """Propose that an entry becomes a rule, or record that somebody approved it.

    It is bound to the entry's present version and good for one use: an entry under procedural/ with provenance
    event:ID. To change a rule that exists, name it as the target.
    """
    actor = workspace.actor(request.actor)
    evidence = _evidence(workspace, request.evidence_refs)
    reason = recorded_reason(workspace, request.reason)
    refuse_secrets(workspace, evidence)
    approver = _approver(workspace, request.approved_by, actor)
    target = _target(request.target)
    with workspace.writing() as writer:
        source = find_living_entry(writer.state, request.source_entry_id)
        refuse_diverged(source)
        refuse_unknown_events(workspace, writer.state, tuple(evidence))
        fields = {
            "source_entry_id": source.id,
            "source_version": source.version,
            "source_hash": writer.state.hash_of(source),
            "target_id": target,
            "target_class": "procedural",
            "evidence_refs": evidence,
            "approved_by": approver,
        }
        event = writer.append(actor, Draft(PROMOTIONS, "promotion.recorded", fields, {"reason": reason}))
        return _shown(writer.state, event["event_id"])


@operation(writes=True, tool=False)
def approve(workspace: Workspace, request: Approve) -> PromotionShape:
    """Approve a proposed promotion; whoever proposed it may not."""
    approver = workspace.actor(request.actor)
    reason = recorded_reason(workspace, request.reason)
    with workspace.writing() as writer:
        promotion = _find(writer.state, request.event)
        if workspace.agent:
            raise Refused("agent-approves", "agents propose, people approve")
        if promotion.revoked:
            raise Refused("promotion-revoked", f"promotion {promotion.id} was revoked")
        refuse_approver(approver, promotion.actor, workspace.policy)
        if promotion.approved_by:
            raise Refused("already-approved", f"promotion {promotion.id} was approved by {promotion.approved_by}")
        text = {"reason": reason} if reason else {}
        writer.append(approver, Draft(PROMOTIONS, "promotion.approved", {"promotion": promotion.id}, text))
        return _shown(writer.state, promotion.id)


@operation(writes=True, tool=False)
def revoke_promotion(workspace: Workspace, request: RevokePromotion) -> PromotionShape:
    """Take a promotion back: it authorises nothing any more."""
    actor = workspace.actor(request.actor)
    reason = recorded_reason(workspace, request.reason)
    with workspace.writing() as writer:
        promotion = _find(writer.state, request.event)
        if promotion.revoked:
            raise Refused("promotion-revoked", f"promotion {promotion.id} was revoked already")
        fields = {"promotion": promotion.id}
        writer.append(actor, Draft(PROMOTIONS, "promotion.revoked", fields, {"reason": reason}))
        uses = writer.state.promotion_uses(promotion.id)
        for rule in uses:
            workspace.warnings.append(f"{rule} rests on this promotion; deprecate it or promote it anew")
        return _shown(writer.state, promotion.id)


def _evidence(workspace: Workspace, references: list[str]) -> list[str]:
    """What supports a promotion, in its stored form: it must exist, as what an entry cites must."""
    schemes = workspace.policy.schemes
    evidence = {check_provenance(reference, schemes) for reference in references if reference.strip()}
    if not evidence:
        raise Misused("no-evidence", "a promotion needs evidence", "add --evidence-ref with a provenance")
    if workspace.policy.resolve:
        resolver = resolver_of(workspace)
        evidence = {resolver.anchored(reference).provenance for reference in evidence}
    return sorted(evidence)


def _target(given: str | None) -> str | None:
    if given is None:
        return None
    target = check_entry_id(given)
    if not is_procedural(target):
        raise Misused("not-a-rule", f"{target} is no rule", "name an id under procedural/")
    return target


def _approver(workspace: Workspace, given: str | None, actor: str) -> str | None:
    if given is None:
        return None
    if workspace.agent:
        raise Refused("agent-approves", "agents propose, people approve", "leave approved_by out")
    approver = check_label(given, "approver")
    refuse_approver(approver, actor, workspace.policy)
    return approver


def _find(state: State, event_id: str) -> Promotion:
    promotion = state.promotion(event_id.strip().removeprefix("event:").upper())
    if promotion is None:
        raise Refused(
            "unknown-promotion", f"there is no promotion {event_id!r}", Call("ledger.show", {"ledger": PROMOTIONS})
        )
    return promotion


def _shown(state: State, promotion_id: str) -> PromotionShape:
    promotion = state.promotion(promotion_id)
    assert promotion
    return {
        "event_id": promotion.id,
        "ts": format_time(promotion.recorded),
        "source_entry_id": promotion.source_entry_id,
        "source_version": promotion.source_version,
        "target_class": "procedural",
        "target_id": promotion.target_id,
        "evidence_refs": list(promotion.evidence_refs),
        "approved_by": promotion.approved_by,
        "actor": promotion.actor,
        "reason": promotion.reason,
        "state": promotion.state,  # type: ignore[typeddict-item]
    }
