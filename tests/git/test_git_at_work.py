"""While git holds its lock nothing of ours moves under it; what its merges leave behind, the fold puts right."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from decapod_py.foundation.clock import DAY
from decapod_py.views import pages


@contextmanager
def git_at_work(tree: Any) -> Iterator[None]:
    """The lock that git holds while it changes its index."""
    lock = Path(tree.git("rev-parse", "--absolute-git-dir").strip()) / "index.lock"
    lock.touch()
    try:
        yield
    finally:
        lock.unlink()


@contextmanager
def half_way_through_git_add(tree: Any) -> Iterator[None]:
    """A real `git add -A` that has read the ledgers and is held up by the clean filter of a later file."""
    read, go = tree.top.parent / "read", tree.top.parent / "go"
    tree.git("config", "filter.slow.clean", f"touch '{read}'; until test -e '{go}'; do sleep 0.01; done; cat")
    (tree.top / ".gitattributes").write_text("zzz.bin filter=slow\n")
    (tree.top / "zzz.bin").write_text("slow\n")
    adding = subprocess.Popen(["git", "add", "-A"], cwd=tree.top)
    try:
        while not read.exists():
            assert adding.poll() is None, "git add never came to the slow file"
            time.sleep(0.005)
        yield
    finally:
        go.touch()
        assert adding.wait() == 0


def test_every_write_while_git_is_at_work_starts_a_segment_of_its_own(ada: Any) -> None:
    ada.add("Before")
    before = {path: (ada.top / ".decapod/ledgers" / path).read_bytes() for path in ada.segments()}

    with git_at_work(ada):
        counts = [len(before)]
        for title in ("First", "Second", "Third"):
            ada.add(title)
            counts.append(len(ada.segments()))
    ada.add("After")
    grown = len(ada.segments())
    ada.add("After that")

    assert counts == [2, 3, 4, 5]
    assert (grown, len(ada.segments())) == (6, 6)
    assert {path: (ada.top / ".decapod/ledgers" / path).read_bytes() for path in before} == before


def test_a_segment_that_git_add_has_read_never_grows_while_it_goes_on(trees: Any, ada: Any) -> None:
    ada.add("Read by git")
    with half_way_through_git_add(ada):
        ada.add("Written meanwhile")
        ada.knowledge.deprecate(id=ada.add("Written meanwhile too"))
    staged = ada.git("diff", "--cached", "--name-only", "--", ".decapod/ledgers").split()
    ada.git("commit", "-qm", "What was read")

    assert len(staged) == 1
    assert ada.git("diff", "--name-only", "--", ".decapod/ledgers") == ""
    ada.add("Written after")
    ada.commit()
    assert ada.git("log", "--diff-filter=M", "--name-only", "--format=", "--", ".decapod/ledgers") == ""
    trees.agree(ada)


def test_a_worktree_minds_the_lock_of_its_own_index_and_no_other(trees: Any, ada: Any) -> None:
    side = trees.worktree(ada, "side")
    for tree in (ada, side):
        tree.add("First")
    before = len(ada.segments()), len(side.segments())

    with git_at_work(side):
        for tree in (ada, side):
            tree.add("Second")

    assert (len(ada.segments()), len(side.segments())) == (before[0], before[1] + 1)


def test_no_markdown_is_written_while_git_is_at_work_and_the_next_command_writes_it(ada: Any, ben: Any) -> None:
    ben.add("From elsewhere")
    ben.commit()
    known = ada.add("Known")
    ada.commit()
    file, text = ada.file(known), ada.file(known).read_bytes()
    files = set(file.parent.iterdir())

    with git_at_work(ada):
        ada.knowledge.edit(id=known, text="Changed meanwhile.")
        (warning,) = ada.decapod.warnings
        added = ada.add("Added meanwhile")
        arrive(ben, ada)
        titles = ada.titles()
        ada.decapod.status()
        meanwhile = set(file.parent.iterdir()), file.read_bytes()

    assert warning == "git is at work here (index.lock); the next command writes the Markdown"
    assert titles == ["Added meanwhile", "From elsewhere", "Known", "What both know"]
    assert meanwhile == (files, text)
    ada.entry(added)  # a question is enough
    assert len(set(file.parent.iterdir()) - files) == 2
    assert file.read_text().endswith("\nChanged meanwhile.\n")
    assert ada.decapod.rebuild(check=True)["ok"]


def test_no_file_of_a_deleted_entry_goes_while_git_is_at_work(ada: Any) -> None:
    file = ada.file(entry := ada.add("To be deleted"))

    with git_at_work(ada):
        ada.knowledge.delete(id=entry)
        ada.titles()
        assert file.exists()
    ada.titles()

    assert not file.exists()


def arrive(source: Any, target: Any) -> None:
    """Segments come as a checkout brings them, before git lets go of its lock."""
    for path in source.segments() - target.segments():
        place = target.top / ".decapod/ledgers" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((source.top / ".decapod/ledgers" / path).read_bytes())


def test_an_edit_by_hand_before_the_note_is_cleared_is_never_taken_for_ours(
    ada: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ada.file(entry := ada.add("Edited by hand"))
    with monkeypatch.context() as between:
        between.setattr(pages, "step", lambda step: step == "markdown-renamed" and edit_by_hand(file))
        ada.knowledge.edit(id=entry, text="First.")
    mine = file.read_bytes()

    ada.knowledge.edit(id=entry, text="Second.")

    assert mine.endswith(b"\nFirst.\nA line of somebody's own.\n")
    assert file.read_bytes() == mine
    assert ada.decapod.status()["markdown"] == {"edited": 1}


def test_an_edit_by_hand_while_many_files_are_synced_is_never_taken_for_ours(
    ada: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": f"n{number}", "title": "T", "content": "First.", "provenance": "cmd:x"} for number in range(9)]
    (ada.top / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    knowledge = ada.top / ".decapod" / "knowledge"
    with monkeypatch.context() as between:
        between.setattr("os.sync", lambda: edit_by_hand(*knowledge.glob("n4-*.md")))
        ada.knowledge.import_(file="rows.jsonl")
    (file,) = knowledge.glob("n4-*.md")
    mine = file.read_bytes()

    ada.knowledge.edit(id="n4", text="Second.")

    assert mine.endswith(b"\nFirst.\nA line of somebody's own.\n")
    assert file.read_bytes() == mine
    assert ada.decapod.status()["markdown"] == {"edited": 1}


def edit_by_hand(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"A line of somebody's own.\n")


def test_decay_on_one_branch_never_undoes_a_deprecation_on_another(trees: Any, ada: Any, ben: Any) -> None:
    entries = [ada.add(title, expires_ts="1d") for title in ("Deprecated before", "Deprecated after")]
    ada.commit()
    ben.merge(ben.fetch(ada))
    ben.clock.now += 2 * DAY
    ben.knowledge.deprecate(id=entries[0])
    ada.clock.now += 3 * DAY
    assert sorted(ada.knowledge.decay()["stale_ids"]) == sorted(entries)
    ben.clock.now += 2 * DAY
    ben.knowledge.deprecate(id=entries[1])
    for tree in (ada, ben):
        tree.commit()

    trees.meet(ada, ben)

    assert [ada.entry(entry)["status"] for entry in entries] == ["deprecated", "deprecated"]


def test_a_key_settled_differently_on_two_branches_ends_with_one_active_holder(trees: Any, ada: Any, ben: Any) -> None:
    holders = []
    for tree in (ada, ben):
        holders.append(tree.add(f"{tree.top.name}'s", merge_key="retries"))
        tree.commit()
    trees.meet(ada, ben)
    ben.clock.now = ada.clock.now + 60_000
    for tree, kept in zip((ada, ben), holders, strict=True):
        tree.knowledge.settle(target="retries", keep=kept)
        tree.commit()

    trees.meet(ada, ben)

    assert [ada.entry(holder)["status"] for holder in holders] == ["superseded", "active"]
    assert ada.decapod.status()["clashes"] == []


@pytest.mark.parametrize("kept", [0, 1])
def test_paragraphs_edited_on_two_branches_and_settled_leave_the_file_that_the_fold_says(
    trees: Any, ada: Any, ben: Any, kept: int
) -> None:
    paragraphs = [f"Paragraph {number}, which is about something." for number in range(5)]
    entry = ada.add("Long", "\n\n".join(paragraphs))
    ada.commit()
    ben.merge(ben.fetch(ada))
    ben.clock.now += 60_000
    for tree, number in ((ada, 0), (ben, 4)):
        tree.knowledge.edit(id=entry, text="\n\n".join(paragraphs).replace(f"Paragraph {number}", tree.top.name))
        tree.commit()
    ada.merge(ada.fetch(ben))
    pieced = ada.file(entry).read_text()
    assert all(part in pieced for part in ("<<<<<<<", "ada, which", "ben, which"))

    ada.knowledge.settle(target=entry, keep=ada.entry(entry)["heads"][kept])
    ada.commit()
    ben.merge(ben.fetch(ada))

    trees.agree(ada, ben)
    for tree in (ada, ben):
        assert "<<<<<<<" not in tree.file(entry).read_text()
        assert tree.file(entry).read_text().endswith(f"\n{tree.entry(entry)['content']}\n")
        assert tree.decapod.status()["markdown"] == {}
        assert tree.decapod.rebuild(check=True)["ok"]


def test_packing_lets_go_of_kept_links_to_committed_segments_of_more_than_thirty_days(ada: Any) -> None:
    old = ada.segments()
    ada.add("Old, and never committed")
    uncommitted = ada.segments() - old
    ada.clock.now += 20 * DAY
    ada.git("commit", "-qm", "A segment ends here", "--allow-empty")
    ada.add("Young")
    young = ada.segments() - old - uncommitted
    ada.git("add", *[f".decapod/ledgers/{path}" for path in young])
    ada.git("commit", "-qm", "Young")
    everything = old | uncommitted | young
    assert kept_links(ada) == everything
    ada.decapod.ledger.pack()
    assert kept_links(ada) == everything
    ada.clock.now += 20 * DAY

    ada.decapod.ledger.pack()

    assert kept_links(ada) == uncommitted | young


def kept_links(tree: Any) -> set[str]:
    top = tree.top / ".decapod" / "local" / "kept"
    return {path.relative_to(top).as_posix() for path in top.rglob("*.jsonl")}
