"""`knowledge import` of a folder of Markdown or an Obsidian vault, and `export` to the same form."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import StandingClock, git, run

from decapod_py.client import Decapod

NOTE = """---
title: Retry policy
tags: [http, "#resilience"]
aliases:
  - retries
rating: 5
cssclasses: [wide]
created: 2024-05-06
---
# Retries

Stop at three, see [[Timeouts|the limits]] and [[ops/On call]].
"""


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for path, said in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(said if isinstance(said, bytes) else said.encode())
    return folder


def by_title(knowledge: Any) -> dict[str, Any]:
    return {entry["title"]: knowledge.get(id=entry["id"]) for entry in knowledge.list(limit=1000)["entries"]}


def counts(imported: Any) -> tuple[int, int, int, int]:
    return imported["read"], imported["added"], imported["unchanged"], len(imported["bad"])


@pytest.fixture
def fresh(tmp_path: Path, prepared: Path, clock: StandingClock) -> Iterator[Any]:
    top = tmp_path / "fresh"
    shutil.copytree(prepared, top)
    with Decapod(str(top), clock=clock) as client:
        yield client


def test_a_note_keeps_its_text_its_front_matter_and_its_place(knowledge: Any, opened: Any, repository: Path) -> None:
    write(repository / "notes", {"http/Retry policy.md": NOTE})

    imported = knowledge.import_(file="notes")

    assert (imported["formats"], counts(imported)) == ({"markdown": 1}, (1, 1, 0, 0))
    entry = by_title(knowledge)["Retry policy"]
    assert entry["content"] == "# Retries\n\nStop at three, see [[Timeouts|the limits]] and [[ops/On call]]."
    assert (entry["tags"], entry["aliases"]) == (["http", "resilience"], ["retries"])
    assert entry["created_at"] == "2024-05-06T00:00:00.000Z"
    assert entry["path"] == ".decapod/knowledge/http/Retry policy.md"
    written = (repository / entry["path"]).read_text()
    assert "rating: 5\ncssclasses: [wide]\ncreated: 2024-05-06\n---\n" in written
    assert opened.rebuild(check=True)["ok"]
    assert opened.sync()["problems"] == []


def test_the_original_is_cited_and_watched(knowledge: Any, repository: Path) -> None:
    original = write(repository / "notes", {"Größe 1.md": "Sechs.\n"}) / "Größe 1.md"
    before = original.stat()

    knowledge.import_(file="notes")

    (entry,) = by_title(knowledge).values()
    assert (entry["title"], entry["provenance"], entry["drift"]) == ("Größe 1", "file:notes/Größe 1.md", "ok")
    assert (original.read_text(), original.stat().st_mtime_ns) == ("Sechs.\n", before.st_mtime_ns)
    original.write_text("Sieben, oder auch acht, wer weiß das schon.\n")
    assert knowledge.get(id=entry["id"])["drift"] == "changed"


def test_a_vault_outside_the_repository_is_named_without_the_way_to_it(
    knowledge: Any, fresh: Any, tmp_path: Path
) -> None:
    vault = write(tmp_path / "one" / "vault", {"a b/Note #1.md": "Text.\n"})
    elsewhere = Path(shutil.copytree(vault, tmp_path / "two" / "vault"))

    knowledge.import_(file=str(vault))
    again = knowledge.import_(file=str(elsewhere))

    assert counts(again) == (1, 0, 1, 0)
    assert [entry["provenance"] for entry in by_title(knowledge).values()] == ["url:file:vault/a%20b/Note%20%231.md"]


def test_two_folders_of_one_name_are_told_apart_by_a_name_that_is_given(
    knowledge: Any, refused: Any, repository: Path, tmp_path: Path
) -> None:
    ours = write(tmp_path / "one" / "notes", {"index.md": "Ours.\n"})
    theirs = write(tmp_path / "two" / "notes", {"index.md": "Theirs.\n"})
    knowledge.import_(file=str(ours))

    (bad,) = knowledge.import_(file=str(theirs))["bad"]
    assert (bad["code"], "name it with --name" in bad["message"]) == ("id-taken", True)

    assert counts(knowledge.import_(file=str(theirs), name="their notes")) == (1, 1, 0, 0)
    assert counts(knowledge.import_(file=str(theirs), name="their notes")) == (1, 0, 1, 0)
    found = [knowledge.get(id=entry["id"]) for entry in knowledge.list()["entries"]]
    assert {(entry["content"], entry["provenance"]) for entry in found} == {
        ("Ours.", "url:file:notes/index.md"),
        ("Theirs.", "url:file:their%20notes/index.md"),
    }
    write(repository / "notes", {"a.md": "A.\n", "b.jsonl": "{}\n"})
    refused("bad-name", 2, knowledge.import_, file="notes", name="mine")
    refused("bad-name", 2, knowledge.import_, file="notes/b.jsonl", name="mine")
    refused("bad-name", 2, knowledge.import_, file=str(theirs), name="../x")
    refused("empty", 2, knowledge.import_, file=str(theirs), name=" ")


def test_a_second_run_adds_nothing(knowledge: Any, opened: Any, repository: Path) -> None:
    write(repository / "notes", {"a.md": "One.\n", "b/a.md": "Two.\n", "c.md": NOTE})
    knowledge.import_(file="notes")
    before = opened.status()

    assert counts(knowledge.import_(file="notes")) == (3, 0, 3, 0)
    assert counts(knowledge.import_(file="./notes/../notes/")) == (3, 0, 3, 0)
    assert counts(knowledge.import_(file="notes/b/a.md")) == (1, 0, 1, 0)
    assert opened.status() == before


def test_an_entry_that_was_edited_since_does_not_stand_in_the_way(knowledge: Any, repository: Path) -> None:
    write(repository / "notes", {"a.md": "One.\n"})
    knowledge.import_(file="notes")
    (entry,) = by_title(knowledge).values()
    knowledge.edit(id=entry["id"], text="One, and more.")
    write(repository / "notes", {"b.md": "Two.\n"})

    assert counts(knowledge.import_(file="notes")) == (2, 1, 1, 0)
    assert knowledge.get(id=entry["id"])["content"] == "One, and more."


def test_a_note_that_says_something_else_now_is_reported(knowledge: Any, repository: Path) -> None:
    write(repository / "notes", {"a.md": "One.\n", "b.md": "Two.\n"})
    knowledge.import_(file="notes")
    write(repository / "notes", {"a.md": "Three.\n"})

    assert [(bad["file"], bad["code"]) for bad in knowledge.import_(file="notes")["bad"]] == [("a.md", "id-taken")]


def test_titles_come_from_front_matter_then_the_first_heading_then_the_file_name(
    knowledge: Any, repository: Path
) -> None:
    write(
        repository / "notes",
        {
            "a.md": "---\ntitle: From front matter\n---\n# No\n",
            "b.md": "Text\n\n## From a heading\n",
            "from-the_name.md": "Text\n",
        },
    )

    knowledge.import_(file="notes")

    assert sorted(by_title(knowledge)) == ["From a heading", "From front matter", "from the name"]


def test_what_an_editor_keeps_for_itself_is_left_out_and_counted(
    knowledge: Any, repository: Path, tmp_path: Path
) -> None:
    vault = write(
        repository / "vault",
        {
            ".obsidian/app.json": "{}",
            ".trash/old.md": "Old.\n",
            "image.png": b"\x89PNG",
            "draft.canvas": "{}",
            "folder/note.md": "Text.\n",
            "folder/.hidden.md": "Hidden.\n",
        },
    )
    (tmp_path / "secret.md").write_text("Not ours.\n")
    os.symlink(tmp_path / "secret.md", vault / "link.md")
    os.symlink(vault, vault / "circle")
    os.mkfifo(vault / "pipe.md")

    imported = knowledge.import_(file="vault")

    assert counts(imported) == (1, 1, 0, 0)
    assert imported["left_out"] == {"hidden": 3, "linked": 2, "not Markdown": 3}


BAD_FILES: dict[str, tuple[str | bytes, str, int | None]] = {
    "broken.md": ("---\ntitle: [x\n---\nText\n", "bad-yaml", 3),
    "conflict.md": ("a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n", "conflict-markers", 2),
    "empty.md": ("", "empty", 1),
    "latin.md": ("Größe\n".encode("latin-1"), "not-utf8", 1),
    "long.md": ("x" * 5_000_000, "too-long", None),
    "mark.md": ("---\n\ufeffdate: x\n---\nText\n", "bad-yaml", 1),
    "number.md": ("---\nconfidence: high\n---\nText\n", "bad-field", None),
    "secret.md": ("The key is ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a" + "\n", "secret", None),
    "secret too.md": ("---\ntoken: ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a" + "\n---\nx\n", "secret", None),
    "twice.md": ("---\nid: 01HXYZ0123456789ABCDEFGHJK\n---\nTwo\n", "id-taken", None),
    "unclosed.md": ("---\ntitle: x\nText\n", "unclosed", 1),
    "zeros.md": (b"\0\0\0", "empty", 1),
}


def test_every_file_that_is_refused_is_reported_with_its_reason_and_nothing_is_imported(
    knowledge: Any, opened: Any, repository: Path
) -> None:
    before = opened.status()
    good = {"a.md": "---\nid: 01HXYZ0123456789ABCDEFGHJK\n---\nOne\n"}
    write(repository / "notes", {**good, **{name: said for name, (said, _, _) in BAD_FILES.items()}})

    imported = knowledge.import_(file="notes")

    found = {bad["file"]: (bad["code"], bad["line"]) for bad in imported["bad"]}
    assert found == {name: (code, line) for name, (_, code, line) in BAD_FILES.items()}
    assert (imported["ok"], imported["added"], opened.status()) == (False, 0, before)

    kept = knowledge.import_(file="notes", keep_going=True)
    assert (kept["ok"], kept["added"], len(kept["bad"])) == (False, 1, len(BAD_FILES))


def test_a_byte_order_mark_and_windows_line_ends_are_taken(knowledge: Any, repository: Path) -> None:
    write(repository / "notes", {"a.md": b"\xef\xbb\xbf---\r\ntitle: T\r\nmine: 1\r\n---\r\none\r\ntwo\r\n"})

    knowledge.import_(file="notes")

    (entry,) = by_title(knowledge).values()
    assert (entry["title"], entry["content"]) == ("T", "one\ntwo")
    assert "mine: 1\n" in (repository / entry["path"]).read_text()


def test_an_original_with_windows_line_ends_is_anchored_as_git_stores_it(
    knowledge: Any, opened: Any, repository: Path
) -> None:
    (repository / ".gitattributes").write_text("*.md text\n")
    odd = {'"quoted".md': b"odd\r\n", "sub/a.md": b"one\r\ntwo\r\n", "b.md": b"three\r\n"}
    write(repository / "notes", odd)

    knowledge.import_(file="notes")

    shown = opened.ledger.show(type="entry.added")["events"]
    anchors = [anchor for event in shown for anchor in event["anchors"]]
    assert {anchor["path"]: anchor["blob"] for anchor in anchors} == {
        f"notes/{path}": git(repository, "hash-object", f"notes/{path}").strip() for path in odd
    }


def test_names_that_no_checkout_could_have_are_changed_and_stay_findable(knowledge: Any, repository: Path) -> None:
    write(repository / "notes", {"What? Why:.md": "One.\n", "con/aux.md": "Two.\n", "A.md": "Up.\n", "a.md": "Low.\n"})

    assert counts(knowledge.import_(file="notes")) == (4, 4, 0, 0)

    entries = by_title(knowledge)
    assert entries["What? Why:"]["aliases"] == ["What? Why:"]
    paths = [Path(entry["path"]).relative_to(".decapod/knowledge") for entry in entries.values()]
    assert len({str(path).casefold() for path in paths}) == 4
    assert all((repository / entry["path"]).is_file() for entry in entries.values())
    assert counts(knowledge.import_(file="notes")) == (4, 0, 4, 0)


def test_a_file_that_nobody_took_in_yet_keeps_its_name_and_its_text(
    knowledge: Any, opened: Any, repository: Path, tmp_path: Path
) -> None:
    write(repository / ".decapod" / "knowledge", {"todo.md": "Mine.\n"})
    vault = write(tmp_path / "vault", {"todo.md": "Theirs.\n"})

    assert counts(knowledge.import_(file=str(vault))) == (1, 1, 0, 0)
    opened.sync()

    found = [knowledge.get(id=entry["id"]) for entry in knowledge.list()["entries"]]
    assert {(entry["content"], entry["provenance"].partition(":")[0]) for entry in found} == {
        ("Mine.", "person"),
        ("Theirs.", "url"),
    }
    assert (repository / ".decapod" / "knowledge" / "todo.md").read_text().endswith("Mine.\n")


def test_an_id_of_a_vault_s_own_is_an_alias_and_one_that_is_unique_stays(knowledge: Any, repository: Path) -> None:
    uuid = "6f1c2a52-1c1e-4a37-9d0c-0b0f8f2f7a11"
    write(repository / "notes", {"a.md": "---\nid: 7\n---\nOne\n", "b.md": f"---\nid: {uuid}\n---\nTwo\n"})

    knowledge.import_(file="notes")

    assert by_title(knowledge)["a"]["aliases"] == ["7"]
    assert knowledge.get(id=uuid)["content"] == "Two"


def test_a_status_that_is_none_of_ours_becomes_a_tag(knowledge: Any, repository: Path) -> None:
    write(repository / "notes", {"a.md": "---\nstatus: Draft\n---\nx\n", "b.md": "---\nstatus: deprecated\n---\nx\n"})

    knowledge.import_(file="notes")

    found = {entry["title"]: (entry["status"], entry["tags"]) for entry in knowledge.list(status="any")["entries"]}
    assert found == {"a": ("active", ["status/draft"]), "b": ("deprecated", [])}


def test_a_rule_is_not_imported_without_a_promotion(knowledge: Any, repository: Path) -> None:
    write(
        repository / "notes",
        {
            "a.md": "---\nid: procedural/x\nprovenance: cmd:x\n---\nAlways.\n",
            "procedural/b.md": "Only a folder.\n",
        },
    )

    imported = knowledge.import_(file="notes", keep_going=True)

    assert [(bad["file"], bad["code"]) for bad in imported["bad"]] == [("a.md", "needs-promotion")]
    assert by_title(knowledge)["b"]["path"] == ".decapod/knowledge/_procedural/b.md"


def test_links_between_imported_notes_resolve(knowledge: Any, opened: Any, repository: Path) -> None:
    write(
        repository / "vault",
        {
            "a.md": "[[b]], [[deep/c]], [[Second name]], [[Größe]]\n",
            "b.md": "---\naliases: Second name\n---\nB.\n",
            "deep/c.md": "C.\n",
            "deep/Größe.md": "G.\n",
        },
    )

    knowledge.import_(file="vault")

    assert opened.links.broken()["links"] == []


def test_a_folder_that_only_rules_may_have_is_renamed_and_links_to_it_resolve(
    knowledge: Any, opened: Any, repository: Path
) -> None:
    write(repository / "notes", {"a.md": "See [[procedural/how]].\n", "procedural/how.md": "Like this.\n"})

    knowledge.import_(file="notes")

    assert (repository / ".decapod" / "knowledge" / "_procedural" / "how.md").exists()
    assert opened.links.broken()["links"] == []


def test_a_dry_run_says_the_same_and_writes_nothing(knowledge: Any, opened: Any, repository: Path) -> None:
    write(repository / "notes", {"a.md": "One.\n", "b.md": ""})
    before = opened.status()

    imported = knowledge.import_(file="notes", dry_run=True, keep_going=True)

    assert (imported["dry_run"], counts(imported)) == (True, (2, 1, 0, 1))
    assert opened.status() == before


def test_what_holds_nothing_to_import_is_misuse(knowledge: Any, refused: Any, repository: Path) -> None:
    (repository / "empty").mkdir()
    refused("no-file", 2, knowledge.import_, file="empty")
    refused("no-file", 2, knowledge.import_, file="missing.md")
    refused("no-file", 2, knowledge.import_, file="a\0b")
    refused("no-file", 2, knowledge.import_, file="src/a.py", format="rust")
    refused("no-file", 2, knowledge.import_, file="src", format="jsonl")
    refused("our-own", 2, knowledge.import_, file=".decapod/knowledge")
    refused("our-own", 2, knowledge.import_, file="..")
    refused("our-own", 2, knowledge.import_, file="/")


def test_what_export_writes_import_reads_into_another_repository(
    knowledge: Any, fresh: Any, repository: Path, clock: StandingClock
) -> None:
    record = "# 1. X\n\n## Status\n\nProposed\n"
    memory = "---\ntype: note\npermalink: p/q\n---\n# Observed\n\n- [tech] x #y\n"
    write(
        repository / "notes",
        {
            "deep/Größe.md": NOTE,
            "b.md": "---\nsource: a talk\nscope: s\n---\nB.\n",
            "adr/0001-x.md": record,
            "memory.md": memory,
            "odd/ trail .md": "---\nfront: only\n---\n",
        },
    )
    knowledge.import_(file="notes")
    knowledge.add(title="Limit", text="Ten.", provenance=["cmd:x"], id="old", merge_key="l", confidence=0.5)
    knowledge.add(title="Limit", text="Nine.", provenance=["cmd:x"], id="new", merge_key="l", on_conflict="supersede")
    knowledge.add(id="a/b", title="“T”", text="x\n\n```\n---\n```", provenance=["file:src/a.py#L3"], tags=["y z"])
    knowledge.add(title="Short", text="Brief.", provenance=["cmd:x"], expires_ts="2d")
    clock.forward(days=1)
    ids = sorted(entry["id"] for entry in knowledge.list(status="any")["entries"])

    for output, chosen in (("out", "markdown"), ("out.jsonl", "jsonl")):
        knowledge.export(format=chosen, output=output)
        imported = fresh.knowledge.import_(file=str(repository / output), actor="Ada")
        assert (imported["ok"], imported["added"]) == (True, len(ids) if chosen == "markdown" else 0), imported

    theirs = ("version", "heads", "updated_at", "standing", "drift", "citations")
    for entry_id in ids:
        here, there = knowledge.get(id=entry_id), fresh.knowledge.get(id=entry_id)
        assert {**there, **dict.fromkeys(theirs)} == {**here, **dict.fromkeys(theirs)}
    assert fresh.rebuild(check=True)["ok"]


def test_the_command_says_what_it_read_left_out_and_refused(repository: Path) -> None:
    write(repository / "notes", {"a b.md": "One.\n", "c.md": "---\nx: [\n---\n", "d.png": b"x"})

    done = run(repository, "knowledge", "import", "notes")

    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == [
        "2 read (2 markdown): 0 added, 0 unchanged, 1 bad",
        "left out: 1 not Markdown",
    ]
    assert done.stdout.splitlines()[2].startswith("c.md:3: the front matter is not YAML")
    assert "--keep-going" in done.stdout.splitlines()[-1]

    done = run(repository, "knowledge", "import", "notes/a b.md", "--format", "markdown", "--json")
    assert (done.returncode, json.loads(done.stdout)["added"]) == (0, 1)
