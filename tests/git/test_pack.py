"""Packing joins committed segments; whoever packs what and when, merges stay free of conflicts and lose no event."""

from __future__ import annotations

from typing import Any

import pytest

from decapod_py.foundation.errors import Refused
from decapod_py.storage import segments


def segments_of(tree: Any, titles: list[str]) -> None:
    """One committed segment for each title."""
    for title in titles:
        tree.add(title)
        tree.commit(title)


def events_of(tree: Any) -> int:
    return int(tree.decapod.ledger.verify()["events"])


def test_packing_changes_files_and_nothing_else(trees: Any, ada: Any) -> None:
    segments_of(ada, ["One", "Two", "Three", "Four"])
    before, events = ada.digest(), events_of(ada)

    packed = ada.decapod.ledger.pack()

    assert packed["joined"] == 5 and len(packed["written"]) == 1
    assert (len(ada.segments()), events_of(ada)) == (1, events)
    ada.commit()
    assert trees.agree(ada) == before


def test_a_dry_run_packs_nothing(ada: Any) -> None:
    segments_of(ada, ["One", "Two", "Three"])
    before = ada.segments()

    assert ada.decapod.ledger.pack(dry_run=True)["joined"] == 4
    assert ada.segments() == before


def test_packing_twice_changes_nothing_more(trees: Any, ada: Any) -> None:
    segments_of(ada, ["One", "Two", "Three"])
    ada.decapod.ledger.pack()
    ada.commit()

    assert ada.decapod.ledger.pack()["written"] == []
    trees.agree(ada)


def test_what_is_not_committed_is_not_packed(trees: Any, ada: Any) -> None:
    segments_of(ada, ["One", "Two", "Three"])
    committed = ada.segments()
    ada.add("Not committed")
    open_segment = ada.segments() - committed
    ada.git("add", "-A")
    ada.add("Not even staged")

    ada.decapod.ledger.pack()

    assert open_segment < ada.segments()
    assert ada.titles() == ["Not committed", "Not even staged", "One", "Three", "Two", "What both know"]
    ada.commit()
    trees.agree(ada)


def test_two_clones_that_pack_the_same_segments_write_the_same_file(trees: Any, ada: Any) -> None:
    segments_of(ada, ["One", "Two", "Three"])
    ben = trees.clone(ada, "ben")
    for tree in (ada, ben):
        tree.decapod.ledger.pack()
        tree.commit()
    assert ada.segments() == ben.segments()

    trees.meet(ada, ben)

    assert len(ada.segments()) == 1


def test_two_clones_that_pack_different_segments_do_not_conflict(trees: Any, ada: Any) -> None:
    segments_of(ada, ["One", "Two", "Three"])
    ben = trees.clone(ada, "ben")
    segments_of(ada, ["Ada's"])
    segments_of(ben, ["Ben's first", "Ben's second"])
    for tree in (ada, ben):
        assert tree.decapod.ledger.pack()["joined"]
        tree.commit()

    trees.meet(ada, ben)

    assert events_of(ada) == 7
    assert len(ada.titles()) == 7
    ada.decapod.ledger.pack()
    ada.commit()
    trees.agree(ada, ben)


@pytest.mark.parametrize("lengths", [(10, 4000), (4000, 10), (1500, 1500), (4000, 10, 10), (10, 10, 4000, 10)])
def test_segments_of_any_sizes_packed_in_two_clones_do_not_conflict(
    trees: Any, ada: Any, lengths: tuple[int, ...]
) -> None:
    for number, length in enumerate(lengths):
        ada.add(f"Entry {number}", "\n".join(f"Line {number} {line}" for line in range(length // 10)))
        ada.commit()
    ben = trees.clone(ada, "ben")
    segments_of(ben, ["Ben's"])
    for tree in (ada, ben):
        tree.decapod.ledger.pack()
        tree.commit()

    trees.meet(ada, ben)

    assert len(ada.titles()) == len(lengths) + 2


def test_a_long_text_edited_after_both_clones_packed_does_not_conflict(trees: Any, ada: Any) -> None:
    text = " ".join(f"word{number}" for number in range(600))
    entry = ada.add("Long", text)
    ada.commit()
    ada.knowledge.edit(id=entry, text=f"{text}!")
    ada.commit()
    for number in range(4):
        ada.add(f"Also long {number}", text.replace("word", f"term{number}"))
        ada.commit()
    ben = trees.clone(ada, "ben")
    for tree in (ada, ben):
        assert tree.decapod.ledger.pack()["joined"]
        tree.commit()
    ada.knowledge.edit(id=entry, text=f"{text}!!")
    ada.commit()

    trees.meet(ada, ben)


def test_a_clone_that_packed_merges_one_that_worked_on(trees: Any, ada: Any) -> None:
    segments_of(ada, ["One", "Two", "Three"])
    ben = trees.clone(ada, "ben")
    ada.decapod.ledger.pack()
    ada.commit()
    entry = ben.knowledge.list()["entries"][0]["id"]
    ben.knowledge.edit(id=entry, text="Changed while the other packed.")
    ben.commit()

    trees.meet(ada, ben)

    assert ada.entry(entry)["content"] == "Changed while the other packed."
    assert events_of(ada) == 5


def test_packing_again_after_more_work_keeps_every_event(trees: Any, ada: Any) -> None:
    for round_ in range(3):
        segments_of(ada, [f"{round_} {number}" for number in range(3)])
        ada.decapod.ledger.pack()
        ada.commit()

    trees.agree(ada)

    assert events_of(ada) == 10


def test_a_branch_from_before_the_pack_can_still_be_switched_to_and_merged(trees: Any, ada: Any) -> None:
    segments_of(ada, ["One", "Two", "Three"])
    ada.git("branch", "before")
    ada.decapod.ledger.pack()
    ada.commit()
    packed = trees.agree(ada)
    ada.git("switch", "-q", "before")
    assert trees.agree(ada) == packed
    ada.add("Before the pack")
    before = ada.commit()
    ada.git("switch", "-q", "main")
    served = trees.forge(ada, ada, "main", "before")

    ada.merge(before)

    trees.agree(ada, served)
    assert events_of(ada) == 5


def test_nothing_is_restored_after_a_pack(ada: Any) -> None:
    segments_of(ada, ["One", "Two", "Three"])
    ada.decapod.ledger.pack()

    assert ada.decapod.ledger.restore() == {"dry_run": False, "restored": [], "left": []}


def test_looking_for_swept_segments_reads_each_file_once(ada: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    segments_of(ada, ["One", "Two", "Three", "Four"])
    ada.decapod.ledger.pack()
    read: list[str] = []
    reading = segments.read
    monkeypatch.setattr(segments, "read", lambda place, path: read.append(place + path) or reading(place, path))

    ada.decapod.ledger.restore()

    assert len(read) == len(set(read)) == 6


def test_an_event_after_a_pack_builds_on_what_was_packed(trees: Any, ada: Any) -> None:
    segments_of(ada, ["One", "Two", "Three"])
    ada.decapod.ledger.pack()
    ada.commit()

    ada.add("After the pack")

    assert ada.decapod.status()["heads"] == {"knowledge.events": 1}
    ada.commit()
    trees.agree(ada)


def test_packing_needs_git(tmp_path: Any, trees: Any) -> None:
    plain = trees.top / "plain"
    plain.mkdir()
    from decapod_py.client import Decapod

    with Decapod(plain) as decapod:
        decapod.init()
        with pytest.raises(Refused) as refused:
            decapod.ledger.pack()

    assert refused.value.code == "no-git"
