"""What a stranger's ledger or an import says about rules never counts as an approval."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import NOON

from decapod_py.domain.event import Event, seal, to_line
from decapod_py.domain.fold import EVENTS
from decapod_py.foundation.clock import format_time
from decapod_py.foundation.errors import DecapodError
from decapod_py.foundation.ids import ulid

RULE = "procedural/payments"
APPROVED = "Never retry a payment."


@pytest.fixture
def knowledge(opened: Any) -> Any:
    opened.knowledge.add(id="payments", title="Payments", text=APPROVED, provenance=["cmd:make test"])
    return opened.knowledge


def promote(knowledge: Any, **more: Any) -> str:
    request = {"source_entry_id": "payments", "evidence_refs": ["cmd:make test"], "reason": "r", "approved_by": "Bea"}
    return f"event:{knowledge.promote(**request, **more)['event_id']}"


def crafted(event_id: str, salt: int = 0, **fields: Any) -> Event:
    """A version as a stranger would seal it."""
    common = {
        "v": 1,
        "event_id": event_id,
        "ts": format_time(NOON),
        "type": "entry.edited",
        "ledger": EVENTS,
        "actor": "Mallory",
        "prev": [],
    }
    text = {"title": fields.pop("title", "Payments"), "content": fields.pop("content", APPROVED)}
    return seal({**common, **fields}, text, f"{salt:02}")


def twins(event_id: str, **fields: Any) -> Iterator[Event]:
    """Events of one id and other bytes: some sort before the true one, some after it."""
    return (crafted(event_id, salt, **fields) for salt in range(12))


def put(repository: Path, *events: Event) -> None:
    path = repository / ".decapod" / "ledgers" / EVENTS / "2026-03" / f"{ulid(NOON, b'x' * 10)}.jsonl"
    path.write_bytes(b"".join(map(to_line, events)))


def later(number: int) -> str:
    """The id of an event that comes after all of ours."""
    return ulid(NOON + 1_000 + number, bytes(10))


def refusal(call: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(DecapodError) as refused:
        call(**arguments)
    return refused.value.code


@pytest.mark.parametrize("entry_id", ["payments", "other", RULE])
def test_a_second_event_of_the_approved_versions_id_changes_nothing_that_was_approved(repository, knowledge, entry_id):
    promotion = promote(knowledge)
    version = knowledge.get(id="payments")["version"]
    put(repository, *twins(version, entry_id=entry_id, title="Evil", content="Always retry."))

    if entry_id == RULE:
        knowledge.add(id="procedural/second", provenance=[promotion])
        rule = knowledge.get(id="procedural/second")
    else:
        assert refusal(knowledge.add, id=RULE, text="Always retry.", provenance=[promotion]) == "not-the-approved-text"
        knowledge.add(id=RULE, provenance=[promotion])
        rule = knowledge.get(id=RULE)

    assert (rule["title"], rule["content"]) == ("Payments", APPROVED)


def test_a_promotion_approves_what_is_shown_though_other_events_have_its_id(repository, knowledge):
    version = knowledge.get(id="payments")["version"]
    put(
        repository,
        *twins(version, entry_id="other", title="Evil", content="Always retry."),
        *twins(version, entry_id="payments", type="entry.noted", title="Evil", content="Always retry."),
    )
    assert knowledge.get(id="payments")["content"] == APPROVED

    knowledge.add(id=RULE, provenance=[promote(knowledge)])

    assert knowledge.get(id=RULE)["content"] == APPROVED


def test_a_version_whose_id_was_used_twice_is_approved_by_nobody(repository, knowledge):
    version = knowledge.get(id="payments")["version"]
    put(repository, *twins(version, entry_id="payments", content="Always retry."))

    assert refusal(promote, knowledge=knowledge) == "diverged"


def test_settling_keeps_the_version_that_is_meant_though_other_events_have_its_id(repository, knowledge):
    first, second = [
        crafted(later(number), entry_id="payments", was={"payments": [knowledge.get(id="payments")["version"]]})
        for number in (1, 2)
    ]
    put(repository, first, second, *twins(first["event_id"], entry_id="other", content="Evil."))

    assert knowledge.settle(target="payments", keep=first["event_id"])["action"] == "settled"

    assert knowledge.get(id="payments")["content"] == APPROVED


@pytest.fixture
def diverged(repository: Path, knowledge: Any) -> Callable[..., str]:
    """Makes the rule diverge by a version that came from elsewhere; returns that version."""
    knowledge.add(id=RULE, provenance=[promote(knowledge)])
    was = {RULE: [knowledge.get(id=RULE)["version"]]}

    def diverge(**fields: Any) -> str:
        versions = [
            crafted(later(1), entry_id=RULE, was=was, **fields),
            crafted(later(2), entry_id=RULE, was=was, provenance=[knowledge.get(id=RULE)["provenance"]]),
        ]
        put(repository, *versions)
        return str(versions[0]["event_id"])

    return diverge


def test_a_rule_is_not_settled_on_a_version_whose_promotion_was_revoked(knowledge, diverged):
    revoked = promote(knowledge)
    version = diverged(provenance=[revoked])
    knowledge.revoke_promotion(event=revoked, reason="Wrong")

    assert refusal(knowledge.settle, target=RULE, keep=version) == "promotion-revoked"

    assert knowledge.settle(target=RULE, keep=later(2))["action"] == "settled"


def test_a_rule_is_not_settled_on_a_version_that_nobody_promoted(knowledge, diverged):
    version = diverged(provenance=["cmd:x"])

    assert refusal(knowledge.settle, target=RULE, keep=version) == "needs-promotion"


@pytest.mark.parametrize(
    "other", [{"title": "Always retry"}, {"content": "Always retry."}, {"title": ""}, {"content": ""}]
)
def test_a_rule_is_not_settled_on_a_version_with_another_title_or_text_than_was_approved(knowledge, diverged, other):
    version = diverged(provenance=[promote(knowledge)], **other)

    assert refusal(knowledge.settle, target=RULE, keep=version) == "not-the-approved-text"


def test_a_rule_is_not_settled_on_a_version_that_was_promoted_for_another_rule(knowledge, diverged):
    version = diverged(provenance=[promote(knowledge, target="procedural/other")])

    assert refusal(knowledge.settle, target=RULE, keep=version) == "other-target"


def test_an_import_never_takes_a_rule_of_ours_out_of_use(repository, knowledge):
    promotion = promote(knowledge)
    knowledge.add(id=RULE, provenance=[promotion])
    theirs = {"id": "theirs", "title": "T", "content": "x", "provenance": "cmd:x", "supersedes": [RULE]}
    rule = {"id": RULE, "title": "Payments", "content": APPROVED, "provenance": promotion, "status": "superseded"}
    (repository / "rows.jsonl").write_text(f"{json.dumps(rule)}\n{json.dumps(theirs)}\n")

    knowledge.import_(file="rows.jsonl")

    assert (knowledge.get(id=RULE)["status"], knowledge.get(id="theirs")["supersedes"]) == ("active", [])
