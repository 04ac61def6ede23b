"""The promotion firewall: nothing becomes, changes or revives a rule without an approved promotion of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.domain.event import Event, text_of
from decapod_py.domain.fold import VERSIONS, Promotion
from decapod_py.domain.text import is_agent, same_name
from decapod_py.foundation.errors import Call, Refused

if TYPE_CHECKING:
    from decapod_py.domain.authored import Authored
    from decapod_py.domain.policy import Policy
    from decapod_py.views.state import State


def promotion_for(state: State, policy: Policy, rule: str, provenances: tuple[str, ...]) -> Promotion:
    """The promotion that a procedural entry names as its provenance, if it is good for one use now."""
    promotion = _named(state, rule, provenances)
    refuse_unfit(promotion, policy)
    uses = state.promotion_uses(promotion.id)
    if uses:
        raise Refused(
            "promotion-used",
            f"promotion {promotion.id} was used for {uses[0]} already; a promotion is good for one use",
            Call("knowledge.promote", {"source_entry_id": promotion.source_entry_id}),
        )
    _refuse_other_target(state, promotion, rule)
    return promotion


def refuse_unpromoted(state: State, policy: Policy, rule: str, kept: Authored) -> None:
    """A version of a rule that is kept must still rest on a promotion that is good, and say what it approved."""
    promotion = _named(state, rule, kept.provenances)
    refuse_unfit(promotion, policy)
    if promotion.target_id:  # one without a target was for a rule that did not exist yet
        _refuse_other_target(state, promotion, rule)
    if (kept.title, kept.content) != approved_text(state, promotion):
        raise _other_text(promotion)


def _named(state: State, rule: str, provenances: tuple[str, ...]) -> Promotion:
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
    return promotion


def _refuse_other_target(state: State, promotion: Promotion, rule: str) -> None:
    """A rule that exists is changed only by a promotion that was approved for it."""
    if promotion.target_id:
        if promotion.target_id != rule:
            raise Refused(
                "other-target", f"promotion {promotion.id} was approved for {promotion.target_id}, not {rule}"
            )
    elif state.entry(rule) and promotion.source_entry_id != rule:
        raise Refused(
            "other-target",
            f"promotion {promotion.id} was not approved for {rule}, which exists",
            Call("knowledge.promote", {"source_entry_id": promotion.source_entry_id, "target": rule}),
        )


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
    if is_agent(approver):
        raise Refused("agent-approves", f"{approver} is an agent: agents propose, people approve")
    if not policy.self_approval and same_name(approver, proposer):
        raise Refused(
            "self-approval",
            f"{approver} proposed this and may not approve it",
            "have somebody else approve it, or set [promotion] self_approval in .decapod/config.toml",
        )


def approved_text(state: State, promotion: Promotion) -> tuple[str, str]:
    """Title and content of the version that was approved."""
    version = state.event_of_hash(promotion.source_hash)
    content = text_of(version, "content") if version else None
    if version is None or content is None or not _is_version_of(version, promotion):
        raise Refused(
            "source-missing",
            f"the version {promotion.source_version} that promotion {promotion.id} is bound to is not here,"
            " or its text was redacted",
            Call("ledger.verify"),
        )
    return text_of(version, "title") or "", content


def _is_version_of(version: Event, promotion: Promotion) -> bool:
    return (
        version["type"] in VERSIONS
        and version["event_id"] == promotion.source_version
        and version.get("entry_id") == promotion.source_entry_id
    )


def refuse_other_text(state: State, promotion: Promotion, title: str | None, content: str | None) -> None:
    """A rule carries what was approved, its title too: that is what people read first."""
    approved = approved_text(state, promotion)
    if title not in (None, "", approved[0]) or content not in (None, "", approved[1]):
        raise _other_text(promotion, "leave title and text out: the approved ones are taken")


def _other_text(promotion: Promotion, hint: str | None = None) -> Refused:
    return Refused(
        "not-the-approved-text",
        f"promotion {promotion.id} approved the text of {promotion.source_entry_id} at version"
        f" {promotion.source_version}, which is not this text",
        hint,
    )
