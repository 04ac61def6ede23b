"""What people read of a result, on a terminal and in a pipe; and that stored text stays text."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from decapod_py.domain.text import neutral, one_line
from decapod_py.operations import catalogue
from decapod_py.surfaces.cli import rich_render
from decapod_py.surfaces.cli.plain import render, renderer_of

HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\r\u202egnp.exe[bold]loud[/bold]:boom:\ud800"
NAMES = [operation.name for operation in catalogue.all_operations()]
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

NOW = "2026-03-01T12:00:00.000Z"
PROBLEM = {
    "code": "gap",
    "severity": "warning",
    "place": "a.jsonl:3",
    "message": "a parent is missing",
    "fix": "git pull",
}
ENTRY = {
    "id": "01JZ8",
    "title": "Retries stop at 3",
    "content": "The client gives up.\n\nThen it raises.",
    "provenance": "file:src/client.py#L3-L9",
    "provenances": ["file:src/client.py#L3-L9", "person:ana"],
    "status": "active",
    "expired": True,
    "tags": ["http", "retry"],
    "scope": "api",
    "merge_key": "http.retries",
    "claim_id": None,
    "supersedes_id": "01JZ1",
    "supersedes": ["01JZ1"],
    "ttl_policy": "decay",
    "expires_ts": NOW,
    "confidence": 0.8,
    "author": "ana",
    "contributors": ["ana", "bo"],
    "created_at": NOW,
    "updated_at": "2026-03-02T12:00:00.000Z",
    "version": "01JZ9",
    "reaffirmed_at": NOW,
    "drift": "moved",
    "standing": "merged",
    "citations": [
        {"provenance": "file:src/client.py#L3-L9", "state": "moved", "now": "file:src/client.py#L5-L11"},
    ],
    "diverged": True,
    "heads": ["01JZ9", "01JZA"],
    "path": "retries-1a2b3c.md",
    "feedback": {"helped": 2, "hurt": 0},
    "truncated": True,
}
HIT = {
    "id": "01JZ8",
    "title": "Retries stop at 3",
    "snippet": "The client gives up.",
    "provenance": "file:src/client.py#L3-L9",
    "tags": ["http"],
    "status": "stale",
    "score": 0.51234,
    "recency_score": 0.1,
    "created_at": NOW,
    "updated_at": NOW,
    "version": "01JZ9",
    "drift": "changed",
    "standing": "local",
    "explain": {"bm25": 1.23456, "terms": ["retri"]},
}
FOUND = {"query": "retries", "mode": "hybrid", "terms": ["retries"], "count": 1, "omitted": 2, "results": [HIT]}
EVALUATED = {
    "ok": False,
    "k": 10,
    "queries": 2,
    "measured": [
        {
            "mode": "lexical",
            "kind": "all",
            "queries": 2,
            "hit_at_1": 0.5,
            "hit_at_5": 1.0,
            "hit_at_k": 1.0,
            "recall": 0.75,
            "mrr": 0.6667,
            "ndcg": 0.7,
        }
    ],
    "bad": [{"line": 3, "code": "not-json", "message": "it is not JSON"}],
    "unknown": [{"line": 4, "id": "01JZ9"}],
}
EVENT = {
    "event_id": "01JZ9",
    "ts": NOW,
    "type": "entry.edited",
    "actor": "ana",
    "is_version": True,
    "is_head": True,
    "was": ["01JZ8"],
    "status": "active",
    "title": "Retries stop at 3",
    "content": "The client gives up.",
    "provenances": ["person:ana"],
    "reason": "measured again",
}
PROMOTION = {
    "event_id": "01JZ9",
    "ts": NOW,
    "source_entry_id": "01JZ8",
    "source_version": "01JZ8",
    "target_class": "procedural",
    "evidence_refs": ["commit:4f2a9c1"],
    "approved_by": None,
    "actor": "ana",
    "reason": "held for a year",
    "state": "proposed",
}
REDACTED = {
    "dry_run": False,
    "redacted": ["01JZ8", "01JZ9"],
    "entries": ["retries"],
    "event_ids": ["01JZA"],
    "segments": [".decapod/ledgers/knowledge.events/2026-03/01JZ8.jsonl"],
    "files": [".decapod/knowledge/retries-1a2b3c.md"],
    "left": [{"path": ".decapod/local/knowledge.db", "why": "somebody reads the database"}],
    "history": {"commits": 2, "first": "4f2a9c1", "hashes": ["7d1", "4f2a9c1"], "note": "these have it"},
    "next": ["make the secret void"],
}
CLAIMED = {"ok": True, "task_id": "01JZC", "aspect": "docs", "agent": "worker", "expires_at": NOW, "held_by": None}
CLAIM = {"agent": "worker", "aspect": "docs", "claimed_at": NOW, "expires_at": NOW}
TASK = {
    "id": "01JZC",
    "title": "Make retries configurable",
    "status": "open",
    "agent": "ana",
    "tags": ["http"],
    "created_at": NOW,
    "here": True,
    "claims": [CLAIM, CLAIM | {"aspect": "error handling"}],
    "findings": 2,
}
DECIDED = {"decided_by": "bo", "decided_at": NOW, "reason": "Merged", "description": "In the client.\nNowhere else."}
AGENT = {"id": "worker", "name": "The worker", "type": "custom", "first_seen_at": NOW, "last_seen_at": NOW}
FINDING = {"id": "01JZD", "task_id": "01JZC", "agent": "worker", "summary": "It leaks.", "created_at": NOW}
RESULTS: list[tuple[str, dict[str, Any]]] = [
    ("tasks.create", {"task_id": "01JZC"}),
    ("tasks.claim", CLAIMED),
    ("tasks.claim", CLAIMED | {"ok": False, "held_by": "other"}),
    ("tasks.renew", CLAIMED | {"ok": False, "expires_at": None}),
    ("tasks.release", CLAIMED | {"expires_at": None}),
    ("tasks.release", CLAIMED | {"ok": False, "expires_at": None}),
    (
        "tasks.complete",
        {"task_id": "01JZC", "status": "completed", "changed": True, "event_id": "e", "released": [CLAIM]},
    ),
    ("tasks.reopen", {"task_id": "01JZC", "status": "open", "changed": False, "event_id": None, "released": []}),
    ("tasks.status", {"total": 1, "count": 1, "tasks": [TASK | DECIDED | {"status": "completed", "claims": []}]}),
    ("tasks.list", {"total": 3, "count": 2, "tasks": [TASK, TASK | {"here": False, "title": None, "tags": []}]}),
    ("tasks.post-finding", {"finding_id": "01JZD", "task_id": "01JZC"}),
    (
        "tasks.findings",
        {"task_id": "01JZC", "total": 2, "count": 1, "findings": [FINDING | {"knowledge_id": "01JZ8"}]},
    ),
    ("agents.register", {"agent": "worker", "created": False, "changed": True}),
    (
        "agents.info",
        AGENT
        | {"registered": True, "metadata": {"model": "m1"}}
        | {"claims": [{"task_id": "01JZC", "aspect": "docs", "expires_at": NOW}]},
    ),
    (
        "agents.list",
        {"total": 2, "count": 2, "agents": [AGENT, AGENT | {"id": "other worker", "name": None, "type": None}]},
    ),
    ("ledger.redact", REDACTED),
    ("ledger.redact", {**REDACTED, "dry_run": True, "left": [], "next": []}),
    (
        "init",
        {"root": "/repo", "made": [".decapod/config.toml"], "git": True, "next": ["git add .decapod"]},
    ),
    ("init", {"root": "/repo", "made": [], "git": True, "next": []}),
    (
        "knowledge.add",
        {
            "id": "01JZ8",
            "action": "superseded",
            "superseded_ids": ["01JZ1"],
            "similar": [{"id": "01JZ2", "title": "Retries", "similarity": 0.93, "advice": "merge or settle them"}],
        },
    ),
    ("knowledge.get", ENTRY),
    ("knowledge.list", {"total": 12, "count": 1, "entries": [ENTRY]}),
    ("knowledge.list", {"total": 0, "count": 0, "entries": []}),
    ("knowledge.search", FOUND),
    ("knowledge.search", FOUND | {"query": "nothing", "count": 0, "omitted": 0, "results": []}),
    ("eval.retrieval", EVALUATED),
    ("knowledge.history", {"id": "01JZ8", "count": 1, "omitted": 2, "events": [EVENT]}),
    ("knowledge.edit", {"id": "01JZ8", "action": "edited", "event_id": "e", "version": "e", "superseded_ids": []}),
    (
        "knowledge.decay",
        {"as_of": NOW, "policy": "default", "dry_run": True, "stale_ids": ["01JZ8"], "event_id": None},
    ),
    ("knowledge.promote", PROMOTION),
    ("knowledge.approve", PROMOTION | {"state": "approved", "approved_by": "bo"}),
    (
        "knowledge.import",
        {
            "ok": False,
            "dry_run": False,
            "read": 2,
            "added": 0,
            "unchanged": 1,
            "formats": {"markdown": 1, "adr": 1},
            "left_out": {"hidden": 3, "linked": 1},
            "bad": [{"file": "a b.md", "line": 2, "code": "bad-provenance", "message": "no scheme"}],
        },
    ),
    ("knowledge.export", {"format": "jsonl", "count": 1, "output": None, "lines": ['{"title":"T"}']}),
    ("knowledge.export", {"format": "markdown", "count": 2, "output": "handbook"}),
    (
        "ledger.verify",
        {
            "ok": False,
            "events": 3,
            "segments": 1,
            "ledgers": {"knowledge.events": 3},
            "gaps": 1,
            "problems": [PROBLEM],
        },
    ),
    (
        "ledger.show",
        {
            "count": 1,
            "omitted": 4,
            "events": [{"event_id": "e", "ts": NOW, "type": "t", "ledger": "knowledge.events", "actor": "ana"}],
        },
    ),
    (
        "status",
        {
            "root": "/repo",
            "version": "0.1.0",
            "digest": "ab12",
            "entries": {"active": 3, "stale": 0},
            "events": 4,
            "segments": 1,
            "heads": {"knowledge.events": 2},
            "diverged": ["01JZ8"],
            "clashes": ["http.retries"],
            "proposals": 1,
            "expired": 1,
            "tasks": {"completed": 1, "open": 2},
            "claims": 3,
            "markdown": {"written": 3},
            "problems": [PROBLEM],
        },
    ),
    (
        "scan",
        {
            "root": "/r",
            "base": None,
            "files": 2,
            "checked": 9,
            "good": 5,
            "findings": [
                {
                    "file": "README.md",
                    "line": line,
                    "kind": "path",
                    "mention": "src/old.py",
                    "message": "src/old.py was renamed to src/new.py",
                    "since": {"commit": "4f2a9c1" * 6, "date": "2026-03-01", "subject": "Move the client"},
                    "now": "src/new.py",
                    "fix": "write src/new.py",
                }
                for line in (3, 8)
            ],
            "omitted": 1,
            "adopted": [],
            "notes": ["the clone is shallow"],
            "ok": False,
        },
    ),
    ("doctor", {"ok": True, "problems": [], "fixed": []}),
    (
        "rebuild",
        {
            "ok": False,
            "checked": True,
            "events": 1,
            "entries": 1,
            "digest": "ab12",
            "problems": [PROBLEM],
        },
    ),
]


@pytest.mark.parametrize(("name", "result"), RESULTS, ids=[name for name, _ in RESULTS])
def test_a_pipe_reads_this(name: str, result: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert render(name, result) == snapshot


@pytest.mark.parametrize(("name", "result"), RESULTS, ids=[name for name, _ in RESULTS])
def test_a_terminal_shows_this(name: str, result: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert on_terminal(name, result, color_system=None) == snapshot


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_has_words_for_its_result(name: str) -> None:
    assert callable(renderer_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_stored_text_cannot_drive_a_pipe_or_a_terminal(name: str) -> None:
    """Every string a result can hold is hostile here."""
    hostile = filled(catalogue.find(name).result_adapter.json_schema())

    assert not CONTROLS.search(render(name, hostile))
    shown = on_terminal(name, hostile, color_system=None)
    assert not CONTROLS.search(shown)
    assert "[bold]loud" in shown or "loud" not in shown, "Rich read stored text as markup"


def filled(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> Any:
    """A value of this schema with hostile text wherever text can be."""
    definitions = definitions or schema.get("$defs", {})
    if "$ref" in schema:
        return filled(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    if "anyOf" in schema:
        return filled(schema["anyOf"][0], definitions)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("type") == "object" and "properties" in schema:
        return {name: filled(part, definitions) for name, part in schema["properties"].items()}
    if schema.get("type") == "object":
        inside = schema.get("additionalProperties")
        return {HOSTILE: filled(inside, definitions) if isinstance(inside, dict) else HOSTILE}
    if schema.get("type") == "array":
        return [filled(schema["items"], definitions)]
    return {"integer": 2, "number": 0.5, "boolean": True}.get(schema.get("type", ""), HOSTILE)


def on_terminal(name: str, result: dict[str, Any], color_system: Any) -> str:
    screen = io.StringIO()
    console = Console(
        file=screen,
        force_terminal=True,
        color_system=color_system,
        width=100,
        highlight=False,
        markup=False,
        emoji=False,
    )
    rich_render.render_on_terminal(name, result, console)
    return screen.getvalue()


def test_colour_is_used_on_a_terminal_that_has_it() -> None:
    assert "\x1b[" in on_terminal("knowledge.get", ENTRY, color_system="standard")


@pytest.mark.parametrize(
    ("text", "block", "line"),
    [
        ("plain", "plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab", "two lines and a tab"),
        ("\x1b[0m\x07\r", "\\x1b[0m\\x07\\x0d", "\\x1b[0m\\x07"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c", "a\\u202eb\\u2066c"),
        ("ключ 鍵 👩‍🚀", "ключ 鍵 👩‍🚀", "ключ 鍵 👩‍🚀"),
    ],
)
def test_characters_that_act_are_written_out(text: str, block: str, line: str) -> None:
    assert (neutral(text), one_line(text)) == (block, line)
