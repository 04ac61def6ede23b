"""Who approved a rule: what git shows for the commit that brought the approval, not what a ledger says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support import git
from validating import Reviewed, cloned, made

BEA = "Bea <bea@example.com>"
EVE = "Eve <eve@example.com>"


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda handle: None)


@pytest.fixture
def tree(tmp_path: Path) -> Reviewed:
    """A repository in which only Bea may approve; it is Ada who works in it."""
    tree = made(tmp_path / "tree")
    tree.configure("[promotion]\napprovers = ['BEA@example.com', 'Cleo']")
    tree.add("payments")
    tree.commit()
    return tree


def codes(tree: Reviewed, **options: str | bool) -> list[str]:
    return [code for _, code in tree.found(gates=["promotions"], **options)]


@pytest.mark.parametrize("author", [BEA, "Cleo <other@example.com>", "bea <BEA@EXAMPLE.COM>"])
def test_a_rule_whose_approval_an_approver_committed_passes(tree, author):
    tree.rule(tree.promote())
    tree.commit(author=author)
    assert codes(tree) == []
    assert codes(cloned(tree)) == []


def test_a_name_in_the_ledger_is_not_enough(tree):
    tree.rule(tree.promote(approved_by="Bea"))
    assert codes(tree) == ["approval-uncommitted"]
    tree.commit(author=EVE)
    (finding,) = tree.validate(gates=["promotions"])["findings"]
    assert finding["code"] == "approver-unknown"
    assert "brought by Eve <eve@example.com>" in finding["message"]


def test_without_approvers_in_the_policy_no_author_is_asked_for(tree):
    tree.configure("")
    tree.rule(tree.promote())
    assert codes(tree) == []


def test_an_approval_of_its_own_counts_by_the_commit_that_brought_it(tree):
    promotion = tree.promote(approved_by=None)
    tree.commit(author=EVE)
    tree.knowledge.approve(event=promotion, actor="Bea")
    tree.rule(promotion)
    tree.commit(author=BEA)
    assert codes(tree) == []


def test_a_promotion_that_somebody_forged_with_hashes_that_match_fails(tree):
    """As good as the program's own events, but for the commit."""
    tree.branch()
    source = tree.decapod.ledger.show(ledger="knowledge.events")["events"][-1]
    fields = {
        "ledger": "knowledge.promotions",
        "source_entry_id": "payments",
        "source_version": source["event_id"],
        "source_hash": source["hash"],
        "target_class": "procedural",
        "evidence_refs": ["cmd:make test"],
        "approved_by": "Bea",
    }
    forged = tree.crafted("promotion.recorded", {"reason": "Trust me"}, **fields)
    tree.put(forged, ledger="knowledge.promotions")
    tree.rule(forged["event_id"])
    tree.commit(author=EVE)
    assert codes(tree) == ["approver-unknown"]
    assert codes(tree, base="main") == ["approver-unknown"]


def test_a_branch_cannot_appoint_its_own_approvers(tree):
    tree.branch()
    tree.configure("[promotion]\napprovers = ['eve@example.com']\nself_approval = true")
    tree.rule(tree.promote())
    tree.commit(author=EVE)
    assert codes(tree) == []
    assert codes(tree, base="main") == ["approver-unknown"]


def test_an_approver_who_proposed_it_did_not_approve_it(tree):
    tree.rule(tree.promote(actor="Bea", approved_by="Somebody"))
    tree.commit(author=BEA)
    assert codes(tree) == ["self-approval"]
    tree.configure("[promotion]\napprovers = ['bea@example.com']\nself_approval = true")
    assert codes(tree) == []


def test_packing_merging_and_reverting_bring_nothing(tree):
    tree.branch()
    tree.rule(tree.promote())
    tree.commit(author=EVE)
    tree.git("checkout", "-q", "main")
    tree.add("meanwhile")
    tree.commit()
    git(tree.top, "-c", "user.name=Bea", "-c", "user.email=bea@example.com", "merge", "-q", "--no-ff", "work")
    assert tree.git("log", "-1", "--format=%an").strip() == "Bea"
    assert codes(tree) == ["approver-unknown"]
    segment = tree.segments("knowledge.promotions")[0]
    tree.git("mv", str(segment), str(segment.with_name("01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl")))
    tree.commit("Pack", author=BEA)
    assert codes(tree) == ["approver-unknown"]


def test_what_a_merge_itself_put_there_was_brought_by_the_one_who_merged(tree):
    tree.branch()
    tree.add("mine")
    tree.commit()
    tree.git("checkout", "-q", "main")
    tree.add("meanwhile")
    tree.commit()
    tree.git("merge", "-q", "--no-ff", "--no-commit", "work")
    tree.rule(tree.promote())
    tree.commit("Merge", author=BEA)
    assert len(tree.git("log", "-1", "--format=%P").split()) == 2
    assert codes(tree) == []


def test_a_squash_is_brought_by_its_author(tree):
    tree.branch()
    tree.rule(tree.promote())
    tree.commit(author=BEA)
    tree.git("checkout", "-q", "main")
    tree.git("merge", "-q", "--squash", "work")
    tree.commit("Squash", author=EVE)
    assert codes(tree) == ["approver-unknown"]
    tree.git("commit", "-q", "--amend", "--no-edit", f"--author={BEA}")
    assert codes(tree) == []


def test_settings_and_mail_maps_do_not_change_who_brought_it(tree):
    tree.rule(tree.promote())
    tree.write(".mailmap", f"{BEA} {EVE}\n")
    tree.commit(author=EVE)
    for setting in ("log.mailmap=true", "log.showSignature=true", "log.showRoot=false", "color.ui=always"):
        tree.git("config", *setting.split("="))
    assert codes(tree) == ["approver-unknown"]


def test_the_very_first_commit_may_bring_it(tmp_path):
    tree = Reviewed(tmp_path / "tree")
    tree.top.mkdir()
    tree.git("init", "-q")
    tree.decapod.init()
    tree.configure("[promotion]\napprovers = ['Bea']")
    tree.rule(tree.promote())
    tree.commit(author=BEA)
    tree.git("config", "log.showRoot", "false")
    assert codes(tree) == []


def test_a_shallow_clone_does_not_take_its_edge_for_the_one_who_brought_it(tree, tmp_path):
    tree.rule(tree.promote())
    tree.commit(author=EVE)
    tree.write("src/client.py", "pass\n")
    tree.commit("Later", author=BEA)
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{tree.top}", "shallow")
    shallow = Reviewed(tmp_path / "shallow", tree.clock)
    (finding,) = shallow.validate(gates=["promotions"])["findings"]
    assert (finding["code"], "fetch-depth: 0" in finding["fix"]) == ("approval-unseen", True)
    shallow.git("fetch", "-q", "--unshallow")
    assert codes(shallow) == ["approver-unknown"]


def test_of_what_is_staged_the_one_who_commits_brings_it(tree, monkeypatch):
    tree.rule(tree.promote())
    tree.git("add", "-A")
    assert codes(tree, staged=True) == ["approver-unknown"]
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Bea")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "bea@example.com")
    assert codes(tree, staged=True) == []


def test_a_hundred_rules_cost_no_more_questions_to_git_than_one(tree, monkeypatch):
    from decapod_py.storage import git as door

    for number in range(20):
        tree.add(f"source-{number}")
        tree.rule(tree.promote(f"source-{number}"), f"procedural/{number}")
    tree.commit(author=BEA)
    asked = []
    ask = door.ask
    monkeypatch.setattr(door, "ask", lambda *arguments, **more: asked.append(arguments) or ask(*arguments, **more))
    assert codes(tree) == []
    assert len(asked) <= 2


# Signatures


def signed_by(tree: Reviewed, home: Path, principal: str) -> None:
    """Commits are signed by a key from now on, and git knows whose it is."""
    home.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / "key")], check=True)
    kind, key = (home / "key.pub").read_text().split()[:2]
    (home / "signers").write_text(f"{principal} {kind} {key}\n")
    for name, value in (
        ("gpg.format", "ssh"),
        ("user.signingKey", str(home / "key")),
        ("gpg.ssh.allowedSignersFile", str(home / "signers")),
        ("commit.gpgSign", "true"),
    ):
        tree.git("config", name, value)


@pytest.fixture
def signing() -> None:
    if not shutil.which("ssh-keygen"):
        pytest.skip("no ssh-keygen")


@pytest.mark.usefixtures("signing")
def test_the_signature_of_an_approver_is_enough_whoever_is_the_author(tree, tmp_path):
    signed_by(tree, tmp_path / "keys", "bea@example.com")
    tree.rule(tree.promote())
    tree.commit(author=EVE)
    assert tree.git("log", "-1", "--format=%G?%GS").strip() == "Gbea@example.com"
    assert codes(tree) == []


@pytest.mark.usefixtures("signing")
def test_a_signature_of_somebody_else_or_by_an_unknown_key_is_not_enough(tree, tmp_path):
    signed_by(tree, tmp_path / "keys", "eve@example.com")
    tree.rule(tree.promote())
    tree.commit(author=EVE)
    assert codes(tree) == ["approver-unknown"]
    (tmp_path / "keys" / "signers").write_text("")
    assert tree.git("log", "-1", "--format=%G?").strip() == "U"
    assert codes(tree) == ["approver-unknown"]


@pytest.mark.usefixtures("signing")
def test_an_approver_who_signs_what_another_proposed_approves_it(tree, tmp_path):
    signed_by(tree, tmp_path / "keys", "bea@example.com")
    tree.rule(tree.promote(actor="Eve"))
    tree.commit(author=EVE)
    assert codes(tree) == []
