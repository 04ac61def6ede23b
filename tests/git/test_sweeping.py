"""What git sweeps away comes back with `ledger restore`, and only what no commit has."""

from __future__ import annotations

from typing import Any

NOTHING = {"dry_run": False, "restored": [], "left": []}


def restored(*segments: str) -> dict[str, Any]:
    return {"dry_run": False, "restored": [f".decapod/ledgers/{path}" for path in segments], "left": []}


def left(*segments: str) -> dict[str, Any]:
    return {"dry_run": False, "restored": [], "left": [f".decapod/ledgers/{path}" for path in sorted(segments)]}


def test_a_clean_takes_uncommitted_events_and_restore_brings_back_exactly_those(trees: Any, ada: Any) -> None:
    committed = ada.segments()
    ada.add("Not committed")
    ada.add("Not committed either")
    before, (swept,) = ada.digest(), ada.segments() - committed
    ada.git("clean", "-qfd")
    assert ada.titles() == ["What both know"]

    assert ada.decapod.ledger.restore(dry_run=True) == {**restored(swept), "dry_run": True}
    assert ada.segments() == committed
    assert ada.decapod.ledger.restore() == restored(swept)

    assert ada.digest() == before
    assert ada.decapod.status()["markdown"] == {}
    assert ada.decapod.ledger.restore() == NOTHING
    ada.commit()
    assert trees.agree(ada) == before


def test_a_hard_reset_takes_staged_events_and_restore_brings_them_back(trees: Any, ada: Any) -> None:
    committed = ada.segments()
    ada.add("Staged")
    before, (swept,) = ada.digest(), ada.segments() - committed
    ada.git("add", "-A")
    ada.git("reset", "-q", "--hard")

    assert ada.decapod.ledger.restore() == restored(swept)

    ada.commit()
    assert trees.agree(ada) == before


def test_a_hard_reset_of_a_commit_leaves_events_in_no_ref_and_restore_brings_them_back(trees: Any, ada: Any) -> None:
    committed = ada.segments()
    ada.add("Committed, then dropped")
    (swept,) = ada.segments() - committed
    ada.commit()
    ada.git("reset", "-q", "--hard", "HEAD^")
    assert ada.titles() == ["What both know"]

    assert ada.decapod.ledger.restore() == restored(swept)

    assert ada.titles() == ["Committed, then dropped", "What both know"]
    ada.commit()
    trees.agree(ada)


def test_what_another_branch_or_tag_has_is_left_to_git(trees: Any, ada: Any) -> None:
    committed = ada.segments()
    ada.git("switch", "-q", "-c", "other")
    ada.add("On the branch")
    ada.commit()
    ada.git("switch", "-q", "--detach", "main")
    ada.add("Under a tag")
    ada.commit()
    ada.git("tag", "kept")
    elsewhere = [path for path in ada.segments() if path not in committed]
    ada.git("switch", "-q", "main")
    ada.add("Not committed")
    (swept,) = ada.segments() - committed
    ada.git("clean", "-qfd")

    answer = ada.decapod.ledger.restore()

    assert answer["restored"] == restored(swept)["restored"]
    assert len(answer["left"]) == 2 and set(left(*elsewhere)["left"]) < set(answer["left"])
    assert ada.titles() == ["Not committed", "What both know"]


def test_what_a_stash_has_is_left_to_git(trees: Any, ada: Any) -> None:
    committed = ada.segments()
    stashed = set()
    for title in ("First", "Second"):
        ada.add(title)
        stashed |= ada.segments() - committed
        ada.git("stash", "-q", "-u")
    ada.add("Third")
    stashed |= ada.segments() - committed
    ada.git("add", "-A")
    ada.git("stash", "-q")

    assert ada.decapod.ledger.restore() == left(*stashed)

    ada.git("stash", "drop", "-q", "stash@{1}")
    answer = ada.decapod.ledger.restore()
    assert (len(answer["restored"]), len(answer["left"])) == (1, 2)
    assert ada.titles() == ["Second", "What both know"]


def test_a_restored_segment_never_grows_and_merges_with_its_own_copy(trees: Any, ada: Any) -> None:
    ada.add("Committed, then dropped")
    dropped = ada.commit()
    ada.git("reset", "-q", "--hard", "HEAD^")
    ada.decapod.ledger.restore()
    ada.add("After it came back")
    ada.commit()
    served = trees.forge(ada, ada, "HEAD", dropped)

    ada.merge(dropped)

    trees.agree(ada, served)
    assert ada.titles() == ["After it came back", "Committed, then dropped", "What both know"]


def test_work_after_a_sweep_meets_what_was_restored(trees: Any, ada: Any) -> None:
    entry = ada.add("Swept")
    ada.git("clean", "-qfd")
    ada.add("After the sweep")
    ada.decapod.ledger.restore()

    ada.commit()

    trees.agree(ada)
    assert ada.titles() == ["After the sweep", "Swept", "What both know"]
    assert ada.file(entry).exists()


def test_a_worktree_restores_its_own_events_alone(trees: Any, ada: Any) -> None:
    side = trees.worktree(ada, "side")
    ada.add("In the clone")
    side.add("In the worktree")
    ada.git("clean", "-qfd")
    side.git("clean", "-qfd")

    side.decapod.ledger.restore()

    assert (side.titles(), ada.titles()) == (["In the worktree", "What both know"], ["What both know"])
    ada.decapod.ledger.restore()
    assert ada.titles() == ["In the clone", "What both know"]


def test_switching_with_uncommitted_events_makes_a_gap_that_the_merge_heals(trees: Any, ada: Any) -> None:
    ada.git("branch", "other")
    ada.add("Committed on main")
    ada.commit()
    ada.add("Carried along")
    ada.git("switch", "-q", "other")
    assert ada.titles() == ["Carried along", "What both know"]
    assert (ada.is_sound(), ada.is_sound(allow_gaps=True)) == (False, True)
    ada.commit()

    ada.merge("main")

    trees.agree(ada)
    assert ada.titles() == ["Carried along", "Committed on main", "What both know"]


def test_doctor_names_what_was_swept_and_fixes_it(ada: Any) -> None:
    ada.add("Not committed")
    before = ada.digest()
    ada.git("clean", "-qfd")

    assert "swept" in [found["code"] for found in ada.decapod.doctor()["problems"]]
    assert ada.decapod.doctor(fix=True)["ok"]
    assert ada.digest() == before
