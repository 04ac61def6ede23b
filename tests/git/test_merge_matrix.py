"""The merge matrix on real git: ledgers never conflict, chains verify, and everybody ends with one digest."""

from __future__ import annotations

from typing import Any

import pytest
from support import run


def test_two_clones_that_merge_each_other_know_the_same(trees: Any, ada: Any, ben: Any) -> None:
    ada.add("Ada's")
    ada.commit()
    ben.add("Ben's")
    ben.commit()

    trees.meet(ada, ben)

    assert ada.titles() == ben.titles() == ["Ada's", "Ben's", "What both know"]


def test_two_clones_stay_in_agreement_over_many_rounds(trees: Any, ada: Any, ben: Any) -> None:
    for number in range(3):
        for tree in (ada, ben):
            tree.add(f"{tree.top.name} {number}")
            tree.commit()
        ours, theirs = ada.fetch(ben), ben.fetch(ada)
        ada.merge(ours)
        ben.merge(theirs)
        assert ada.digest() == ben.digest()

    trees.agree(ada, ben)
    assert len(ada.titles()) == 7


def test_the_heads_two_clones_leave_become_one_with_the_next_write(trees: Any, ada: Any, ben: Any) -> None:
    ada.add("Ada's")
    ada.commit()
    ben.add("Ben's")
    ben.commit()
    trees.meet(ada, ben)

    assert ada.decapod.status()["heads"] == {"knowledge.events": 2}
    ada.add("After both")
    assert ada.decapod.status()["heads"] == {"knowledge.events": 1}


def test_two_branches_of_one_clone_merge_both_ways(trees: Any, ada: Any) -> None:
    ada.git("branch", "other")
    ada.add("On main")
    main = ada.commit()
    ada.git("switch", "-q", "other")
    assert ada.titles() == ["What both know"]
    ada.add("On other")
    other = ada.commit()
    served = trees.forge(ada, ada, "main", "other")

    ada.merge(main)
    merged = trees.agree(ada, served)
    ada.git("switch", "-q", "main")
    ada.merge(other)

    assert trees.agree(ada) == merged
    assert ada.titles() == ["On main", "On other", "What both know"]


def test_an_octopus_merge_takes_all_branches_in(trees: Any, ada: Any) -> None:
    for branch in ("one", "two", "three"):
        ada.git("switch", "-q", "-c", branch, "main")
        ada.add(f"On {branch}")
        ada.commit()
    ada.git("switch", "-q", "main")

    ada.merge("one", "two", "three")

    trees.agree(ada)
    assert ada.titles() == ["On one", "On three", "On two", "What both know"]


def test_two_worktrees_of_one_clone_merge_both_ways(trees: Any, ada: Any) -> None:
    side = trees.worktree(ada, "side")
    side.add("In the worktree")
    ada.add("In the clone")
    assert side.titles() == ["In the worktree", "What both know"]
    side.commit()
    ada.commit()

    trees.meet(ada, side)

    assert ada.titles() == side.titles() == ["In the clone", "In the worktree", "What both know"]


def test_an_add_after_git_add_starts_a_new_segment(trees: Any, ada: Any) -> None:
    ada.add("Before git add")
    before = ada.segments()
    ada.add("Still before")
    assert ada.segments() == before
    ada.git("add", "-A")
    ada.add("After git add")
    assert len(ada.segments() - before) == 1
    ada.git("commit", "-qm", "What was staged")
    ada.commit("The rest")

    trees.agree(ada)


def test_a_branch_that_was_squashed_works_on_and_merges_again(trees: Any, ada: Any) -> None:
    ada.git("switch", "-q", "-c", "branch")
    entry = ada.add("First")
    ada.git("add", "-A")
    ada.add("Second")
    ada.git("commit", "-qm", "What was staged")
    ada.commit("The rest")
    ada.git("switch", "-q", "main")
    ada.git("merge", "-q", "--squash", "branch")
    ada.commit("Squashed")
    squashed = trees.agree(ada)
    ada.git("switch", "-q", "branch")
    assert trees.agree(ada) == squashed

    ada.knowledge.edit(id=entry, text="Changed after the squash.")
    ada.add("Third")
    branch = ada.commit()
    ada.git("switch", "-q", "main")
    ada.add("Meanwhile on main")
    main = ada.commit()
    served = trees.forge(ada, ada, "main", "branch")
    ada.merge(branch)
    merged = trees.agree(ada, served)
    ada.commit("The Markdown that git could not merge, as the fold has it")
    ada.git("switch", "-q", "branch")
    ada.merge(main)

    assert trees.agree(ada) == merged
    assert ada.entry(entry)["content"] == "Changed after the squash."
    assert ada.titles() == ["First", "Meanwhile on main", "Second", "Third", "What both know"]


def test_a_rebased_branch_keeps_its_events_as_they_are(trees: Any, ada: Any) -> None:
    ada.git("switch", "-q", "-c", "branch")
    first = ada.add("First")
    ada.commit()
    ada.knowledge.edit(id=first, text="Changed on the branch.")
    ada.commit()
    unrebased = ada.tip()
    ada.git("switch", "-q", "main")
    ada.add("Meanwhile on main")
    ada.commit()
    served = trees.forge(ada, ada, "main", "branch")
    ada.git("switch", "-q", "branch")

    ada.git("rebase", "-q", "main")
    rebased = trees.agree(ada, served)
    ada.add("After the rebase")
    ada.commit()
    # Somebody still has the branch as it was: the same segments meet themselves.
    served = trees.forge(ada, ada, "branch", unrebased)
    ada.merge(unrebased)

    assert trees.agree(ada, served) != rebased
    assert ada.titles() == ["After the rebase", "First", "Meanwhile on main", "What both know"]


def test_a_branch_cherry_picked_whole_knows_what_the_branch_knows(trees: Any, ada: Any) -> None:
    ada.git("switch", "-q", "-c", "branch")
    for title in ("First", "Second", "Third"):
        ada.add(title)
        ada.commit(title)
    branch = trees.agree(ada)
    ada.git("switch", "-q", "main")

    ada.git("cherry-pick", "main..branch")

    assert trees.agree(ada) == branch
    served = trees.forge(ada, ada, "main", "branch")
    ada.merge("branch")
    assert trees.agree(ada, served) == branch


def test_a_cherry_pick_of_the_tip_alone_is_a_gap_that_the_merge_heals(trees: Any, ada: Any) -> None:
    ada.git("switch", "-q", "-c", "branch")
    for title in ("First", "Second", "Third"):
        ada.add(title)
        ada.commit(title)
    ada.git("switch", "-q", "main")

    ada.git("cherry-pick", "branch")

    assert run(ada.top, "ledger", "verify").returncode == 1
    assert run(ada.top, "ledger", "verify", "--allow-gaps").returncode == 0
    assert [found["code"] for found in ada.decapod.ledger.verify()["problems"]] == ["gap"]
    assert ada.titles() == ["Third", "What both know"]
    ada.add("On top of the gap")
    ada.commit()
    served = trees.forge(ada, ada, "main", "branch")
    ada.merge("branch")
    trees.agree(ada, served)
    assert ada.titles() == ["First", "On top of the gap", "Second", "Third", "What both know"]


def test_a_picked_edit_of_an_entry_that_is_not_here_waits_for_it(trees: Any, ada: Any) -> None:
    ada.git("switch", "-q", "-c", "branch")
    entry = ada.add("First")
    ada.commit()
    ada.knowledge.deprecate(id=entry)
    (ada.top / ada.entry(entry)["path"]).unlink()
    ada.git("add", "--", ".decapod/ledgers")
    ada.git("commit", "-qm", "Only the event")
    ada.git("checkout", "-q", "--", ".")
    ada.git("switch", "-q", "main")

    ada.git("cherry-pick", "branch")

    assert ada.titles() == ["What both know"]
    ada.merge("branch")
    trees.agree(ada)
    assert ada.entry(entry)["status"] == "deprecated"


def test_a_reverted_commit_is_a_gap_until_it_comes_back(trees: Any, ada: Any) -> None:
    ada.add("Reverted")
    reverted = ada.commit()
    ada.add("Built on it")
    ada.commit()
    whole = trees.agree(ada)

    ada.git("revert", "--no-edit", reverted)

    assert (ada.is_sound(), ada.is_sound(allow_gaps=True)) == (False, True)
    assert ada.titles() == ["Built on it", "What both know"]
    ada.git("revert", "--no-edit", "HEAD")
    assert trees.agree(ada) == whole


def test_what_a_stash_takes_away_comes_back_with_pop(trees: Any, ada: Any) -> None:
    entry = ada.add("Stashed")
    before = ada.digest()

    ada.git("stash", "-q", "-u")
    assert ada.titles() == ["What both know"]
    ada.git("stash", "pop", "-q")

    assert ada.digest() == before
    assert ada.file(entry).exists()
    stashed = ada.segments()
    ada.add("After pop")
    assert len(ada.segments() - stashed) == 1
    ada.commit()
    trees.agree(ada)


def test_work_between_stash_and_pop_meets_what_was_stashed(trees: Any, ada: Any) -> None:
    ada.add("Stashed")
    ada.git("stash", "-q", "-u")
    ada.add("In between")
    ada.commit()

    ada.git("stash", "pop", "-q")

    ada.commit()
    trees.agree(ada)
    assert ada.titles() == ["In between", "Stashed", "What both know"]


def test_a_stash_popped_on_another_branch_merges_with_where_it_came_from(trees: Any, ada: Any) -> None:
    ada.add("Stashed")
    ada.git("stash", "-q", "-u")
    ada.git("switch", "-q", "-c", "other")
    ada.git("stash", "apply", "-q")
    other = ada.commit()
    ada.git("switch", "-q", "main")
    ada.git("stash", "pop", "-q")
    ada.add("On main")
    ada.commit()
    served = trees.forge(ada, ada, "main", "other")

    ada.merge(other)

    trees.agree(ada, served)
    assert ada.titles() == ["On main", "Stashed", "What both know"]


def test_an_amended_commit_meets_the_one_it_replaced(trees: Any, ada: Any, ben: Any) -> None:
    ada.add("Before amend")
    ada.commit()
    before = ben.fetch(ada)
    ada.add("Amended in")
    ada.commit("Amended", "--amend")
    ben.merge(before)
    ben.add("On the old commit")
    ben.commit()

    trees.meet(ada, ben)

    assert ada.titles() == ["Amended in", "Before amend", "On the old commit", "What both know"]


def test_one_title_on_two_branches_is_two_entries_in_two_files(trees: Any, ada: Any, ben: Any) -> None:
    files = []
    for tree in (ada, ben):
        entry = tree.add("Retries stop at 3", f"As {tree.top.name} says.")
        files.append(tree.entry(entry)["path"])
        tree.commit()

    trees.meet(ada, ben)

    assert len(set(files)) == 2
    for tree in (ada, ben):
        assert [(tree.top / file).exists() for file in files] == [True, True]
        assert tree.decapod.status()["markdown"] == {}


def test_an_entry_edited_on_both_sides_keeps_both_until_it_is_settled(trees: Any, ada: Any, ben: Any) -> None:
    entry = ada.add("Edited", "The first text.")
    ada.commit()
    ben.merge(ben.fetch(ada))
    for tree in (ada, ben):
        tree.knowledge.edit(id=entry, text=f"The text of {tree.top.name}.")
        tree.commit()
    served = trees.forge(ada, ben)

    assert ada.merge(ada.fetch(ben)) == [ada.entry(entry)["path"]]
    ben.merge(ben.fetch(ada))

    trees.agree(ada, ben, served)
    shown = ada.entry(entry)
    assert shown["diverged"] and len(shown["heads"]) == 2
    assert ada.decapod.status()["diverged"] == [entry]
    assert "<<<<<<<" in ada.file(entry).read_text()
    assert {"The text of ada.", "The text of ben.", "The first text."} == texts_in_history(ada, entry)

    # Settled on one side, for everybody.
    ours = next(event for event in ada.knowledge.history(id=entry)["events"] if event["content"] == "The text of ada.")
    ada.knowledge.settle(target=entry, keep=ours["event_id"])
    ada.commit()
    ben.merge(ben.fetch(ada))
    trees.agree(ada, ben)
    for tree in (ada, ben):
        settled = tree.entry(entry)
        assert (settled["content"], settled["diverged"]) == ("The text of ada.", False)
        assert "<<<<<<<" not in tree.file(entry).read_text()
        assert tree.file(entry).read_text().endswith("\nThe text of ada.\n")
        assert {"The text of ada.", "The text of ben.", "The first text."} == texts_in_history(tree, entry)
        assert tree.decapod.status()["markdown"] == {}


def test_conflict_markers_within_conflict_markers_are_reported_and_left_until_the_file_is_removed(
    trees: Any, ada: Any, ben: Any
) -> None:
    entry = ada.add("Edited", "The first text.")
    ada.commit()
    ben.merge(ben.fetch(ada))
    for tree in (ada, ben):
        tree.knowledge.edit(id=entry, text=f"The text of {tree.top.name}.")
        tree.commit()
    trees.meet(ada, ben)  # both commit the markers as they are
    ada.knowledge.settle(target=entry, keep=ada.entry(entry)["version"])
    ada.commit()
    ben.merge(ben.fetch(ada))

    assert ben.decapod.status()["markdown"] == {"conflicted": 1}
    assert ben.file(entry).read_text().count("<<<<<<<") == 2
    ben.file(entry).unlink()
    ben.decapod.rebuild()
    ben.commit()
    assert ben.decapod.status()["markdown"] == {}
    assert ben.file(entry).read_bytes() == ada.file(entry).read_bytes()
    trees.agree(ada, ben)


def test_an_entry_settled_differently_on_both_sides_is_diverged_again(trees: Any, ada: Any, ben: Any) -> None:
    entry = ada.add("Edited", "The first text.")
    ada.commit()
    ben.merge(ben.fetch(ada))
    for tree in (ada, ben):
        tree.knowledge.edit(id=entry, text=f"The text of {tree.top.name}.")
        tree.commit()
    trees.meet(ada, ben)
    heads = ada.entry(entry)["heads"]
    for tree, keep in ((ada, heads[0]), (ben, heads[1])):
        tree.knowledge.settle(target=entry, keep=keep)
        tree.commit()

    trees.meet(ada, ben)

    assert ada.entry(entry)["diverged"]
    ben.knowledge.settle(target=entry, keep=ben.entry(entry)["heads"][0])
    ben.commit()
    ada.merge(ada.fetch(ben))
    trees.agree(ada, ben)
    assert not ada.entry(entry)["diverged"]


def test_an_edit_of_a_diverged_entry_is_refused_until_it_is_settled(trees: Any, ada: Any, ben: Any) -> None:
    from decapod_py.foundation.errors import Refused

    entry = ada.add("Edited", "The first text.")
    ada.commit()
    ben.merge(ben.fetch(ada))
    for tree in (ada, ben):
        tree.knowledge.edit(id=entry, title=f"Title of {tree.top.name}")
        tree.commit()
    before = trees.meet(ada, ben)

    with pytest.raises(Refused) as refused:
        ada.knowledge.edit(id=entry, text="One more.")

    assert (refused.value.code, ada.digest()) == ("diverged", before)


def test_one_id_given_on_two_branches_is_one_diverged_entry(trees: Any, ada: Any, ben: Any) -> None:
    for tree in (ada, ben):
        tree.add(f"Retries by {tree.top.name}", id="ops/retries")
        tree.commit()

    served = trees.forge(ada, ben)
    ada.merge(ada.fetch(ben))
    ben.merge(ben.fetch(ada))
    trees.agree(ada, ben, served)

    assert ada.decapod.status()["diverged"] == ["ops/retries"]
    assert {"Retries by ada, at length.", "Retries by ben, at length."} == texts_in_history(ada, "ops/retries")
    ada.knowledge.settle(target="ops/retries", keep=ada.entry("ops/retries")["heads"][0])
    ada.commit()
    ben.merge(ben.fetch(ada))
    trees.agree(ada, ben)
    assert "<<<<<<<" not in ben.file("ops/retries").read_text()


def test_a_merge_key_taken_on_two_branches_is_a_clash_that_settle_ends(trees: Any, ada: Any, ben: Any) -> None:
    kept = ada.add("Ada's", merge_key="retries")
    ada.commit()
    gone = ben.add("Ben's", merge_key="retries")
    ben.commit()

    trees.meet(ada, ben)

    assert len(ada.decapod.status()["clashes"]) == 1
    ada.knowledge.settle(target="retries", keep=kept)
    ada.commit()
    ben.merge(ben.fetch(ada))
    trees.agree(ada, ben)
    assert ben.decapod.status()["clashes"] == []
    assert (ben.entry(kept)["status"], ben.entry(gone)["status"]) == ("active", "superseded")


def test_an_add_to_a_clashing_merge_key_acts_on_all_its_holders(trees: Any, ada: Any, ben: Any) -> None:
    holders = []
    for tree in (ada, ben):
        holders.append(tree.add(f"{tree.top.name}'s", merge_key="retries"))
        tree.commit()
    trees.meet(ada, ben)

    added = ben.knowledge.add(title="Both", text="Now one.", provenance=["person:Ann"], merge_key="retries")

    assert (added["id"], added["superseded_ids"]) == (min(holders), [max(holders)])
    ben.commit()
    ada.merge(ada.fetch(ben))
    trees.agree(ada, ben)
    assert ada.decapod.status()["clashes"] == []


def test_a_clash_settled_differently_on_both_sides_folds_to_one_state(trees: Any, ada: Any, ben: Any) -> None:
    holders = []
    for tree in (ada, ben):
        holders.append(tree.add(f"{tree.top.name}'s", merge_key="retries"))
        tree.commit()
    trees.meet(ada, ben)
    for tree, kept in zip((ada, ben), holders, strict=True):
        tree.knowledge.settle(target="retries", keep=kept)
        tree.commit()

    trees.meet(ada, ben)

    assert ada.decapod.status()["clashes"] == []
    for holder in holders:
        assert "entry.settled" in [event["type"] for event in ada.knowledge.history(id=holder)["events"]]


def test_a_clone_that_turns_line_ends_keeps_its_ledgers(trees: Any, ada: Any) -> None:
    entry = ada.add("Two lines", "One.\n\nTwo.\n")
    ada.commit()
    windows = trees.clone(ada, "windows", "--config", "core.autocrlf=true")
    assert b"\r\n" in (windows.top / "src" / "a.py").read_bytes()
    assert windows.digest() == ada.digest()
    windows.knowledge.edit(id=entry, text="One.\r\n\r\nTwo, from Windows.\r\n")
    windows.add("From Windows")
    windows.commit()
    ada.add("Ada's")
    ada.commit()

    trees.meet(ada, windows)

    assert ada.entry(entry)["content"] == "One.\n\nTwo, from Windows."
    for path in (windows.top / ".decapod").rglob("*"):
        if path.is_file() and "local" not in path.parts:
            assert b"\r" not in path.read_bytes(), path
    assert windows.decapod.status()["markdown"] == {}


@pytest.mark.parametrize("later", ["ada", "ben"])
def test_a_deleted_entry_stays_deleted_when_an_edit_of_it_arrives(trees: Any, ada: Any, ben: Any, later: str) -> None:
    entry = ada.add("Deleted here, edited there")
    ada.commit()
    ben.merge(ben.fetch(ada))
    path = ada.file(entry)
    (ada if later == "ada" else ben).clock.now += 86_400_000
    ada.knowledge.delete(id=entry)
    ada.commit()
    ben.knowledge.edit(id=entry, text="Edited after it was deleted.")
    ben.knowledge.deprecate(id=entry)
    ben.knowledge.revive(id=entry)
    ben.commit()

    trees.meet(ada, ben)

    for tree in (ada, ben):
        assert tree.titles() == ["What both know"]
        assert tree.entry(entry)["status"] == "deleted"
        assert not (tree.top / path.relative_to(ada.top)).exists()
        assert "Edited after it was deleted." in texts_in_history(tree, entry)
        assert tree.knowledge.search(query="edited deleted", status="any")["results"] == []


def test_a_deleted_file_is_never_taken_for_a_segment_that_holds_its_text(trees: Any, ada: Any, ben: Any) -> None:
    text = " ".join(f"word{number}" for number in range(600))
    entry = ada.add("Long", text)
    ada.commit()
    before = ada.segments()
    ada.knowledge.edit(id=entry, text=f"{text}.")
    ada.commit()
    ben.merge(ben.fetch(ada))
    (segment,) = ada.segments() - before
    offset = (ada.top / ".decapod" / "ledgers" / segment).read_text().index("word0")
    # git compares pieces of 64 bytes: the text now begins with a piece in the ledger, as it does in the Markdown.
    ada.knowledge.edit(id=entry, text=f"{text}!", claim_id="c" * (2 + -offset % 64))
    ada.commit()
    ada.knowledge.delete(id=entry)
    ada.commit()
    ben.knowledge.edit(id=entry, text=f"{text}?")
    ben.commit()

    trees.meet(ada, ben)


def test_status_changes_of_both_sides_fold_in_one_order(trees: Any, ada: Any, ben: Any) -> None:
    entry = ada.add("Argued about")
    ada.commit()
    ben.merge(ben.fetch(ada))
    ben.clock.now += 60_000
    ada.knowledge.deprecate(id=entry)
    ada.commit()
    ben.knowledge.deprecate(id=entry)
    ben.knowledge.revive(id=entry)
    ben.commit()

    trees.meet(ada, ben)

    assert ada.entry(entry)["status"] == "active"


def test_decay_on_one_side_does_not_bite_what_the_other_side_prolonged(trees: Any, ada: Any, ben: Any) -> None:
    prolonged = ada.add("Prolonged", expires_ts="1d")
    expired = ada.add("Expired", expires_ts="1d")
    ada.commit()
    ben.merge(ben.fetch(ada))
    ben.knowledge.edit(id=prolonged, expires_ts="300d")
    ben.commit()
    ada.clock.now += 5 * 86_400_000
    assert sorted(ada.knowledge.decay()["stale_ids"]) == sorted([prolonged, expired])
    ada.commit()

    trees.meet(ada, ben)

    assert (ada.entry(prolonged)["status"], ada.entry(expired)["status"]) == ("active", "stale")


def test_decay_on_both_sides_touches_no_markdown(trees: Any, ada: Any, ben: Any) -> None:
    entry = ada.add("Short-lived", expires_ts="1d")
    ada.commit()
    ben.merge(ben.fetch(ada))
    for tree in (ada, ben):
        tree.clock.now += 5 * 86_400_000
        tree.knowledge.decay()
        assert "knowledge/" not in tree.git("status", "--porcelain", "--", ".decapod/knowledge")
        tree.commit()

    trees.meet(ada, ben)

    assert ada.entry(entry)["status"] == "stale"


def test_promotions_and_feedback_of_both_sides_add_up(trees: Any, ada: Any, ben: Any) -> None:
    source = ada.add("Worth a rule")
    proposal = ada.knowledge.promote(source_entry_id=source, evidence_refs=["person:Ann"], reason="It held")
    ada.commit()
    ben.merge(ben.fetch(ada))
    for tree in (ada, ben):
        tree.knowledge.retrieval_log(query="rule", returned_ids=[source], used_ids=[source], outcome="helped")
    ben.knowledge.approve(event=proposal["event_id"])
    ben.commit()
    ada.knowledge.promote(source_entry_id=source, evidence_refs=["person:Bea"], reason="It held twice")
    ada.commit()

    trees.meet(ada, ben)

    assert ada.entry(source)["feedback"] == {"helped": 2, "neutral": 0, "hurt": 0, "unknown": 0}
    assert ada.decapod.status()["proposals"] == 1


def test_a_shallow_clone_knows_what_its_origin_knows(trees: Any, ada: Any) -> None:
    ada.add("Later")
    ada.commit()

    shallow = trees.clone(ada, "shallow", "--depth=1", "--no-local")

    assert shallow.digest() == ada.digest()
    assert shallow.is_sound()


def texts_in_history(tree: Any, entry_id: str) -> set[str]:
    return {event["content"] for event in tree.knowledge.history(id=entry_id)["events"] if event["content"]}
