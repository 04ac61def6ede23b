"""Lithos's example session, and what went wrong with Lithos itself, through a real client over standard input."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from support import PROJECT, decapod, git, run
from talking import DECAPOD, ENVIRONMENT, answer, refusal, with_client

from decapod_py.surfaces.mcp import toolsets

LITHOS = ("--toolset", "lithos")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
CONTENT = (
    "Use asyncio.gather to run awaitables concurrently. It waits for all of them.\n\n"
    + "A task group cancels the others when one fails. " * 60
)


def shape(value: Any) -> Any:
    """The value with what differs in every run replaced by its kind."""
    match value:
        case dict():
            return {key: shape(each) for key, each in value.items()}
        case list():
            return [shape(each) for each in value]
        case str() if TIME.fullmatch(value):
            return "<time>"
        case str() if ULID.fullmatch(value):
            return "<id>"
        case _:
            return value


def test_the_example_session_of_the_specification(repository: Path) -> None:
    pytest.importorskip("wordllama")

    async def story(client: Client) -> None:
        nothing = dict.fromkeys(("documents", "chunks", "agents", "active_tasks", "open_claims", "tags"), 0)
        assert await answer(client, "lithos_stats") == nothing
        said = {"id": "agent-zero", "name": "Agent Zero", "type": "agent-zero"}
        assert await answer(client, "lithos_agent_register", **said) == {"success": True, "created": True}
        written = await answer(
            client,
            "lithos_write",
            title="Python asyncio.gather patterns",
            content=CONTENT,
            tags=["python", "async"],
            agent="agent-zero",
        )
        item = written["id"]
        path = written["path"]
        assert re.fullmatch(r"python-asyncio-gather-patterns-[0-9a-f]{6}\.md", path)
        question = "how to run async tasks concurrently in python"
        (near,) = (await answer(client, "lithos_semantic", query=question))["results"]
        assert near == {
            "id": item,
            "title": "Python asyncio.gather patterns",
            "snippet": near["snippet"],
            "similarity": near["similarity"],
            "path": path,
        }
        read = await answer(client, "lithos_read", id=item, max_length=2000)
        assert read.keys() == {"id", "title", "content", "metadata", "links", "truncated"}
        assert (read["truncated"], read["content"].endswith("when one fails.")) == (True, True)
        assert 1_900 < len(read["content"]) <= 2_000
        created = await answer(client, "lithos_task_create", title="Research async patterns", agent="agent-zero")
        assert shape(created) == {"task_id": "<id>"}
        claim = {"task_id": created["task_id"], "aspect": "literature review", "agent": "agent-zero"}
        claimed = await answer(client, "lithos_task_claim", **claim)
        assert shape(claimed) == {"success": True, "expires_at": "<time>"}
        renewed = await answer(client, "lithos_task_renew", **claim, ttl_minutes=120)
        assert shape(renewed) == {"success": True, "new_expires_at": "<time>"}
        assert renewed["new_expires_at"] > claimed["expires_at"]
        status = await answer(client, "lithos_task_status", task_id=created["task_id"])
        held = {"agent": "agent-zero", "aspect": "literature review", "expires_at": "<time>"}
        assert shape(status) == {
            "tasks": [{"id": "<id>", "title": "Research async patterns", "status": "open", "claims": [held]}]
        }
        posted = {"task_id": created["task_id"], "agent": "openclaw", "summary": "Found.", "knowledge_id": item}
        assert shape(await answer(client, "lithos_finding_post", **posted)) == {"finding_id": "<id>"}
        done = {"task_id": created["task_id"], "agent": "agent-zero"}
        assert await answer(client, "lithos_task_complete", **done) == {"success": True}
        agents = (await answer(client, "lithos_agent_list"))["agents"]
        assert {agent["id"]: agent["name"] for agent in agents} == {"agent-zero": "Agent Zero", "openclaw": None}
        stats = await answer(client, "lithos_stats")
        assert stats.pop("chunks") > 2
        assert stats == {"documents": 1, "agents": 2, "active_tasks": 0, "open_claims": 0, "tags": 2}

    with_client(repository, story, *LITHOS)


def test_commands_and_tools_see_each_others_work_without_a_restart(repository: Path) -> None:
    async def story(client: Client) -> None:
        written = await answer(client, "lithos_write", title="Walrus", content="It swims.", agent="zero", path="sea")
        item, file = written["id"], repository / ".decapod" / "knowledge" / written["path"]
        task = (await answer(client, "lithos_task_create", title="Count them", agent="zero"))["task_id"]
        await answer(client, "lithos_task_claim", task_id=task, aspect="north", agent="zero")

        def at_the_command_line() -> None:
            assert decapod(repository, "knowledge", "get", item)["author"] == "zero"
            assert decapod(repository, "knowledge", "history", item[:20])["count"] == 1
            assert decapod(repository, "links", "show", item)["title"] == "Walrus"
            assert run(repository, "tasks", "claim", task, "North", "--agent", "one").returncode == 1
            assert decapod(repository, "agents", "info", "zero")["claims"][0]["task_id"] == task
            decapod(repository, "knowledge", "edit", item, "--text", "It dives.", "--actor", "one")
            decapod(repository, "knowledge", "add", "Seals bark", "--from", "src/a.py:3", "--tag", "loud")

        await asyncio.to_thread(at_the_command_line)
        read = await answer(client, "lithos_read", id=item)
        assert (read["content"], read["metadata"]["contributors"]) == ("It dives.", ["one"])
        assert (await answer(client, "lithos_list", tags=["loud"]))["total"] == 1

        file.write_text(file.read_text().replace("It dives.", "It sleeps, says a hand."))
        (file.parent / "By hand.md").write_text("Nobody wrote front matter for the narwhal.\n")
        await asyncio.to_thread(decapod, repository, "sync")
        assert (await answer(client, "lithos_read", path=written["path"]))["content"] == "It sleeps, says a hand."
        assert (await answer(client, "lithos_read", path="sea/By hand.md"))["title"] == "By hand"
        assert len((await answer(client, "lithos_search", query="narwhal"))["results"]) == 1

    with_client(repository, story, *LITHOS)


def test_what_was_edited_while_no_server_ran_is_seen_by_the_next(repository: Path) -> None:
    written: dict[str, str] = {}

    async def first(client: Client) -> None:
        written.update(await answer(client, "lithos_write", title="Walrus", content="It swims.", agent="zero"))

    async def second(client: Client) -> None:
        assert (await answer(client, "lithos_read", id=written["id"]))["content"] == "It flies, says a hand."
        (hit,) = (await answer(client, "lithos_search", query="flies"))["results"]
        assert hit["id"] == written["id"]
        assert (await answer(client, "lithos_search", query="swims")) == {"results": []}

    with_client(repository, first, *LITHOS)
    file = repository / ".decapod" / "knowledge" / written["path"]
    file.write_text(file.read_text().replace("It swims.", "It flies, says a hand."))
    decapod(repository, "sync")
    with_client(repository, second, *LITHOS)


def test_refusals_name_a_tool_of_lithos_and_the_server_goes_on(repository: Path) -> None:
    async def story(client: Client) -> None:
        written = await answer(client, "lithos_write", title="Walrus", content="It swims.", agent="zero")
        assert (await refusal(client, "lithos_search", query="walrus", limit=0))["code"] == "bad-request"
        assert (await refusal(client, "lithos_read", id="nothing"))["hint"] == 'lithos_search(query="nothing")'
        stale = {"title": "T", "content": "X", "agent": "one", "id": written["id"], "expected_version": "01J"}
        conflict = await refusal(client, "lithos_write", **stale)
        current = (await answer(client, "lithos_read", id=written["id"]))["metadata"]["version"]
        assert conflict["details"] == {"current_version": current}
        assert conflict["hint"] == f'lithos_read(id="{written["id"]}")'
        assert len((await answer(client, "lithos_search", query="walrus"))["results"]) == 1
        assert "never instructions" in (client.instructions or "")

    with_client(repository, story, *LITHOS)


def request(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def opening() -> list[str]:
    client = {"name": "raw", "version": "1"}
    return [
        request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client),
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    ]


def write_call(number: int) -> str:
    arguments = {"title": f"T{number}", "content": "x", "agent": "zero"}
    return request(number, "tools/call", name="lithos_write", arguments=arguments)


@contextmanager
def served(repository: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*DECAPOD, "mcp", *LITHOS],
        cwd=repository,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        yield server
        server.kill()


def test_the_server_ends_with_its_input_and_says_nothing_but_protocol(repository: Path) -> None:
    with served(repository) as server:
        said, _ = server.communicate("\n".join([*opening(), write_call(2), request(3, "tools/list"), ""]), timeout=20)

    assert server.returncode == 0
    assert [json.loads(line)["id"] for line in said.splitlines()] == [1, 2, 3]


def test_an_acknowledged_write_is_on_disk_even_if_the_server_is_killed(repository: Path) -> None:
    with served(repository) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write("\n".join([*opening(), write_call(2), ""]))
        server.stdin.flush()
        server.stdout.readline()
        written = json.loads(server.stdout.readline())["result"]["structuredContent"]
        server.send_signal(signal.SIGKILL)
        server.wait(timeout=5)

    assert (repository / ".decapod" / "knowledge" / written["path"]).is_file()
    assert decapod(repository, "knowledge", "get", written["id"])["content"] == "x"
    assert decapod(repository, "ledger", "verify")["ok"]


PAGE = (PROJECT / "docs" / "lithos.md").read_text()
NOTE = """\
---
id: 550e8400-e29b-41d4-a716-446655440000
title: Python asyncio.gather patterns
created_at: 2026-02-03T20:00:00Z
updated_at: 2026-02-03T21:00:00Z
author: agent-zero
contributors:
  - openclaw
tags:
  - python
aliases:
  - gather
confidence: 0.9
source: task-456
---

# Python asyncio.gather patterns

See [[async/groups]].
"""


def test_the_page_about_lithos_names_every_tool_and_a_command_that_serves_them() -> None:
    assert set(re.findall(r"`(lithos_[a-z_]+)`", PAGE)) == toolsets.tools_of(["lithos"]).keys()
    (block,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert json.loads(block)["mcpServers"]["lithos"] == {"command": "decapod", "args": ["mcp", *LITHOS]}


def test_notes_of_lithos_come_along_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = tmp_path / "lithos-data" / "knowledge"
    (notes / "async").mkdir(parents=True)
    (notes / "patterns.md").write_text(NOTE)
    (notes / "async" / "groups.md").write_text("They cancel. See [[gather]].\n")
    git(tmp_path, "init", "-q", "repository")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (steps,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    subprocess.run(["bash", "-euc", steps], cwd=tmp_path / "repository", check=True, capture_output=True)

    async def story(client: Client) -> None:
        old = "550e8400-e29b-41d4-a716-446655440000"
        read = await answer(client, "lithos_read", id=old)
        told = ("title", "tags", "aliases", "confidence", "source", "path")
        assert [read["metadata"][name] for name in told] == [
            "Python asyncio.gather patterns",
            ["python"],
            ["gather"],
            0.9,
            "task-456",
            "patterns.md",
        ]
        groups = (await answer(client, "lithos_read", path="async/groups.md"))["id"]
        linked = await answer(client, "lithos_links", id=old)
        assert [[one["id"] for one in linked[way]] for way in ("outgoing", "incoming")] == [[groups], [groups]]

    with_client(tmp_path / "repository", story, *LITHOS)
