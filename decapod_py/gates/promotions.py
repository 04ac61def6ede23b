"""Rules are promoted, not written: each rests on a promotion that holds.

The promotion must exist, be approved and not revoked, be bound to the text that the rule carries, serve one rule only,
and name evidence that resolves. Once [promotion] approvers are set, a name on a command line is not enough: the commit
that brought the approval must be by one of them, as its author or its signature shows. With --base the approvers of the
base count: a branch cannot appoint its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.domain.authored import authored_of
from decapod_py.domain.entry import Entry
from decapod_py.domain.fold import Promotion
from decapod_py.foundation.errors import DecapodError
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.views import firewall
from decapod_py.views.anchoring import Resolver
from decapod_py.views.approvals import Approvals

Told = Iterator[tuple[str, str, str]]  # code, message, fix


def check(context: Context) -> Iterator[Finding]:
    resolver = Resolver(context.workspace.root, context.workspace.repository)
    approvals = Approvals(context.state, context.workspace.root, context.workspace.repository)
    approvers = context.approvers()
    for rule in context.state.entries("status = 'active' AND lower(substr(id, 1, 11)) = 'procedural/'"):
        if context.change is not None and not _concerned(context, rule):
            continue
        told = [*_of_a_rule(context, rule)]
        promotion = context.state.promotion(rule.provenance.removeprefix("event:"))
        if promotion:
            told += _evidence(context, resolver, rule, promotion)
            told += _approval(approvals, approvers, rule, promotion) if approvers else ()
        for code, message, fix in told:
            yield context.finding(code, message, fix, entry=rule.id, file=f".decapod/knowledge/{rule.path}")


def _concerned(context: Context, rule: Entry) -> bool:
    """Whether a change acts on a rule, or on the promotion it rests on."""
    assert context.change
    subjects = context.change.subjects
    return f"e:{rule.id}" in subjects or f"p:{rule.provenance.removeprefix('event:')}" in subjects


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


def _approval(approvals: Approvals, approvers: tuple[str, ...], rule: Entry, promotion: Promotion) -> Told:
    shown = approvals.brought_by(promotion.id)
    if not shown:
        message = f"the approval of {rule.id} is not committed, so nothing shows who gave it"
        yield "approval-uncommitted", message, "have an approver commit it"
    elif {name.casefold() for name in shown}.isdisjoint(known.casefold() for known in approvers):
        message = f"the approval of {rule.id} was brought by {shown[0]} <{shown[1]}>, who is none of the approvers"
        yield "approver-unknown", message, "have one of [promotion] approvers approve it, in a commit of their own"
