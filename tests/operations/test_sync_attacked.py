"""`decapod sync` and what editors, file managers and tired people do: nothing is lost, or taken for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import git

NOTHING: dict[str, Any] = {"edited": [], "moved": [], "added": [], "deprecated": [], "restored": [], "problems": []}


@pytest.fixture
def vault(opened: Any, repository: Path) -> Path:
    """Two entries, `a` in A.md and `b` in B.md, committed."""
    folder = repository / ".decapod" / "knowledge"
    for name in "ab":
        opened.knowledge.add(id=name, title=name, text=f"Text of {name}.", provenance=["person:ada"])
        page(opened, repository, name).rename(folder / f"{name.upper()}.md")
    opened.sync()
    commit(repository)
    return folder


def page(opened: Any, repository: Path, entry_id: str) -> Path:
    found: Path = repository / opened.knowledge.get(id=entry_id)["path"]
    return found


def commit(repository: Path) -> None:
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "More")


def done(opened: Any, **options: Any) -> dict[str, Any]:
    found = opened.sync(**options)
    return {name: found[name] for name in NOTHING}


def codes(found: dict[str, Any]) -> list[str]:
    return [problem["code"] for problem in found["problems"]]


def state_of(opened: Any, entry_id: str) -> tuple[str, str, str]:
    entry = opened.knowledge.get(id=entry_id)
    return entry["status"], entry["path"].rpartition("/")[2], entry["content"]


def is_settled(opened: Any) -> None:
    assert done(opened) == NOTHING
    assert opened.rebuild(check=True)["problems"] == []


def test_two_files_that_swap_names_keep_their_entries(opened, vault):
    (vault / "A.md").rename(vault / "x")
    (vault / "B.md").rename(vault / "A.md")
    (vault / "x").rename(vault / "B.md")
    with (vault / "B.md").open("a") as file:
        file.write("\nMore.\n")

    assert sorted(move["id"] for move in done(opened)["moved"]) == ["a", "b"]

    assert state_of(opened, "a") == ("active", "B.md", "Text of a.\n\nMore.")
    assert state_of(opened, "b") == ("active", "A.md", "Text of b.")
    is_settled(opened)


def test_two_files_of_ours_that_swap_names_keep_their_entries_in_a_clone_too(opened, repository, tmp_path):
    for name in ("one", "two"):
        opened.knowledge.add(id=name, title=name, text=f"Text of {name}.", provenance=["person:ada"])
    commit(repository)
    one, two = page(opened, repository, "one"), page(opened, repository, "two")
    texts = one.read_text(), two.read_text()
    one.write_text(texts[1])
    two.write_text(texts[0])

    assert sorted(move["id"] for move in done(opened)["moved"]) == ["one", "two"]

    is_settled(opened)
    commit(repository)
    git(tmp_path, "clone", "-q", str(repository), "clone")
    from decapod_py.client import Decapod

    clone = Decapod(str(tmp_path / "clone"))
    assert clone.status()["digest"] == opened.status()["digest"]
    is_settled(clone)
    clone.close()
    assert git(tmp_path / "clone", "status", "--porcelain") == ""


def test_files_that_move_up_one_after_the_other_keep_their_entries(opened, vault):
    (vault / "B.md").rename(vault / "C.md")
    (vault / "A.md").rename(vault / "B.md")

    assert len(done(opened)["moved"]) == 2

    assert (state_of(opened, "a")[1], state_of(opened, "b")[1]) == ("B.md", "C.md")
    is_settled(opened)


def test_a_file_that_was_moved_over_another_is_reported_and_neither_entry_changes(opened, vault):
    (vault / "A.md").rename(vault / "B.md")
    mine = (vault / "B.md").read_text()

    assert {**done(opened), "problems": []} == NOTHING
    assert codes(done(opened)) == ["overwritten"]

    assert (vault / "B.md").read_text() == mine
    assert [state_of(opened, name)[0] for name in "ab"] == ["active", "active"]


def test_a_move_that_waits_for_one_that_is_refused_is_refused_too(opened, vault, repository):
    promotion = opened.knowledge.promote(
        source_entry_id="a", evidence_refs=["cmd:make test"], reason="It held", approved_by="Bea"
    )["event_id"]
    opened.knowledge.add(id="procedural/rule", provenance=[f"event:{promotion}"])
    rule = page(opened, repository, "procedural/rule")
    texts = rule.read_text(), (vault / "A.md").read_text()
    rule.write_text(texts[1])
    (vault / "A.md").write_text(texts[0])

    found = done(opened)

    assert (found["moved"], found["deprecated"]) == ([], [])
    assert "overwritten" in codes(found) and "rule-protected" in codes(found)
    assert (rule.read_text(), (vault / "A.md").read_text()) == texts[::-1]


def test_front_matter_that_was_pasted_into_another_file_is_reported(opened, vault):
    head = (vault / "A.md").read_text().rpartition("\n---\n")[0]
    (vault / "B.md").write_text(mine := f"{head}\n---\n\nNew words.\n")

    assert codes(done(opened)) == ["duplicate-id"]
    assert (vault / "B.md").read_text() == mine
    assert state_of(opened, "b") == ("active", "B.md", "Text of b.")


@pytest.mark.parametrize("name", ["CON.md", "a?b.md", "folder.md/inner.md", "end ./x.md"])
def test_a_file_that_was_moved_where_no_file_may_be_is_reported_and_its_entry_kept(opened, vault, name):
    (vault / name).parent.mkdir(exist_ok=True)
    (vault / "A.md").rename(vault / name)

    assert codes(done(opened)) == ["bad-path"]
    assert codes(done(opened, allow_deletions=True)) == ["bad-path"]
    assert state_of(opened, "a") == ("active", "A.md", "Text of a.")


def test_a_file_in_an_editors_trash_is_removed(opened, vault):
    (vault / ".trash").mkdir()
    (vault / "A.md").rename(vault / ".trash" / "A.md")

    assert done(opened) == {**NOTHING, "deprecated": ["a"]}
    is_settled(opened)


def test_what_editors_leave_behind_is_no_knowledge(opened, vault):
    text = (vault / "A.md").read_text()
    (vault / "A.md").rename(vault / "A.md~")
    for name in ("4913", ".A.md.swp", "#A.md#", ".md", "A.md.bak"):
        (vault / name).write_text("left over")
    (vault / ".#A.md").symlink_to("ada@host.1234")
    (vault / "A.md").write_text(f"{text}\nMore.\n")

    assert done(opened) == {**NOTHING, "edited": ["a"]}
    is_settled(opened)


def test_a_rename_in_case_alone_is_a_move(opened, vault):
    (vault / "A.md").rename(vault / "a.md")

    assert done(opened)["moved"] == [{"id": "a", "path": "a.md", "was": "A.md"}]
    is_settled(opened)


@pytest.mark.parametrize(("name", "twin"), [("Note.md", "note.md"), ("cafe\u0301.md", "caf\u00e9.md")])
def test_of_two_names_that_are_one_on_some_systems_the_second_is_reported(opened, vault, name, twin):
    (vault / name).write_text("One.\n")
    (vault / twin).write_text("Two.\n")

    found = done(opened)

    assert ([added["path"] for added in found["added"]], codes(found)) == ([name], ["same-name"])
    assert (vault / twin).read_text() == "Two.\n"
    (vault / twin).rename(vault / "other.md")
    assert len(done(opened)["added"]) == 1
    is_settled(opened)


def test_a_folder_in_the_place_of_a_file_is_a_removal(opened, vault):
    (vault / "A.md").unlink()
    (vault / "A.md").mkdir()
    (vault / "A.md" / "inner.md").write_text("Inner.\n")

    found = done(opened)

    assert (found["deprecated"], codes(found)) == (["a"], ["bad-path"])
    assert (vault / "A.md" / "inner.md").read_text() == "Inner.\n"


@pytest.mark.parametrize("size", [5_000_000, 20_000_000])
def test_a_file_that_is_too_long_is_reported_as_that(opened, vault, size):
    (vault / "A.md").write_text((vault / "A.md").read_text() + "x" * size)

    assert codes(done(opened)) == ["too-long"]
    assert (vault / "A.md").stat().st_size > size


@pytest.mark.parametrize("damage", [lambda text: b"\xef\xbb\xbf" + text, lambda text: text.replace(b"\n", b"\r\n")])
def test_line_ends_and_a_byte_order_mark_are_no_edit_and_keep_no_edit_out(opened, vault, damage):
    file = vault / "A.md"
    file.write_bytes(damage(file.read_bytes()))
    assert done(opened) == NOTHING

    file.write_bytes(
        damage(file.read_bytes().replace(b"Text of a.", b"Text of a.\nMore.").removeprefix(b"\xef\xbb\xbf"))
    )
    done(opened)

    assert state_of(opened, "a")[2] == "Text of a.\nMore."
    is_settled(opened)


def test_two_new_files_that_ask_for_one_id_or_one_merge_key_are_told_so_before_too(opened, vault):
    for name in "xy":
        (vault / f"{name}.md").write_text(f"---\nid: same\n---\nText of {name}.\n")
        (vault / f"{name}-key.md").write_text(f"---\nmerge_key: same\n---\nKey of {name}.\n")

    assert codes(done(opened, dry_run=True)) == ["id-taken"]
    found = done(opened)

    assert ([added["path"] for added in found["added"]], codes(found)) == (
        ["x-key.md", "x.md"],
        ["id-taken", "key-held"],
    )
    assert (vault / "y.md").read_text() == "---\nid: same\n---\nText of y.\n"


@pytest.mark.parametrize("written", ["true", "[]", "{a: b}", "1.5", "''"])
def test_an_id_that_is_no_word_is_no_id(opened, vault, written):
    (vault / "new.md").write_text(f"---\nid: {written}\n---\nText.\n")

    (added,) = done(opened)["added"]

    assert added["filled"] == ["id", "title", "provenance"]
    is_settled(opened)


def test_what_was_stashed_and_what_is_on_another_branch_comes_and_goes_with_its_events(opened, vault, repository):
    (vault / "A.md").write_text((vault / "A.md").read_text() + "\nBy hand.\n")
    git(repository, "stash", "-q")
    assert done(opened) == NOTHING
    git(repository, "stash", "pop", "-q")
    assert done(opened) == {**NOTHING, "edited": ["a"]}

    git(repository, "stash", "-q", "-u")
    assert done(opened) == NOTHING
    assert state_of(opened, "a")[2] == "Text of a."
    git(repository, "stash", "pop", "-q")
    assert done(opened) == NOTHING
    assert state_of(opened, "a")[2] == "Text of a.\n\nBy hand."
    is_settled(opened)


def test_a_rebase_that_stopped_is_reported_and_taken_in_when_it_is_done(opened, vault, repository):
    git(repository, "switch", "-qc", "theirs")
    (vault / "A.md").write_text((vault / "A.md").read_text().replace("Text of a.", "Theirs."))
    commit(repository)
    git(repository, "switch", "-q", "-")
    (vault / "A.md").write_text((vault / "A.md").read_text().replace("Text of a.", "Ours."))
    commit(repository)
    git(repository, "rebase", "-q", "theirs", check=False)

    assert codes(done(opened)) == ["conflict-markers"]

    (vault / "A.md").write_text(git(repository, "show", "theirs:.decapod/knowledge/A.md").replace("Theirs", "Both"))
    git(repository, "add", "-A")
    git(repository, "-c", "core.editor=true", "rebase", "--continue")
    assert done(opened) == {**NOTHING, "edited": ["a"]}
    assert state_of(opened, "a")[2] == "Both."
    is_settled(opened)


def test_a_copy_of_what_a_sparse_checkout_hides_is_no_move(opened, vault, repository):
    text = (vault / "A.md").read_text()
    git(repository, "sparse-checkout", "set", "--no-cone", "/*", "!/.decapod/knowledge/A.md")
    (vault / "copy.md").write_text(text)

    assert codes(done(opened)) == ["duplicate-id"]
    assert state_of(opened, "a") == ("active", "A.md", "Text of a.")
