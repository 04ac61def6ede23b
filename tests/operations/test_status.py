"""`decapod status`: counts, open questions and the digest."""

from __future__ import annotations

import shutil
from pathlib import Path

import decapod_py
from decapod_py.client import Decapod


def test_an_empty_workspace_has_the_digest_of_nothing(opened, repository):
    assert opened.status() == {
        "root": str(repository),
        "version": decapod_py.__version__,
        "digest": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "entries": {},
        "events": 0,
        "segments": 0,
        "heads": {},
        "diverged": [],
        "clashes": [],
        "proposals": 0,
        "expired": 0,
        "tasks": {},
        "claims": 0,
        "markdown": {},
        "problems": [],
    }


def test_status_counts_what_there_is(opened, knowledge, clock, repository):
    for entry_id in ("a", "b", "c"):
        knowledge.add(id=entry_id, title=entry_id, text=entry_id, provenance=["cmd:x"])
    knowledge.add(id="d", title="d", text="d", provenance=["cmd:x"], ttl_policy="ephemeral")
    knowledge.deprecate(id="b")
    knowledge.delete(id="c")
    knowledge.promote(source_entry_id="a", evidence_refs=["cmd:x"], reason="r")
    knowledge.retrieval_log(query="q", returned_ids=["a"], outcome="helped")
    clock.forward(days=2)

    status = opened.status()

    assert {**status, "digest": "", "root": "", "version": ""} == {
        "root": "",
        "version": "",
        "digest": "",
        "entries": {"active": 2, "deleted": 1, "deprecated": 1},
        "events": 8,
        "segments": 3,
        "heads": {"knowledge.events": 1, "knowledge.promotions": 1, "knowledge.retrieval": 1},
        "diverged": [],
        "clashes": [],
        "proposals": 1,
        "expired": 1,
        "tasks": {},
        "claims": 0,
        "markdown": {},
        "problems": [],
    }


def test_equal_ledgers_have_equal_digests_wherever_they_are(opened, knowledge, repository, tmp_path: Path, clock):
    knowledge.add(id="a", title="T", text="x", provenance=["cmd:x"])
    knowledge.edit(id="a", text="y")
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, ignore=shutil.ignore_patterns("local", ".git"))

    with Decapod(str(copy), clock=clock) as other:
        assert other.status()["digest"] == opened.status()["digest"]
        other.knowledge.edit(id="a", text="z")
        assert other.status()["digest"] != opened.status()["digest"]


def test_a_worktree_and_a_clone_know_what_was_committed(opened, knowledge, repository, tmp_path, clock):
    from support import git

    knowledge.add(id="a", title="T", text="x", provenance=["cmd:x"])
    digest = opened.status()["digest"]
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Knowledge")
    git(repository, "worktree", "add", "-q", str(tmp_path / "worktree"))
    git(tmp_path, "clone", "-q", str(repository), "clone")

    for place in ("worktree", "clone"):
        with Decapod(str(tmp_path / place), clock=clock) as other:
            assert (other.status()["digest"], other.knowledge.get(id="a")["content"]) == (digest, "x")


def test_a_rule_whose_promotion_was_revoked_is_reported(opened, knowledge):
    knowledge.add(id="a", title="Never retry", text="Never retry a payment.", provenance=["cmd:x"])
    promotion = knowledge.promote(source_entry_id="a", evidence_refs=["cmd:x"], reason="r", approved_by="Grace")
    knowledge.add(id="procedural/retry", provenance=[f"event:{promotion['event_id']}"])
    assert opened.status()["problems"] == []

    knowledge.revoke_promotion(event=promotion["event_id"], reason="It was wrong")
    assert [(found["code"], found["place"]) for found in opened.status()["problems"]] == [
        ("rule-unpromoted", "procedural/retry")
    ]
    knowledge.deprecate(id="procedural/retry")
    assert opened.status()["problems"] == []
