"""`decapod sync`: what people do to the Markdown is taken in, and nothing they wrote is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import decapod, git, run

NOTHING: dict[str, Any] = {"edited": [], "moved": [], "added": [], "deprecated": [], "restored": [], "problems": []}


@pytest.fixture
def vault(repository: Path) -> Path:
    """A repository with one entry, committed; the folder that people edit."""
    decapod(repository, "knowledge", "add", "Retries stop at 3", "--from", "src/a.py:1-2", "--id", "retries")
    commit(repository)
    return repository / ".decapod" / "knowledge"


def commit(repository: Path) -> None:
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "More")


def top(vault: Path) -> Path:
    return vault.parent.parent


def page(vault: Path, entry_id: str = "retries") -> Path:
    return top(vault) / decapod(top(vault), "knowledge", "get", entry_id)["path"]


def sync(vault: Path, *arguments: str) -> dict[str, Any]:
    done = run(top(vault), "sync", *arguments, "--json")
    assert done.returncode in (0, 1), done.stderr
    import json

    found: dict[str, Any] = json.loads(done.stdout)
    assert found["ok"] is (done.returncode == 0)
    return {name: found[name] for name in NOTHING}


def get(vault: Path, entry_id: str = "retries") -> dict[str, Any]:
    found: dict[str, Any] = decapod(top(vault), "knowledge", "get", entry_id)
    return found


def is_settled(vault: Path) -> None:
    """A second sync finds nothing, and everything equals the fold."""
    assert sync(vault) == NOTHING
    assert decapod(top(vault), "rebuild", "--check")["problems"] == []


def test_nothing_changed_is_nothing_to_take_in(vault: Path) -> None:
    is_settled(vault)


def test_a_changed_body_becomes_an_edit_by_whoever_works_here(vault: Path) -> None:
    file = page(vault)
    file.write_text(file.read_text().replace("\nRetries stop at 3\n", "\nRetries stop at 5.\n"))

    assert sync(vault) == {**NOTHING, "edited": ["retries"]}

    entry = get(vault)
    assert (entry["content"], entry["title"]) == ("Retries stop at 5.", "Retries stop at 3")
    history = decapod(top(vault), "knowledge", "history", "retries")["events"]
    assert [(event["type"], event["actor"]) for event in history] == [("entry.edited", "Ada"), ("entry.added", "Ada")]
    is_settled(vault)


def test_an_edit_that_was_committed_is_that_of_the_commits_author(vault: Path) -> None:
    file = page(vault)
    file.write_text(file.read_text().replace("\nRetries stop at 3\n", "\nRetries stop at 5.\n"))
    git(top(vault), "-c", "user.name=Bea", "commit", "-qam", "By hand")

    sync(vault)

    assert decapod(top(vault), "knowledge", "history", "retries")["events"][0]["actor"] == "Bea"


def test_fields_that_an_author_decides_are_taken_in(vault: Path) -> None:
    file = page(vault)
    head, body = file.read_text().split("author:", 1)
    head = head.replace("title: Retries stop at 3", "title: Retry limit")
    head += "tags: [http, net]\naliases: [limit]\nsource: task-7\nconfidence: 0.5\nmerge_key: http.retries\n"
    file.write_text(head + "author:" + body)

    assert sync(vault)["problems"] == []

    entry = get(vault)
    assert (entry["title"], entry["tags"], entry["confidence"], entry["merge_key"]) == (
        "Retry limit",
        ["http", "net"],
        0.5,
        "http.retries",
    )
    assert "aliases:\n  - limit\n" in page(vault).read_text()
    assert "source: task-7\n" in page(vault).read_text()
    is_settled(vault)


def test_front_matter_of_ones_own_survives(vault: Path) -> None:
    file = page(vault)
    own = "# mine\ncssclasses:\n  - wide\npublish: true"
    file.write_text(file.read_text().replace("\n---\n\n", f"\n{own}\n---\n\n", 1))

    sync(vault)
    decapod(top(vault), "knowledge", "edit", "retries", "--text", "Another text.")

    assert own in page(vault).read_text()
    is_settled(vault)


def test_who_and_when_an_entry_is_stays_as_it_was(vault: Path) -> None:
    file = page(vault)
    text = file.read_text().replace("author: Ada", "author: Mallory").replace("created_at: ", "created_at: 2001 # ")
    file.write_text(text.replace("\nRetries stop at 3\n", "\nRetries stop at 5.\n"))

    found = sync(vault)

    assert found["edited"] == ["retries"]
    assert sorted(found["restored"][0]["fields"]) == ["author", "created_at"]
    assert (get(vault)["author"], get(vault)["content"]) == ("Ada", "Retries stop at 5.")
    assert "author: Ada\n" in page(vault).read_text()
    is_settled(vault)


def test_a_new_file_without_front_matter_becomes_an_entry_and_keeps_its_name(vault: Path) -> None:
    (vault / "guides").mkdir()
    (vault / "guides" / "On Call.md").write_text("# Who is on call\n\nAsk the bot.\n")

    (added,) = sync(vault)["added"]

    entry = get(vault, added["id"])
    assert added == {"id": entry["id"], "path": "guides/On Call.md", "filled": ["id", "title", "provenance"]}
    assert (entry["title"], entry["content"]) == ("Who is on call", "# Who is on call\n\nAsk the bot.")
    assert entry["provenance"] == "person:Ada"
    assert entry["path"] == ".decapod/knowledge/guides/On Call.md"
    is_settled(vault)


def test_the_commit_that_brought_a_file_is_its_provenance(vault: Path) -> None:
    (vault / "note.md").write_text("---\nid: my-note\ntags: a, b\n---\nText.\n")
    commit(top(vault))

    sync(vault)

    head = git(top(vault), "rev-parse", "HEAD").strip()
    entry = get(vault, "my-note")
    assert (entry["provenance"], entry["tags"], entry["title"]) == (f"commit:{head}", ["a", "b"], "note")


def test_a_file_that_was_moved_keeps_its_entry(vault: Path) -> None:
    file = page(vault)
    (vault / "limits").mkdir()
    file.rename(vault / "limits" / "retry.md")

    found = sync(vault)

    assert found == {**NOTHING, "moved": [{"id": "retries", "path": "limits/retry.md", "was": file.name}]}
    assert get(vault)["path"] == ".decapod/knowledge/limits/retry.md"
    is_settled(vault)


def test_a_file_that_was_moved_and_edited_is_both(vault: Path) -> None:
    file = page(vault)
    (vault / "retry.md").write_text(file.read_text().replace("\nRetries stop at 3\n", "\nOther.\n"))
    file.unlink()

    sync(vault)

    assert (get(vault)["content"], get(vault)["path"]) == ("Other.", ".decapod/knowledge/retry.md")
    is_settled(vault)


def test_a_removed_file_deprecates_its_entry_and_reviving_brings_it_back(vault: Path) -> None:
    file = page(vault)
    file.unlink()

    assert sync(vault) == {**NOTHING, "deprecated": ["retries"]}
    assert get(vault)["status"] == "deprecated"
    assert not file.exists()
    is_settled(vault)

    decapod(top(vault), "knowledge", "revive", "retries")
    assert file.exists()
    is_settled(vault)


def test_a_file_that_git_never_knew_is_written_again(vault: Path) -> None:
    added = decapod(top(vault), "knowledge", "add", "Fresh", "--provenance", "person:ada")
    file = page(vault, added["id"])
    file.unlink()

    assert sync(vault) == NOTHING
    assert get(vault, added["id"])["status"] == "active"


def test_many_files_gone_at_once_need_a_word(vault: Path) -> None:
    for number in range(12):
        decapod(top(vault), "knowledge", "add", f"Note {number}", "--provenance", "person:ada", "--id", f"n{number}")
    commit(top(vault))
    for file in vault.glob("n*.md"):
        file.unlink()

    assert [problem["code"] for problem in sync(vault)["problems"]] == ["many-deletions"]
    assert len(sync(vault, "--allow-deletions")["deprecated"]) == 12
    is_settled(vault)


def test_a_sparse_checkout_deletes_nothing(vault: Path) -> None:
    git(top(vault), "sparse-checkout", "set", "--no-cone", "/*", "!/.decapod/knowledge/")

    assert sync(vault) == NOTHING
    assert get(vault)["status"] == "active"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("---\ntitle: [open\n---\nText.\n", "bad-yaml", 3),
        ("---\ntitle: A\ntitle: B\n---\nText.\n", "duplicate-key", 3),
        ("<<<<<<< HEAD\nOurs.\n=======\nTheirs.\n>>>>>>> branch\n", "conflict-markers", 1),
        ("", "empty", 1),
        ("---\nconfidence: 7\n---\nText.\n", "bad-field", None),
        ("---\nid: ../../etc\n---\nText.\n", "bad-id", None),
        ("---\nid: procedural/mine\n---\nText.\n", "needs-promotion", None),
        ("---\nid: 01KJMMA2G50000000000000000\n---\nText.\n", "orphaned", None),
        ("---\nprovenance: nowhere\n---\nText.\n", "bad-provenance", None),
        ("---\nprovenance: file:missing.py\n---\nText.\n", "no-such-file", None),
    ],
)
def test_what_cannot_be_taken_in_is_reported_and_left_alone(
    vault: Path, text: str, code: str, line: int | None
) -> None:
    file = vault / "mine.md"
    file.write_text(text)

    found = sync(vault)

    assert [(problem["code"], problem["line"]) for problem in found["problems"]] == [(code, line)]
    assert found["problems"][0]["file"] == ".decapod/knowledge/mine.md"
    assert file.read_text() == text


def test_a_link_is_reported_and_what_it_leads_to_is_not_read(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("# Not ours\n")
    (vault / "link.md").symlink_to(tmp_path / "elsewhere.md")

    assert [problem["code"] for problem in sync(vault)["problems"]] == ["link"]


def test_two_files_that_say_they_are_one_entry_are_reported(vault: Path) -> None:
    file = page(vault)
    copy = vault / "copy.md"
    copy.write_text(mine := file.read_text().replace("stop at 3", "stop at 9"))

    assert [problem["code"] for problem in sync(vault)["problems"]] == ["duplicate-id"]
    assert copy.read_text() == mine
    assert get(vault)["content"] == "Retries stop at 3"


def test_a_secret_in_a_file_is_not_taken_in(vault: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    (vault / "key.md").write_text(f"# Deploy key\n\nUse {token[:40]}.\n")

    assert [problem["code"] for problem in sync(vault)["problems"]] == ["secret"]


def test_a_secret_in_the_id_of_a_file_is_not_taken_in(vault: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    (vault / "key.md").write_text(f"---\nid: {token[:40]}\n---\n# Deploy key\n\nText.\n")

    assert [problem["code"] for problem in sync(vault)["problems"]] == ["secret"]


def test_a_dry_run_writes_nothing(vault: Path) -> None:
    (vault / "note.md").write_text("Text.\n")
    before = decapod(top(vault), "status")["digest"]

    (added,) = sync(vault, "--dry-run")["added"]

    assert added["path"] == "note.md"
    assert (vault / "note.md").read_text() == "Text.\n"
    assert decapod(top(vault), "status")["digest"] == before


def test_a_clone_agrees_after_a_sync(vault: Path, tmp_path: Path) -> None:
    (vault / "note.md").write_text("Text.\n")
    page(vault).unlink()
    sync(vault)
    commit(top(vault))

    git(tmp_path, "clone", "-q", str(top(vault)), "clone")
    clone = tmp_path / "clone"

    assert decapod(clone, "status")["digest"] == decapod(top(vault), "status")["digest"]
    assert decapod(clone, "rebuild", "--check")["problems"] == []
    assert git(clone, "status", "--porcelain") == ""
