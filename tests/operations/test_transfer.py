"""`knowledge import` and `export`: bulk in and out, every bad line by its number."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support import StandingClock, run

from decapod_py.client import Decapod

GOOD = {"title": "Retries", "content": "Stop at three.", "provenance": "cmd:make"}


def lines_of(*rows: Any) -> str:
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)


def report(*, read: int, added: int = 0, unchanged: int = 0, ok: bool = True, dry_run: bool = False) -> dict[str, Any]:
    """What an import of JSON lines answers when no line is bad."""
    return {
        "ok": ok,
        "dry_run": dry_run,
        "read": read,
        "added": added,
        "unchanged": unchanged,
        "formats": {"jsonl": read},
        "left_out": {},
        "bad": [],
    }


@pytest.fixture
def write(repository: Path):
    def write_file(*rows: Any) -> str:
        (repository / "in.jsonl").write_text(lines_of(*rows))
        return "in.jsonl"

    return write_file


@pytest.fixture
def fresh(tmp_path: Path, prepared: Path, clock: StandingClock):
    top = tmp_path / "fresh"
    shutil.copytree(prepared, top)
    with Decapod(str(top), clock=clock) as client:
        yield client


def test_a_line_needs_a_title_a_content_and_a_provenance(knowledge, write):
    imported = knowledge.import_(file=write(GOOD, {**GOOD, "title": "Other", "content": "Else."}))

    assert imported == report(read=2, added=2, unchanged=0)
    assert sorted(entry["title"] for entry in knowledge.list()["entries"]) == ["Other", "Retries"]


def test_what_export_writes_import_reads_into_a_fresh_repository(knowledge, clock, repository, fresh, tmp_path):
    everything = {
        "provenance": ["file:src/a.py#L3", "cmd:x"],
        "tags": ["x", "y z"],
        "scope": "s",
        "claim_id": "C",
        "confidence": 0.25,
    }
    knowledge.add(
        id="a", title="Größe “quoted” \\ 大", text="one\n\n  two\t\n```\n---\n```", **everything, merge_key="k"
    )
    knowledge.add(title="Limit", text="Ten.", provenance=["cmd:x"], id="old", merge_key="l")
    knowledge.add(title="Limit", text="Nine.", provenance=["cmd:x"], id="new", merge_key="l", on_conflict="supersede")
    knowledge.add(title="Short", text="Brief.", provenance=["cmd:x"], id="short", expires_ts="2d")
    knowledge.add(title="Gone", text="Gone.", provenance=["cmd:x"], id="gone")
    knowledge.delete(id="gone")
    knowledge.deprecate(id="a")
    clock.forward(days=5)
    knowledge.decay()

    exported = knowledge.export(output="out.jsonl")
    assert exported == {"format": "jsonl", "count": 4, "output": "out.jsonl"}
    imported = fresh.knowledge.import_(file=str(repository / "out.jsonl"), actor="Ada")

    assert imported == report(read=4, added=4, unchanged=0)
    kept = [
        "id",
        "title",
        "content",
        "provenances",
        "status",
        "tags",
        "scope",
        "merge_key",
        "claim_id",
        "supersedes",
        "ttl_policy",
        "expires_ts",
        "confidence",
        "author",
        "created_at",
    ]
    for entry_id in ("a", "old", "new", "short"):
        here, there = knowledge.get(id=entry_id), fresh.knowledge.get(id=entry_id)
        assert {name: there[name] for name in kept} == {name: here[name] for name in kept}
    assert fresh.rebuild(check=True)["ok"]


def test_running_an_import_again_changes_nothing(knowledge, opened, write):
    rows = [{**GOOD, "id": f"e{number}", "title": f"T{number}"} for number in range(5)]
    knowledge.import_(file=write(*rows))
    before = opened.status()

    again = knowledge.import_(file=write(*rows))

    assert again == report(read=5, added=0, unchanged=5)
    assert opened.status() == before


BAD_LINES = [
    ("not json", "not-json"),
    ("[1]", "not-json"),
    ("{", "not-json"),
    ("[" * 100_000, "not-json"),
    ({"content": "x", "provenance": "cmd:x"}, "missing-field"),
    ({"title": " ", "content": "x", "provenance": "cmd:x"}, "missing-field"),
    ({"title": "T", "content": 5, "provenance": "cmd:x"}, "missing-field"),
    ({"title": "T", "content": "x"}, "no-provenance"),
    ({**GOOD, "provenance": "nothing"}, "bad-provenance"),
    ({**GOOD, "provenance": "file:../x"}, "bad-provenance"),
    ({**GOOD, "provenance": 5}, "bad-field"),
    ({**GOOD, "tags": "x"}, "bad-field"),
    ({**GOOD, "tags": [1]}, "bad-field"),
    ({**GOOD, "confidence": "high"}, "bad-field"),
    ({**GOOD, "confidence": True}, "bad-field"),
    ({**GOOD, "confidence": 1e999}, "bad-field"),
    ({**GOOD, "confidence": float("nan")}, "bad-field"),
    ({**GOOD, "colour": "red"}, "unknown-field"),
    ({**GOOD, "id": "a b"}, "bad-id"),
    ({**GOOD, "id": ""}, "bad-id"),
    ({**GOOD, "id": 5}, "bad-field"),
    ({**GOOD, "id": "procedural/x"}, "needs-promotion"),
    ({**GOOD, "id": "Procedural/y", "provenance": "event:X"}, "unknown-promotion"),
    ({**GOOD, "status": "deleted"}, "bad-field"),
    ({**GOOD, "ttl_policy": "forever"}, "bad-field"),
    ({**GOOD, "expires_ts": "123ZZ"}, "bad-time"),
    ({**GOOD, "expires_ts": "1d", "ttl_policy": "persistent"}, "never-expires"),
    ({**GOOD, "created_at": "yesterday"}, "bad-time"),
    ({**GOOD, "merge_key": " "}, "empty"),
    ({**GOOD, "extra": "id: other"}, "bad-field"),
    ({**GOOD, "extra": "a: [\n---"}, "bad-field"),
    ({**GOOD, "path": "../x.md"}, "bad-path"),
    ({**GOOD, "aliases": "x"}, "bad-field"),
    ({**GOOD, "title": "x" * 301}, "too-long"),
    ({**GOOD, "title": "\ud800"}, "bad-text"),
    ({**GOOD, "content": "a\u0000b"}, "bad-text"),
]


def test_every_bad_line_is_reported_with_its_number_and_nothing_is_imported(knowledge, opened, write):
    before = opened.status()

    imported = knowledge.import_(file=write(GOOD, "", *(line for line, _ in BAD_LINES)))

    assert [(bad["line"], bad["code"]) for bad in imported["bad"]] == [
        (number, code) for number, (_, code) in enumerate(BAD_LINES, 3)
    ]
    assert all(bad["message"] for bad in imported["bad"])
    assert {bad["file"] for bad in imported["bad"]} == {"in.jsonl"}
    assert {**imported, "bad": []} == report(read=len(BAD_LINES) + 1, ok=False)
    assert opened.status() == before


def test_keep_going_imports_the_good_lines(knowledge, write):
    imported = knowledge.import_(file=write("x", {**GOOD, "id": "a"}, {**GOOD, "id": ""}), keep_going=True)

    assert (imported["ok"], imported["added"], [bad["line"] for bad in imported["bad"]]) == (False, 1, [1, 3])
    assert knowledge.get(id="a")["content"] == "Stop at three."


def test_a_dry_run_checks_every_line_and_writes_nothing(knowledge, opened, write):
    knowledge.import_(file=write({**GOOD, "id": "a"}))
    before = opened.status()

    imported = knowledge.import_(file=write({**GOOD, "id": "a"}, {**GOOD, "id": "b", "title": "B"}), dry_run=True)

    assert imported == report(read=2, added=1, unchanged=1, dry_run=True)
    assert opened.status() == before


def test_ids_and_keys_that_are_taken_or_stand_twice_are_reported(knowledge, write):
    knowledge.add(id="a", title="Here", text="Before.", provenance=["cmd:x"], merge_key="k")

    imported = knowledge.import_(
        file=write(
            {**GOOD, "id": "a"},
            {**GOOD, "id": "b", "merge_key": "k"},
            {**GOOD, "id": "c"},
            {**GOOD, "id": "c"},
            {**GOOD, "id": "d", "merge_key": "j"},
            {**GOOD, "id": "e", "merge_key": "j"},
            {**GOOD, "id": "f", "merge_key": "j", "scope": "s"},
            {**GOOD, "id": "g", "merge_key": "j", "status": "deprecated"},
        )
    )

    assert [(bad["line"], bad["code"]) for bad in imported["bad"]] == [
        (1, "id-taken"),
        (2, "key-held"),
        (4, "id-taken"),
        (6, "key-held"),
    ]


def test_an_import_never_takes_an_entry_of_ours_out_of_use(knowledge, write):
    knowledge.add(id="ours", title="Here", text="Before.", provenance=["cmd:x"])

    knowledge.import_(file=write({**GOOD, "id": "theirs", "supersedes": ["ours"]}))

    assert (knowledge.get(id="ours")["status"], knowledge.get(id="theirs")["supersedes"]) == ("active", [])


def test_a_time_of_creation_to_come_is_now(knowledge, write):
    knowledge.import_(
        file=write({**GOOD, "id": "a", "created_at": "2099-01-01"}, {**GOOD, "id": "b", "created_at": "0Z"})
    )

    assert knowledge.get(id="a")["created_at"] == "2026-03-01T12:00:00.000Z"
    assert knowledge.get(id="b")["created_at"] == "1970-01-01T00:00:00.000Z"


@pytest.fixture
def promotion(knowledge) -> str:
    """An approved promotion of what `GOOD` says."""
    knowledge.add(id="source", title="Retries", text=GOOD["content"], provenance=["cmd:x"])
    found = knowledge.promote(source_entry_id="source", evidence_refs=["cmd:x"], reason="r", approved_by="Bea")
    return f"event:{found['event_id']}"


def test_a_rule_is_imported_with_a_promotion_that_is_here(knowledge, write, promotion):
    imported = knowledge.import_(file=write({**GOOD, "id": "procedural/x", "provenance": promotion}))

    assert (imported["ok"], knowledge.get(id="procedural/x")["provenance"]) == (True, promotion)


def test_one_promotion_never_lets_two_rules_in(knowledge, write, promotion):
    rows = [{**GOOD, "id": f"procedural/{name}", "provenance": promotion} for name in "xy"]

    imported = knowledge.import_(file=write(*rows), keep_going=True)

    assert (imported["added"], [(bad["line"], bad["code"]) for bad in imported["bad"]]) == (1, [(2, "promotion-used")])
    again = knowledge.import_(file=write(*rows), keep_going=True)
    assert (again["unchanged"], [(bad["line"], bad["code"]) for bad in again["bad"]]) == (1, [(2, "promotion-used")])


def test_a_rule_that_says_something_else_than_was_approved_keeps_the_whole_file_out(
    knowledge, opened, write, promotion
):
    before = opened.status()

    imported = knowledge.import_(
        file=write(GOOD, {**GOOD, "id": "procedural/x", "provenance": promotion, "content": "Never stop."})
    )

    assert (imported["added"], [(bad["line"], bad["code"]) for bad in imported["bad"]]) == (
        0,
        [(2, "not-the-approved-text")],
    )
    assert opened.status() == before


def test_entries_of_one_batch_whose_paths_meet_get_files_of_their_own(knowledge, opened, write):
    one, other = _ids_of_one_path()

    knowledge.import_(file=write({**GOOD, "id": one}, {**GOOD, "id": other, "content": "Else."}))

    assert knowledge.get(id=one)["path"] != knowledge.get(id=other)["path"]
    assert opened.rebuild(check=True)["ok"]


def _ids_of_one_path() -> tuple[str, str]:
    """Two ids that differ in case alone and whose digests begin alike."""
    seen: dict[str, str] = {}
    for letters in product("aA", repeat=16):
        entry_id = "".join(letters)
        other = seen.setdefault(sha256(entry_id.encode()).hexdigest()[:6], entry_id)
        if other != entry_id:
            return other, entry_id
    raise AssertionError("no two of these ids meet")


def test_a_file_that_cannot_be_read_is_misuse(knowledge, refused, repository):
    refused("no-file", 2, knowledge.import_, file="nothing.jsonl")
    refused("no-file", 2, knowledge.import_, file=".")
    refused("no-file", 2, knowledge.import_, file="")
    refused("empty", 2, knowledge.import_, file="nothing.jsonl", actor=" ")


def test_an_empty_import_does_nothing(knowledge, write):
    assert knowledge.import_(file=write())["read"] == 0


def test_standard_input_and_a_byte_order_mark_are_read(repository: Path):
    done = run(repository, "knowledge", "import", "-", "--json", stdin="\ufeff" + lines_of(GOOD))

    assert (done.returncode, json.loads(done.stdout)["added"]) == (0, 1)


def test_an_import_with_bad_lines_exits_1(repository: Path):
    done = run(repository, "knowledge", "import", "-", stdin="x\n")

    assert done.returncode == 1
    assert "not JSON" in done.stdout + done.stderr


def test_export_gives_its_lines_where_no_file_is_named(knowledge):
    knowledge.add(id="a", title="T", text="x", provenance=["cmd:x"])

    exported = knowledge.export()

    assert {**exported, "lines": []} == {"format": "jsonl", "count": 1, "output": None, "lines": []}
    (line,) = exported["lines"]
    assert json.loads(line) == {
        "id": "a",
        "title": "T",
        "content": "x",
        "provenance": "cmd:x",
        "provenances": ["cmd:x"],
        "status": "active",
        "scope": "root",
        "ttl_policy": "persistent",
        "author": "Ada",
        "created_at": "2026-03-01T12:00:00.000Z",
        "updated_at": "2026-03-01T12:00:00.000Z",
        "version": knowledge.get(id="a")["version"],
    }


@pytest.mark.parametrize("output", [".decapod/knowledge/out.jsonl", ".decapod/ledgers/x", "src/../.decapod"])
@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_nothing_is_exported_into_the_folder_of_knowledge_itself(knowledge, output, form):
    with pytest.raises(Exception, match=r"is inside \.decapod") as refused:
        knowledge.export(output=output, format=form)
    assert refused.value.code == "own-folder"


def test_export_may_be_narrowed_by_status(knowledge, clock):
    knowledge.add(id="a", title="A", text="x", provenance=["cmd:x"])
    knowledge.add(id="b", title="B", text="y", provenance=["cmd:x"], ttl_policy="ephemeral")
    knowledge.add(id="c", title="C", text="z", provenance=["cmd:x"], status="deprecated")
    clock.forward(days=2)

    def exported(status):
        return [json.loads(line)["id"] for line in knowledge.export(status=status)["lines"]]

    assert [exported(status) for status in ("any", "active", "stale", "deprecated", "superseded")] == [
        ["a", "b", "c"],
        ["a"],
        ["b"],
        ["c"],
        [],
    ]


def test_a_folder_of_markdown_holds_every_entry_and_overwrites_nothing(knowledge, repository, refused):
    knowledge.add(id="a/b", title="T", text="x", provenance=["cmd:x"])
    path = Path(knowledge.get(id="a/b")["path"]).relative_to(".decapod/knowledge")

    assert knowledge.export(format="markdown", output="out") == {"format": "markdown", "count": 1, "output": "out"}
    assert (repository / "out" / path).read_bytes() == (repository / ".decapod" / "knowledge" / path).read_bytes()
    refused("not-empty", 1, knowledge.export, format="markdown", output="out")
    assert knowledge.export(format="markdown")["output"] == "knowledge-export"
    refused("cannot-write", 1, knowledge.export, output="nowhere/out.jsonl")
    refused("cannot-write", 1, knowledge.export, output="src")


def test_a_lifetime_that_nobody_chose_is_not_exported(knowledge):
    knowledge.add(id="a", title="A", text="Fades.", provenance=["cmd:x"], ttl_policy="decay")
    knowledge.add(id="b", title="B", text="Fades then.", provenance=["cmd:x"], expires_ts="2026-04-01")
    lines = [json.loads(line) for line in knowledge.export()["lines"]]
    assert [line.get("expires_ts") for line in lines] == [None, "2026-04-01T00:00:00.000Z"]
