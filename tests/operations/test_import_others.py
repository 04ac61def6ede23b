"""`knowledge import` of decision records, agents' instructions, basic-memory notes and the Rust tool's database."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from decapod_py.domain.instructions import SECTION


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, said in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(said)
    return folder


def by_title(knowledge: Any) -> dict[str, Any]:
    listed = knowledge.list(status="any", limit=1000)["entries"]
    return {entry["title"]: knowledge.get(id=entry["id"]) for entry in listed}


def counts(imported: Any) -> tuple[int, int, int, int]:
    return imported["read"], imported["added"], imported["unchanged"], len(imported["bad"])


RECORDS = {
    "README.md": "# Decisions\n\nAll of them.\n",
    "0001-use-files.md": "# 1. Use files\n\nDate: 2016-02-12\n\n## Status\n\n"
    "Superceded by [3. Logs](0003-use-logs.md)\n",
    "0002-use-queues.md": "---\nstatus: superseded by ADR-0003\ndate: 2024-05-06\ndeciders: Ada\n---\n"
    "# Use queues\n\nBecause.\n",
    "0003-use-logs.md": "# 3. Use logs\n\n* Status: accepted\n* Date: 2025-01-02\n\n## Context\n\nLogs last.\n",
    "0004-use-paper.md": "# 4. Use paper\n\n## Status\n\nProposed\n\nSupersedes [5. Stone](0005-stone.md)\n",
    "0005-stone.md": "# 5. Stone\n\n## Status\n\nAccepted\n",
    "0006-x.md": "# 6. X\n\n## Status\n\nDeprecated\n",
}


def test_decision_records_keep_their_status_their_date_and_what_they_replace(
    knowledge: Any, opened: Any, repository: Path
) -> None:
    write(repository / "docs" / "adr", RECORDS)

    imported = knowledge.import_(file="docs/adr")

    assert (imported["formats"], counts(imported)) == ({"adr": 6, "markdown": 1}, (7, 7, 0, 0))
    found = by_title(knowledge)
    assert {title: entry["status"] for title, entry in found.items()} == {
        "Decisions": "active",
        "1. Use files": "superseded",
        "Use queues": "superseded",
        "3. Use logs": "active",
        "4. Use paper": "active",
        "5. Stone": "superseded",
        "6. X": "deprecated",
    }
    names = {entry["id"]: title for title, entry in found.items()}
    replaced = {title: [names[one] for one in entry["supersedes"]] for title, entry in found.items()}
    assert replaced["3. Use logs"] == ["1. Use files", "Use queues"]
    assert replaced["4. Use paper"] == ["5. Stone"]
    assert found["4. Use paper"]["tags"] == ["status/proposed"]
    assert [found[title]["created_at"][:10] for title in ("1. Use files", "Use queues", "3. Use logs")] == [
        "2016-02-12",
        "2024-05-06",
        "2025-01-02",
    ]
    queues = found["Use queues"]
    assert (queues["provenance"], queues["content"]) == (
        "file:docs/adr/0002-use-queues.md",
        "# Use queues\n\nBecause.",
    )
    assert "deciders: Ada\n" in (repository / queues["path"]).read_text()
    assert counts(knowledge.import_(file="docs/adr")) == (7, 0, 7, 0)
    assert opened.rebuild(check=True)["ok"]


USE_FILES = "# 1. Use files\n\n## Status\n\nAccepted\n"
USE_LOGS = "# 2. Use logs\n\n## Status\n\nAccepted\n\nSupersedes [1. Use files](0001-use-files.md)\n"


@pytest.mark.parametrize("place", ["repository/docs/adr", "elsewhere/adr"])
def test_a_record_that_comes_later_supersedes_one_that_is_here(
    knowledge: Any, opened: Any, tmp_path: Path, place: str
) -> None:
    records = write(tmp_path / place, {"0001-use-files.md": USE_FILES})
    knowledge.import_(file=str(records))
    write(records, {"0002-use-logs.md": USE_LOGS})

    assert (counts(knowledge.import_(file=str(records))), opened.warnings) == ((2, 1, 1, 0), [])

    found = by_title(knowledge)
    assert found["1. Use files"]["status"] == "superseded"
    assert found["2. Use logs"]["supersedes"] == [found["1. Use files"]["id"]]
    assert opened.rebuild(check=True)["ok"]


def test_a_record_whose_file_says_by_now_what_replaced_it_is_superseded_all_the_same(
    knowledge: Any, repository: Path
) -> None:
    records = write(repository / "docs" / "adr", {"0001-use-files.md": USE_FILES})
    knowledge.import_(file="docs/adr")
    replaced = USE_FILES.replace("Accepted", "Superseded by [2. Use logs](0002-use-logs.md)")
    write(records, {"0001-use-files.md": replaced, "0002-use-logs.md": USE_LOGS})

    imported = knowledge.import_(file="docs/adr", keep_going=True)

    assert [(bad["file"], bad["code"]) for bad in imported["bad"]] == [("0001-use-files.md", "id-taken")]
    assert by_title(knowledge)["1. Use files"]["status"] == "superseded"


def test_what_an_import_may_not_supersede_is_told(knowledge: Any, opened: Any, repository: Path) -> None:
    write(repository / "docs" / "adr", {"0001-use-files.md": USE_FILES, "0002-use-logs.md": USE_LOGS})
    knowledge.import_(file="docs/adr/0001-use-files.md")
    (files,) = by_title(knowledge).values()

    knowledge.import_(file="docs/adr/0002-use-logs.md")

    assert opened.warnings == [
        f"0002-use-logs.md says that it supersedes {files['id']}, which an import by itself does not take out of use: "
        f"if it is so, decapod knowledge deprecate {files['id']}"
    ]
    assert by_title(knowledge)["1. Use files"]["status"] == "active"


def test_a_form_that_was_named_is_the_one_that_is_read(knowledge: Any, repository: Path) -> None:
    write(repository / "docs" / "adr", {"0001-x.md": "# X\n\n## Status\n\nDeprecated\n"})
    assert knowledge.import_(file="docs/adr", format="markdown", dry_run=True)["formats"] == {"markdown": 1}

    write(repository / "log", {"choice.md": "# Choice\n\n## Status\n\nDeprecated\n"})
    assert knowledge.import_(file="log", format="adr")["formats"] == {"adr": 1}
    assert by_title(knowledge)["Choice"]["status"] == "deprecated"


AGENTS = f"Be brief.\n\n# Project\n\n## Build\n\nRun `make`.\n\n### Fast\n\nRun `make -j`.\n\n{SECTION}"


def test_instructions_become_an_entry_a_heading_which_is_cited_and_watched(knowledge: Any, repository: Path) -> None:
    write(repository, {"AGENTS.md": AGENTS})
    os.symlink("AGENTS.md", repository / "CLAUDE.md")

    imported = knowledge.import_(file="AGENTS.md")

    assert (imported["formats"], counts(imported)) == ({"instructions": 3}, (3, 3, 0, 0))
    found = {entry["title"]: (entry["content"], entry["provenance"]) for entry in by_title(knowledge).values()}
    assert found == {
        "AGENTS.md": ("Be brief.", "file:AGENTS.md#L1"),
        "Build": ("Run `make`.", "file:AGENTS.md#build"),
        "Fast": ("Run `make -j`.", "file:AGENTS.md#fast"),
    }
    assert counts(knowledge.import_(file="AGENTS.md")) == counts(knowledge.import_(file="CLAUDE.md")) == (3, 0, 3, 0)
    write(repository, {"AGENTS.md": AGENTS.replace("Run `make -j`.", "Ask somebody who knows about it first.")})
    assert by_title(knowledge)["Fast"]["drift"] == "changed"


def test_headings_without_a_name_are_told_apart(knowledge: Any, repository: Path) -> None:
    write(repository, {"AGENTS.md": "Be brief.\n\n#\n\nRun it.\n\n# !\n\nStop it.\n\n# !\n\nAsk.\n"})

    assert counts(knowledge.import_(file="AGENTS.md")) == (4, 4, 0, 0)
    assert counts(knowledge.import_(file="AGENTS.md")) == (4, 0, 4, 0)


def test_instructions_without_a_word_of_their_own_are_reported(knowledge: Any, repository: Path) -> None:
    write(repository, {"CLAUDE.md": f"# Project\n\n{SECTION}", "GEMINI.md": "<!-- decapod:begin -->\n"})

    assert [bad["code"] for bad in knowledge.import_(file="CLAUDE.md")["bad"]] == ["empty"]
    assert [bad["code"] for bad in knowledge.import_(file="GEMINI.md")["bad"]] == ["broken-markers"]


MEMORY = """---
title: Coffee Brewing Methods
type: note
permalink: coffee/brewing-methods
tags:
- coffee
---
# Coffee Brewing Methods

## Observations
- [method] Pour over is clean #brewing (at home)
- [ ] buy beans

## Relations
- relates_to [[Tea]]
- pairs_with [[tea/green]]
"""


def test_notes_of_basic_memory_keep_their_text_and_can_be_linked_to(
    knowledge: Any, opened: Any, repository: Path
) -> None:
    write(
        repository / "memory",
        {
            "coffee/Coffee.md": MEMORY,
            "Tea.md": "---\ntitle: Tea\ntype: note\npermalink: tea/green\n---\n- see [[Coffee Brewing Methods]]\n",
        },
    )

    imported = knowledge.import_(file="memory")

    assert imported["formats"] == {"basic-memory": 2}
    entry = by_title(knowledge)["Coffee Brewing Methods"]
    assert entry["content"] == MEMORY.split("---\n", 2)[2].strip()
    assert (entry["tags"], entry["aliases"]) == (
        ["coffee", "method", "brewing"],
        ["coffee/brewing-methods", "Coffee Brewing Methods"],
    )
    assert "permalink: coffee/brewing-methods\n" in (repository / entry["path"]).read_text()
    assert opened.links.broken()["links"] == []
    assert counts(knowledge.import_(file="memory")) == (2, 0, 2, 0)


COLUMNS = (
    "id, title, content, provenance, claim_id, tags, created_at, updated_at, dir_path, scope, status, merge_key,"
    " supersedes_id, ttl_policy, expires_ts"
)
ROWS: list[tuple[Any, ...]] = [
    ("01A", "Old", "Ten.", "cmd:x", None, "", "1700000000Z", "1700000000Z", "/home/x", "root", "superseded", "k", None,
     "persistent", None),
    ("01B", "New", "Nine.", "file:src/a.py#L3", "C1", "a, b", "1700000001Z", None, "/home/x", "root", "active", "k",
     "01A", "decay", "4102444800Z"),
    ("01C", "Odd", "Odd.", "file:/etc/passwd", None, '["x"]', "1700000002Z", None, "", "root", "active", None, None,
     "persistent", "1Z"),
]  # fmt: skip


@pytest.fixture
def database(repository: Path) -> Path:
    file = repository / ".decapod" / "data" / "knowledge.db"
    file.parent.mkdir()
    with sqlite3.connect(file) as connection:
        connection.execute(f"CREATE TABLE knowledge ({COLUMNS}, PRIMARY KEY (id))")
        _insert(connection, ROWS)
    connection.close()
    return file


def _insert(connection: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> None:
    connection.executemany(f"INSERT INTO knowledge ({COLUMNS}) VALUES ({', '.join('?' * 15)})", rows)


def test_the_database_of_the_rust_tool_is_taken_in_field_by_field(knowledge: Any, database: Path) -> None:
    before = database.read_bytes()

    imported = knowledge.import_(file=".decapod/data/knowledge.db")

    assert (imported["formats"], counts(imported)) == ({"rust": 3}, (3, 3, 0, 0))
    fields = ("status", "provenance", "tags", "merge_key", "claim_id", "supersedes", "ttl_policy", "expires_ts")
    found = {one: tuple(knowledge.get(id=one)[name] for name in fields) for one in ("01A", "01B", "01C")}
    source = "file:.decapod/data/knowledge.db"
    assert found == {
        "01A": ("superseded", "cmd:x", [], "k", None, [], "persistent", None),
        "01B": (
            "active",
            "file:src/a.py#L3",
            ["a", "b"],
            "k",
            "C1",
            ["01A"],
            "decay",
            "2100-01-01T00:00:00.000Z",
        ),
        "01C": ("active", source, ["x"], None, None, [], "persistent", None),
    }
    assert knowledge.get(id="01A")["created_at"] == "2023-11-14T22:13:20.000Z"
    assert (database.read_bytes(), os.listdir(database.parent)) == (before, ["knowledge.db"])
    assert counts(knowledge.import_(file=".decapod/data")) == (3, 0, 3, 0)


def test_entries_that_are_still_in_the_database_s_log_come_along(knowledge: Any, database: Path) -> None:
    writing = sqlite3.connect(database)
    writing.execute("PRAGMA journal_mode = WAL")
    _insert(writing, [("01D", *ROWS[0][1:])])
    writing.commit()
    try:
        assert knowledge.import_(file=str(database))["added"] == 4
    finally:
        writing.close()


def test_an_older_database_has_fewer_columns_and_a_bad_row_is_reported(knowledge: Any, repository: Path) -> None:
    with sqlite3.connect(repository / "old.db") as connection:
        connection.execute("CREATE TABLE knowledge (id, title, content, provenance, created_at)")
        connection.execute(
            "INSERT INTO knowledge VALUES ('a', 'T', 'x', 'cmd:x', '1700000000Z'), ('b', '', '', '', '')"
        )
        connection.execute(
            "INSERT INTO knowledge VALUES ('procedural/x', 'T', 'y', 'event:P', '1Z'), ('d', 1, x'ff', '', '')"
        )
    connection.close()

    imported = knowledge.import_(file="old.db", keep_going=True)

    assert (imported["added"], [(bad["line"], bad["code"]) for bad in imported["bad"]]) == (
        1,
        [(2, "missing-field"), (3, "unknown-promotion"), (4, "missing-field")],
    )


def test_a_database_of_something_else_is_misuse(knowledge: Any, refused: Any, repository: Path) -> None:
    with sqlite3.connect(repository / "other.db") as connection:
        connection.execute("CREATE TABLE bookmarks (id)")
    connection.close()
    refused("no-file", 2, knowledge.import_, file="other.db")

    (repository / "torn.db").write_bytes((repository / "other.db").read_bytes()[:200])
    refused("no-file", 2, knowledge.import_, file="torn.db")
