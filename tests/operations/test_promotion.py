"""The promotion firewall: nothing becomes, changes or revives a rule without an approval of its own."""

from __future__ import annotations

import re
from typing import Any

import pytest

ULID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")
APPROVED = "Never retry a payment."


@pytest.fixture(autouse=True)
def source(knowledge):
    knowledge.add(id="payments", title="Payments", text=APPROVED, provenance=["cmd:make test"])


def promote(knowledge: Any, **fields: Any) -> Any:
    request = {
        "source_entry_id": "payments",
        "evidence_refs": ["cmd:make test"],
        "reason": "It hurt",
        "approved_by": "Bea",
    }
    return knowledge.promote(**{name: value for name, value in {**request, **fields}.items() if value is not None})


def rule(knowledge: Any, promotion: str, **fields: Any) -> Any:
    return knowledge.add(**{"id": "procedural/payments", "provenance": [f"event:{promotion}"], **fields})


def test_an_approved_promotion_lets_the_entry_become_a_rule(knowledge):
    promotion = promote(
        knowledge,
        evidence_refs=[" cmd:b ", "url:https://example.com/z", "cmd:b", "", "cmd:a"],
        reason=" It hurt ",
        actor="Ada",
    )

    assert ULID.fullmatch(promotion["event_id"])
    assert promotion == {
        "event_id": promotion["event_id"],
        "ts": "2026-03-01T12:00:00.000Z",
        "source_entry_id": "payments",
        "source_version": knowledge.get(id="payments")["version"],
        "target_class": "procedural",
        "target_id": None,
        "evidence_refs": ["cmd:a", "cmd:b", "url:https://example.com/z"],
        "approved_by": "Bea",
        "actor": "Ada",
        "reason": "It hurt",
        "state": "approved",
    }
    added = rule(knowledge, promotion["event_id"])
    assert added == {"id": "procedural/payments", "action": "inserted", "superseded_ids": [], "similar": []}
    entry = knowledge.get(id="procedural/payments")
    assert (entry["title"], entry["content"], entry["provenance"], entry["status"]) == (
        "Payments",
        APPROVED,
        f"event:{promotion['event_id']}",
        "active",
    )


def test_a_promotion_is_recorded_with_the_field_names_of_its_ledger(knowledge, opened):
    promotion = promote(knowledge)

    (event,) = opened.ledger.show(ledger="knowledge.promotions")["events"]
    assert (event["event_id"], event["source_entry_id"], event["target_class"]) == (
        promotion["event_id"],
        "payments",
        "procedural",
    )
    assert (event["evidence_refs"], event["approved_by"], event["actor"]) == (["cmd:make test"], "Bea", "Ada")
    assert event["text"]["reason"] == "It hurt"


@pytest.mark.parametrize("entry_id", ["procedural/x", "Procedural/x", "PROCEDURAL/x"])
def test_an_id_under_procedural_needs_a_promotion_whatever_its_case(knowledge, refused, entry_id):
    refused("needs-promotion", 1, knowledge.add, id=entry_id, title="T", text=APPROVED, provenance=["cmd:x"])
    refused("needs-promotion", 1, knowledge.add, id=entry_id, title="T", text=APPROVED, provenance=["cmd:x", "event:X"])


def test_a_rule_is_stored_in_lower_case_and_found_in_any(knowledge):
    added = rule(knowledge, promote(knowledge)["event_id"], id="PROCEDURAL/Payments")

    assert added["id"] == "procedural/Payments"
    assert knowledge.get(id="Procedural/Payments")["id"] == "procedural/Payments"


def test_an_event_that_is_no_promotion_authorises_nothing(knowledge, refused):
    version = knowledge.get(id="payments")["version"]

    refused("unknown-promotion", 1, rule, knowledge=knowledge, promotion="01KJMMA2G1040G2081040G2081")
    refused("unknown-promotion", 1, rule, knowledge=knowledge, promotion=version)


def test_a_promotion_is_bound_to_the_text_of_the_version_it_approved(knowledge, refused):
    promotion = promote(knowledge)["event_id"]
    knowledge.edit(id="payments", text="Always retry a payment.")

    refused("not-the-approved-text", 1, rule, knowledge=knowledge, promotion=promotion, text="Always retry a payment.")
    rule(knowledge, promotion)

    assert knowledge.get(id="procedural/payments")["content"] == APPROVED


def test_a_promotion_is_used_once(knowledge, refused):
    promotion = promote(knowledge)["event_id"]
    rule(knowledge, promotion)

    error = refused("promotion-used", 1, rule, knowledge=knowledge, promotion=promotion, id="procedural/second")

    assert "was used for procedural/payments already" in error.message


def test_a_revoked_promotion_authorises_nothing(knowledge, refused):
    promotion = promote(knowledge)

    revoked = knowledge.revoke_promotion(event=promotion["event_id"], reason="Too soon", actor="Cleo")

    assert revoked == {**promotion, "state": "revoked"}
    refused("promotion-revoked", 1, rule, knowledge=knowledge, promotion=promotion["event_id"])
    refused("promotion-revoked", 1, knowledge.revoke_promotion, event=promotion["event_id"], reason="Again")
    refused("promotion-revoked", 1, knowledge.approve, event=promotion["event_id"], actor="Bea")


def test_revoking_a_used_promotion_names_the_rule_that_rests_on_it(knowledge, opened):
    promotion = promote(knowledge)["event_id"]
    rule(knowledge, promotion)

    knowledge.revoke_promotion(event=promotion, reason="Wrong")

    assert opened.warnings == ["procedural/payments rests on this promotion; deprecate it or promote it anew"]


def test_a_proposal_authorises_nothing_until_somebody_else_approves_it(knowledge, refused, opened):
    proposal = promote(knowledge, approved_by=None)

    assert (proposal["state"], proposal["approved_by"], opened.status()["proposals"]) == ("proposed", None, 1)
    refused("not-approved", 1, rule, knowledge=knowledge, promotion=proposal["event_id"])
    refused("self-approval", 1, knowledge.approve, event=proposal["event_id"])
    approved = knowledge.approve(event=f"event:{proposal['event_id'].lower()}", actor="Bea", reason="Yes")
    assert approved == {**proposal, "approved_by": "Bea", "state": "approved"}
    refused("already-approved", 1, knowledge.approve, event=proposal["event_id"], actor="Cleo")
    assert (rule(knowledge, proposal["event_id"])["action"], opened.status()["proposals"]) == ("inserted", 0)


@pytest.mark.parametrize(
    "approver", ["Ada", "ada", " ADA ", "A\u0064a", "\uff21\uff44\uff41", "A\u200bda", "Ada\u2060"]
)
def test_nobody_approves_what_they_proposed_however_they_spell_their_name(knowledge, refused, approver):
    refused("self-approval", 1, promote, knowledge=knowledge, approved_by=approver)
    proposal = promote(knowledge, approved_by=None)["event_id"]
    refused("self-approval", 1, knowledge.approve, event=proposal, actor=approver)


def test_the_policy_may_allow_self_approval(knowledge, repository):
    (repository / ".decapod" / "config.toml").write_text("[promotion]\nself_approval = true\n")

    promotion = promote(knowledge, approved_by="Ada")

    assert rule(knowledge, promotion["event_id"])["action"] == "inserted"


def test_a_self_approved_promotion_is_worth_nothing_once_the_policy_forbids_it(knowledge, repository, refused):
    config = repository / ".decapod" / "config.toml"
    config.write_text("[promotion]\nself_approval = true\n")
    promotion = promote(knowledge, approved_by="Ada")["event_id"]
    config.write_text("")

    refused("self-approval", 1, rule, knowledge=knowledge, promotion=promotion)


@pytest.mark.parametrize(
    ("fields", "code", "exit_code"),
    [
        ({"approved_by": ""}, "empty", 2),
        ({"approved_by": "  "}, "empty", 2),
        ({"approved_by": "a\nb"}, "bad-text", 2),
        ({"actor": ""}, "empty", 2),
        ({"actor": "  "}, "empty", 2),
        ({"reason": ""}, "empty", 2),
        ({"reason": " \n"}, "empty", 2),
        ({"evidence_refs": []}, "no-evidence", 2),
        ({"evidence_refs": [" ", ""]}, "no-evidence", 2),
        ({"evidence_refs": ["we tried it"]}, "bad-provenance", 2),
        ({"evidence_refs": ["cmd:ok", "commit:a"]}, "bad-provenance", 2),
        ({"source_entry_id": ""}, "bad-id", 2),
        ({"source_entry_id": "nothing"}, "not-found", 1),
        ({"approved_by": "agent:claude"}, "agent-approves", 1),
        ({"approved_by": "Agent:Claude"}, "agent-approves", 1),
        ({"approved_by": "\u200bagent:claude"}, "agent-approves", 1),
    ],
)
def test_a_promotion_that_lacks_something_is_refused(knowledge, refused, fields, code, exit_code):
    refused(code, exit_code, promote, knowledge=knowledge, **fields)


def test_a_deleted_entry_cannot_be_promoted(knowledge, refused):
    knowledge.delete(id="payments")
    refused("deleted", 1, promote, knowledge=knowledge)


def test_approving_or_revoking_what_is_no_promotion_is_refused(knowledge, refused):
    for event in ("", "nothing", knowledge.get(id="payments")["version"]):
        refused("unknown-promotion", 1, knowledge.approve, event=event, actor="Bea")
        refused("unknown-promotion", 1, knowledge.revoke_promotion, event=event, reason="r")
    promotion = promote(knowledge, approved_by=None)["event_id"]
    refused("empty", 2, knowledge.approve, event=promotion, actor="")
    refused("empty", 2, knowledge.revoke_promotion, event=promotion, reason=" ")


def test_an_agent_can_only_propose(knowledge, as_agent, refused):
    wanted = {"source_entry_id": "payments", "evidence_refs": ["cmd:x"], "reason": "r"}

    refused("agent-approves", 1, as_agent, name="knowledge.promote", **wanted, approved_by="Bea")
    proposal = as_agent("knowledge.promote", **wanted)
    assert (proposal["state"], proposal["actor"]) == ("proposed", "agent:tester")
    refused("agent-approves", 1, as_agent, name="knowledge.approve", event=proposal["event_id"])
    refused("agent-approves", 1, as_agent, name="knowledge.approve", event=proposal["event_id"], actor="Bea")
    refused("not-approved", 1, rule, knowledge=knowledge, promotion=proposal["event_id"])
    refused("agent-approves", 1, knowledge.approve, event=proposal["event_id"], actor="agent:other")


@pytest.fixture
def payments_rule(knowledge):
    """A rule that holds the merge key `pay`."""
    rule(knowledge, promote(knowledge, target="procedural/payments")["event_id"], merge_key="pay")
    return "procedural/payments"


def test_merging_into_a_rule_needs_a_promotion_of_its_own(knowledge, refused, payments_rule):
    plain = {"title": "T", "text": "Always retry.", "merge_key": "pay"}
    refused("needs-promotion", 1, knowledge.add, **plain, provenance=["cmd:x"])
    refused("needs-promotion", 1, knowledge.add, **plain, provenance=["cmd:x"], id="harmless")
    used = knowledge.get(id=payments_rule)["provenance"]
    refused("promotion-used", 1, knowledge.add, merge_key="pay", provenance=[used])
    knowledge.edit(id="payments", text="Never retry a payment twice.")
    fresh = promote(knowledge, target=payments_rule)["event_id"]
    refused("not-the-approved-text", 1, knowledge.add, **plain, provenance=[f"event:{fresh}"])

    merged = knowledge.add(merge_key="pay", provenance=[f"event:{fresh}"])

    assert (merged["action"], merged["id"]) == ("merged", payments_rule)
    assert knowledge.get(id=payments_rule)["content"] == "Never retry a payment twice."


def test_superseding_a_rule_needs_another_rule(knowledge, refused, payments_rule):
    plain = {"title": "T", "text": "Always retry.", "merge_key": "pay", "on_conflict": "supersede"}
    refused("rule-protected", 1, knowledge.add, **plain, provenance=["cmd:x"])
    refused("needs-promotion", 1, knowledge.add, **plain, provenance=["cmd:x"], id="procedural/other")
    promotion = promote(knowledge)["event_id"]

    added = rule(knowledge, promotion, id="procedural/other", merge_key="pay", on_conflict="supersede")

    assert (added["action"], added["superseded_ids"]) == ("superseded", [payments_rule])


def test_editing_a_rule_needs_a_promotion_of_its_own(knowledge, refused, payments_rule):
    used = knowledge.get(id=payments_rule)["provenance"]
    for fields in ({"text": "Always retry."}, {"title": "T"}, {"tags": ["x"]}, {"merge_key": "other"}):
        refused("needs-promotion", 1, knowledge.edit, id=payments_rule, **fields)
        refused("promotion-used", 1, knowledge.edit, id=payments_rule, provenance=[used], **fields)
    knowledge.edit(id="payments", text="Never ever.")
    fresh = promote(knowledge, target=payments_rule)["event_id"]
    refused("not-the-approved-text", 1, knowledge.edit, id=payments_rule, text="Always.", provenance=[f"event:{fresh}"])

    assert knowledge.edit(id=payments_rule, provenance=[f"event:{fresh}"])["action"] == "edited"
    assert knowledge.get(id=payments_rule)["content"] == "Never ever."


def test_reviving_a_rule_needs_a_promotion_of_its_own(knowledge, refused, payments_rule):
    knowledge.deprecate(id=payments_rule)
    used = knowledge.get(id=payments_rule)["provenance"]
    refused("needs-promotion", 1, knowledge.revive, id=payments_rule)
    refused("needs-promotion", 1, knowledge.revive, id=payments_rule, provenance="cmd:x")
    refused("promotion-used", 1, knowledge.revive, id=payments_rule, provenance=used)

    fresh = promote(knowledge, target=payments_rule)["event_id"]
    revived = knowledge.revive(id=payments_rule, provenance=f"event:{fresh}")

    assert (revived["action"], knowledge.get(id=payments_rule)["status"]) == ("revived", "active")


def test_a_rule_that_exists_changes_only_by_a_promotion_that_was_approved_for_it(knowledge, refused, payments_rule):
    knowledge.add(id="cats", title="Cats", text="Feed the cats.", provenance=["cmd:x"])
    for target in (None, "procedural/cats"):
        named = f"event:{promote(knowledge, source_entry_id='cats', target=target)['event_id']}"
        refused("other-target", 1, knowledge.edit, id=payments_rule, provenance=[named])
        refused("other-target", 1, knowledge.add, merge_key="pay", provenance=[named])
        knowledge.deprecate(id=payments_rule)
        refused("other-target", 1, knowledge.revive, id=payments_rule, provenance=named)
        back = promote(knowledge, target=payments_rule)["event_id"]
        knowledge.revive(id=payments_rule, provenance=f"event:{back}")
    new = f"event:{promote(knowledge, source_entry_id='cats', target='Procedural/cats')['event_id']}"
    refused("other-target", 1, knowledge.add, id="procedural/dogs", provenance=[new])
    assert knowledge.add(id="procedural/cats", provenance=[new])["action"] == "inserted"


def test_only_a_rule_can_be_the_target_of_a_promotion(knowledge, refused):
    refused("not-a-rule", 2, promote, knowledge=knowledge, target="payments")
    refused("bad-id", 2, promote, knowledge=knowledge, target="")
    refused("bad-id", 2, promote, knowledge=knowledge, target="procedural/../x")


def test_a_rule_carries_the_approved_title_too(knowledge, refused):
    promotion = promote(knowledge)["event_id"]

    refused("not-the-approved-text", 1, rule, knowledge=knowledge, promotion=promotion, title="Always retry")
    assert rule(knowledge, promotion, title="Payments")["action"] == "inserted"


def test_people_take_a_rule_out_of_use_and_agents_do_not(knowledge, as_agent, refused, payments_rule):
    refused("rule-protected", 1, as_agent, name="knowledge.deprecate", id=payments_rule)
    refused("rule-protected", 1, as_agent, name="knowledge.delete", id=payments_rule)

    assert knowledge.deprecate(id=payments_rule)["action"] == "deprecated"


def test_a_corrupt_line_in_the_promotions_blocks_no_other_promotion(knowledge, opened, repository):
    promotion = promote(knowledge)["event_id"]
    month = repository / ".decapod" / "ledgers" / "knowledge.promotions" / "2026-03"
    (month / f"{'0' * 26}.jsonl").write_text("not an event\n")

    assert rule(knowledge, promotion)["action"] == "inserted"
    assert [problem["code"] for problem in opened.status()["problems"]] == ["not-json"]


def test_a_plain_entry_may_cite_a_promotion_without_using_it(knowledge):
    promotion = promote(knowledge)["event_id"]
    knowledge.add(id="plain", title="T", text="About it.", provenance=[f"event:{promotion}"])

    assert rule(knowledge, promotion)["action"] == "inserted"
