"""Rules are promoted, not written: each rests on a promotion that holds.

The promotion must exist, be approved and not revoked, be bound to the text that the rule carries, serve one rule only,
and name evidence that resolves. Once [promotion] approvers are set, a name on a command line is not enough: the commit
that brought the approval must be by one of them, as its author or its good signature shows, and not by the one who
proposed it. Merging or packing brings nothing; squashing does, so let an approver squash. With --base the approvers of
the base count: a branch cannot appoint its own. An author is what a commit says of itself: protect the branch, or sign.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.domain.authored import authored_of
from decapod_py.domain.entry import Entry
from decapod_py.domain.fold import Promotion
from decapod_py.domain.policy import Policy
from decapod_py.domain.text import same_name
from decapod_py.foundation.errors import DecapodError
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views import firewall
from decapod_py.views.anchoring import Resolver
from decapod_py.views.approvals import Approvals, Bringer
from decapod_py.views.change import Change, is_touched

Told = Iterator[tuple[str, str, str]]  # code, message, fix


def check(context: Context) -> Iterator[Finding]:
    resolver = Resolver(context.workspace.root, context.workspace.repository)
    approvals = Approvals(
        context.state, context.workspace.root, context.workspace.repository, staged=context.staged is not None
    )
    for rule in context.state.entries("status = 'active' AND lower(substr(id, 1, 11)) = 'procedural/'"):
        promotion = context.state.promotion(rule.provenance.removeprefix("event:"))
        if context.change is not None and not _is_concerned(context.change, rule, promotion):
            continue
        told = [*_of_a_rule(context, rule)]
        if promotion:
            told += _evidence(context, resolver, rule, promotion)
            told += _approval(context.policy, approvals, rule, promotion) if context.policy.approvers else ()
        for code, message, fix in told:
            yield context.finding(code, message, fix, entry=rule.id, file=f".decapod/knowledge/{rule.path}")


def _is_concerned(change: Change, rule: Entry, promotion: Promotion | None) -> bool:
    """Whether a change acts on a rule, on the promotion it rests on, or on its evidence."""
    if f"e:{rule.id}" in change.subjects or f"p:{rule.provenance.removeprefix('event:')}" in change.subjects:
        return True
    evidence = promotion.evidence_refs if promotion else ()
    return any(is_touched(reference.removeprefix("file:").partition("#")[0], change.paths) for reference in evidence)


def _of_a_rule(context: Context, rule: Entry) -> Told:
    fix = f"promote it anew, or decapod knowledge deprecate {rule.id}"
    try:
        firewall.refuse_unpromoted(context.state, context.policy, rule.id, authored_of(rule))
    except DecapodError as problem:
        yield problem.code, f"{rule.id}: {problem.message}", fix
        return
    uses = context.state.promotion_uses(rule.provenance.removeprefix("event:"))
    if len(uses) > 1:
        message = f"{rule.id} rests on a promotion that {', '.join(uses)} use; it is good for one"
        yield "promotion-used-twice", message, fix


def _evidence(context: Context, resolver: Resolver, rule: Entry, promotion: Promotion) -> Told:
    for reference in promotion.evidence_refs:
        why = None
        try:
            resolver.anchored(reference)
            if reference.startswith("event:") and not context.state.has_event(reference.removeprefix("event:")):
                why = "no ledger has it"
        except DecapodError as problem:
            why = problem.message
        if why:
            message = f"the evidence {reference} of {rule.id} does not resolve: {why}"
            yield "evidence-missing", message, f"promote {rule.id} anew with evidence that is there"


def _approval(policy: Policy, approvals: Approvals, rule: Entry, promotion: Promotion) -> Told:
    brought = approvals.brought_by(promotion.id)
    approvers = [names for one in brought if (names := _approver(policy, approvals, one))]
    if approvers and not policy.self_approval and all(_is_by(promotion.actor, names) for names in approvers):
        message = f"the approval of {rule.id} was brought by {promotion.actor}, who proposed it"
        yield "self-approval", message, "have another approver approve it, in a commit of their own"
    elif not approvers and approvals.is_out_of_sight(promotion.id):
        message = f"the history here is too shallow to show who approved {rule.id}"
        yield "approval-unseen", message, "fetch the whole history; with actions/checkout: fetch-depth: 0"
    elif not brought:
        message = f"the approval of {rule.id} is not committed, so nothing shows who gave it"
        yield "approval-uncommitted", message, "have an approver commit it"
    elif not approvers:
        message = f"the approval of {rule.id} was brought by {brought[0]}, who is none of the approvers"
        yield "approver-unknown", message, "have one of [promotion] approvers approve it, in a commit of their own"


def _approver(policy: Policy, approvals: Approvals, bringer: Bringer) -> tuple[str, ...]:
    """The names of the approver who brought it, as the author shows or else the signature, which takes a process."""
    author = (bringer.name, bringer.address)
    if _is_known(policy, author):
        return author
    signer = approvals.signer(bringer)
    return signer if _is_known(policy, signer) else ()


def _is_known(policy: Policy, names: tuple[str, ...]) -> bool:
    known = {name.casefold() for name in policy.approvers}
    return not known.isdisjoint(name.casefold() for name in names)


def _is_by(proposer: str, names: tuple[str, ...]) -> bool:
    return any(same_name(proposer, name) for name in names)
