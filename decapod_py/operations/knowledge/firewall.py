"""The promotion firewall: nothing becomes, changes or revives a rule without an approved promotion of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.domain.event import text_of
from decapod_py.domain.fold import Promotion
from decapod_py.domain.text import same_name
from decapod_py.foundation.errors import Call, Refused

if TYPE_CHECKING:
    from decapod_py.domain.policy import Policy
    from decapod_py.views.state import State


def promotion_for(state: State, policy: Policy, rule: str, provenances: tuple[str, ...]) -> Promotion:
    """The promotion that a procedural entry names as its provenance, if it is good for one use now."""
    named = provenances[0] if provenances else ""
    if not named.startswith("event:"):
        raise Refused(
            "needs-promotion",
            f"{rule} is a rule: its provenance must be event:ID of an approved promotion",
            Call("knowledge.promote", {"source_entry_id": "ID", "evidence_refs": ["REF"], "reason": "WHY"}),
        )
    promotion = state.promotion(named.removeprefix("event:"))
    if promotion is None:
        raise Refused("unknown-promotion", f"no promotion has the event id {named.removeprefix('event:')}")
    refuse_unfit(promotion, policy)
    uses = state.promotion_uses(promotion.id)
    if uses:
        raise Refused(
            "promotion-used",
            f"promotion {promotion.id} was used for {uses[0]} already; a promotion is good for one use",
            Call("knowledge.promote", {"source_entry_id": promotion.source_entry_id}),
        )
    return promotion


def refuse_unfit(promotion: Promotion, policy: Policy) -> None:
    if promotion.revoked:
        raise Refused("promotion-revoked", f"promotion {promotion.id} was revoked")
    if not promotion.approved_by:
        raise Refused(
            "not-approved",
            f"promotion {promotion.id} is a proposal: nobody approved it yet",
            Call("knowledge.approve", {"event": promotion.id}),
        )
    if not promotion.evidence_refs:
        raise Refused("no-evidence", f"promotion {promotion.id} names no evidence")
    refuse_approver(promotion.approved_by, promotion.actor, policy)


def refuse_approver(approver: str, proposer: str, policy: Policy) -> None:
    if approver.casefold().startswith("agent:"):
        raise Refused("agent-approves", f"{approver} is an agent: agents propose, people approve")
    if not policy.self_approval and same_name(approver, proposer):
        raise Refused(
            "self-approval",
            f"{approver} proposed this and may not approve it",
            "have somebody else approve it, or set [promotion] self_approval in .decapod/config.toml",
        )


def approved_text(state: State, promotion: Promotion) -> tuple[str, str]:
    """Title and content of the version that was approved."""
    version = state.event(promotion.source_version)
    content = text_of(version, "content") if version else None
    if version is None or content is None:
        raise Refused(
            "source-missing",
            f"the version {promotion.source_version} that promotion {promotion.id} is bound to is not here",
            Call("ledger.verify"),
        )
    return text_of(version, "title") or "", content


def refuse_other_text(state: State, promotion: Promotion, content: str) -> None:
    if approved_text(state, promotion)[1] != content:
        raise Refused(
            "not-the-approved-text",
            f"promotion {promotion.id} approved the text of {promotion.source_entry_id} at version"
            f" {promotion.source_version}, which is not this text",
            "leave the text out: the approved one is taken",
        )
