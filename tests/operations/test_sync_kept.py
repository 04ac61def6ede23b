"""`decapod sync` loses nothing: what new files say, front matter of one's own, files that come back."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support import git

ADDED = "550e8400-e29b-41d4-a716-446655440001"


@pytest.fixture
def folder(opened: Any, repository: Path) -> Path:
    """Two entries, `a` in a.md and `b` in b.md, committed."""
    found = repository / ".decapod" / "knowledge"
    for name in "ab":
        (found / f"{name}.md").write_text(f"---\nid: {name}\nprovenance: person:ada\n---\nText of {name}.\n")
    opened.sync()
    commit(repository)
    return found


def commit(repository: Path) -> None:
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "More")


def write(file: Path, header: str) -> Path:
    file.write_text(f"---\n{header}\n---\nBody.\n")
    return file


def fields(file: Path) -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = yaml.safe_load(file.read_text().split("---\n")[1])
    return found


def is_settled(opened: Any) -> None:
    found = opened.sync()
    assert found["ok"]
    assert not any(found[name] for name in ("edited", "moved", "added", "deprecated", "revived", "restored"))
    assert opened.rebuild(check=True)["problems"] == []


def test_a_new_file_keeps_when_it_was_made_its_status_and_what_it_replaces(opened: Any, folder: Path) -> None:
    header = f"id: {ADDED}\ncreated_at: 2025-02-01T00:00:00Z\nstatus: deprecated\nsupersedes: a"
    file = write(folder / "n.md", header)

    assert opened.sync()["restored"] == []

    entry = opened.knowledge.get(id=ADDED)
    assert (entry["status"], entry["created_at"]) == ("deprecated", "2025-02-01T00:00:00.000Z")
    assert fields(file)["supersedes"] == ["a"]
    assert opened.knowledge.get(id="a")["status"] == "superseded"
    is_settled(opened)


def test_what_a_new_file_says_and_the_ledger_cannot_is_told_and_kept_beside(opened: Any, folder: Path) -> None:
    header = (
        "author: agent-zero\ncontributors: [x, y]\nsupersedes: OLD\nstatus: archived\ncreated_at: long ago\nmood: good"
    )
    file = write(folder / "n.md", f"id: {ADDED}\n{header}\nupdated_at: 2025-03-01T00:00:00Z")

    left_out = ["status", "author", "contributors", "created_at", "updated_at", "supersedes"]
    assert opened.sync()["restored"] == [{"id": ADDED, "path": "n.md", "fields": left_out}]

    found = fields(file)
    assert {name: value for name, value in found.items() if name.startswith("original_") or name == "mood"} == {
        "mood": "good",
        "original_author": "agent-zero",
        "original_contributors": ["x", "y"],
        "original_supersedes": "OLD",
        "original_status": "archived",
        "original_created_at": "long ago",
        "original_updated_at": "2025-03-01T00:00:00Z",
    }
    assert found["status"] == "active"
    is_settled(opened)


def test_an_author_who_records_a_file_is_its_author(opened: Any, folder: Path) -> None:
    write(folder / "n.md", f"id: {ADDED}\nauthor: zoe")

    assert opened.sync(actor="zoe")["restored"] == []
    assert opened.knowledge.get(id=ADDED)["author"] == "zoe"


def test_new_files_replace_each_other_and_never_a_rule(opened: Any, folder: Path) -> None:
    write(folder / "old.md", "id: old\nstatus: superseded")
    new = write(folder / "new.md", "id: new\nsupersedes: [old, procedural/x]")

    assert [one["fields"] for one in opened.sync()["restored"]] == [["supersedes"]]
    assert fields(new)["supersedes"] == ["old"]
    assert fields(new)["original_supersedes"] == ["old", "procedural/x"]
    assert opened.knowledge.get(id="old")["status"] == "superseded"
    is_settled(opened)


def test_an_old_file_may_have_the_merge_key_of_the_one_in_use(opened: Any, folder: Path) -> None:
    write(folder / "old.md", "id: old\nstatus: deprecated\nmerge_key: k")
    write(folder / "new.md", "id: new\nmerge_key: k")

    assert opened.sync()["problems"] == []


@pytest.mark.parametrize(
    ("header", "own"),
    [
        ('{"title":"J","cssclasses":["w"],"tags":["m"]}', {"cssclasses": ["w"]}),
        ("meta: {a: 1,\ntitle: h, b: 2}", {"meta": {"a": 1, "title": "h", "b": 2}}),
        ("  title: J\n  meta:\n    - a", {"meta": ["a"]}),
    ],
)
def test_keys_of_ones_own_survive_however_they_are_written(opened: Any, folder: Path, header: str, own: Any) -> None:
    file = write(folder / "j.md", header)

    assert opened.sync()["problems"] == []

    assert own.items() <= fields(file).items()
    is_settled(opened)


def test_a_key_that_cannot_be_kept_as_written_is_reported_and_its_file_left_alone(opened: Any, folder: Path) -> None:
    file = write(folder / "j.md", "{title: J, meta: {a: 1, # why\n b: 2}}")
    before = file.read_bytes()

    assert [problem["code"] for problem in opened.sync()["problems"]] == ["bad-yaml"]
    assert file.read_bytes() == before


def test_an_empty_item_of_a_list_is_left_out(opened: Any, folder: Path) -> None:
    write(folder / "n.md", "id: n\ntags:\n  - a\n  -")

    assert opened.sync()["problems"] == []
    assert opened.knowledge.get(id="n")["tags"] == ["a"]


def test_a_file_that_comes_back_revives_its_entry(opened: Any, folder: Path, repository: Path) -> None:
    before = (folder / "a.md").read_text()
    (folder / "a.md").unlink()
    assert opened.sync()["deprecated"] == ["a"]
    git(repository, "checkout", "--", ".decapod/knowledge/a.md")

    assert opened.knowledge.list()["count"] >= 1
    assert (folder / "a.md").read_text() == before  # reading takes nothing away
    assert [one["code"] for one in opened.rebuild(check=True)["problems"]] == ["markdown-returned"]
    found = opened.sync()

    assert (found["revived"], found["edited"]) == (["a"], [])
    entry = opened.knowledge.get(id="a")
    assert (entry["status"], entry["content"]) == ("active", "Text of a.")
    assert (folder / "a.md").exists()
    is_settled(opened)


def test_a_file_that_comes_back_elsewhere_and_changed_is_revived_moved_and_edited(opened: Any, folder: Path) -> None:
    text = (folder / "a.md").read_text()
    (folder / "a.md").unlink()
    opened.sync()
    (folder / "c.md").write_text(text.replace("Text of", "News of"))

    found = opened.sync()

    assert (found["revived"], [one["path"] for one in found["moved"]]) == (["a"], ["c.md"])
    entry = opened.knowledge.get(id="a")
    assert (entry["status"], entry["content"]) == ("active", "News of a.")
    is_settled(opened)


def test_a_file_that_comes_back_without_its_merge_key_being_free_is_reported(opened: Any, folder: Path) -> None:
    file = write(folder / "k.md", "id: k\nmerge_key: one")
    opened.sync()
    commit(folder.parent.parent)
    text = file.read_text()
    file.unlink()
    opened.sync()
    opened.knowledge.add(title="Other", text="Other.", provenance=["person:ada"], merge_key="one")
    file.write_text(text)

    assert [problem["code"] for problem in opened.sync()["problems"]] == ["key-held"]
    assert file.read_text() == text


@pytest.mark.parametrize("entries", ["ab", "a"])
def test_a_knowledge_folder_that_vanished_is_no_wish(opened: Any, folder: Path, entries: str) -> None:
    for name in set("ab") - set(entries):
        (folder / f"{name}.md").unlink()
        opened.sync()
    shutil.move(folder, folder.with_suffix(".gone"))

    found = opened.sync()

    assert ([problem["code"] for problem in found["problems"]], found["deprecated"]) == (["many-deletions"], [])
    assert "--allow-deletions" in found["problems"][0]["message"]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.move(folder.with_suffix(".gone"), folder)
    is_settled(opened)


def test_all_files_gone_at_once_are_no_wish_unless_somebody_says_so(opened: Any, folder: Path) -> None:
    for name in "ab":
        (folder / f"{name}.md").unlink()

    assert [problem["code"] for problem in opened.sync()["problems"]] == ["many-deletions"]
    assert opened.sync(allow_deletions=True)["deprecated"] == ["a", "b"]
    is_settled(opened)
