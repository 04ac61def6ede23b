"""Where an entry is filed: its folder, its note on where it comes from, and finding it by its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import decapod, git


def add(knowledge: Any, **fields: Any) -> Any:
    added = knowledge.add(**{"title": "Retries", "text": "Stops at three.", "provenance": ["cmd:x"], **fields})
    return knowledge.get(id=added["id"])


@pytest.mark.parametrize(
    ("folder", "filed"),
    [("guides", "guides"), ("/guides/http/", "guides/http"), ("Руководства/Сеть", "Руководства/Сеть"), ("/", "")],
)
def test_an_entry_lives_in_the_folder_that_was_named(knowledge: Any, repository: Path, folder: str, filed: str) -> None:
    path = repository / add(knowledge, folder=folder)["path"]

    assert path.parent == repository / ".decapod" / "knowledge" / filed
    assert path.read_text().endswith("Stops at three.\n")


@pytest.mark.parametrize(
    "folder",
    [
        "..",
        "a/../b",
        ".hidden",
        "a//b",
        "a\\b",
        "con",
        "a:b",
        "note.md",
        "a\nb",
        "x" * 300,
        "procedural",
        "Procedural/x",
    ],
)
def test_a_folder_that_no_file_may_be_in_is_refused(knowledge: Any, refused: Any, folder: str) -> None:
    refused("bad-folder", 2, knowledge.add, title="T", text="X", provenance=["cmd:x"], folder=folder)


def test_sync_finds_nothing_to_take_in_where_a_folder_was_named(knowledge: Any, opened: Any, repository: Path) -> None:
    add(knowledge, folder="guides/http")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Know")

    synced = opened.sync()
    assert [synced[name] for name in ("edited", "added", "moved", "deprecated", "problems")] == [[]] * 5
    assert opened.rebuild(check=True)["ok"]


def test_a_source_is_kept_changed_and_cleared_like_any_field(knowledge: Any, repository: Path) -> None:
    entry = add(knowledge, source="the meeting of March")
    assert entry["source"] == "the meeting of March"
    assert "source: the meeting of March\n" in (repository / entry["path"]).read_text()

    knowledge.edit(id=entry["id"], title="Retry")
    assert knowledge.get(id=entry["id"])["source"] == "the meeting of March"
    knowledge.edit(id=entry["id"], source="the meeting of April")
    assert knowledge.get(id=entry["id"])["source"] == "the meeting of April"
    knowledge.edit(id=entry["id"], source="")
    assert knowledge.get(id=entry["id"])["source"] is None


def test_a_secret_in_a_source_is_refused(knowledge: Any, refused: Any) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    refused("secret", 1, knowledge.add, title="T", text="X", provenance=["cmd:x"], source=f"token {token}")


@pytest.mark.parametrize("field", ["id", "folder"])
def test_a_secret_in_an_id_or_a_folder_is_refused_and_a_random_one_is_not(
    knowledge: Any, refused: Any, field: str
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    note = {"title": "T", "text": "X", "provenance": ["cmd:x"]}

    refused("secret", 1, knowledge.add, **note, **{field: f"tok/{token}"})
    knowledge.add(**note, **{field: "x7kq2mzp9rt4wv8ls3nd6bf1hj5gc0ya"})
    knowledge.add(**note, **{field: f"tok/{token}"}, allow_secret="A token of the manual.")


def test_an_entry_is_found_by_its_file(knowledge: Any, repository: Path, refused: Any) -> None:
    entry = add(knowledge, folder="guides")

    assert knowledge.get(id=entry["path"])["id"] == entry["id"]
    assert decapod(repository, "knowledge", "history", entry["path"])["id"] == entry["id"]
    refused("not-found", 1, knowledge.get, id=".decapod/knowledge/nothing.md")
    refused("not-found", 1, knowledge.get, id=".decapod/knowledge/../config.toml")
