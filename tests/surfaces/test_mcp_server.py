"""The server as a client meets it: a real process, real pipes, the library's own client or raw lines."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from talking import DECAPOD, ENVIRONMENT, answer, refusal, with_client

MODES = ["legacy", "auto", "2026-07-28"]


def decapod(folder: Path, *arguments: str) -> str:
    done = subprocess.run([*DECAPOD, *arguments], cwd=folder, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    return tmp_path


@pytest.fixture
def workspace(repository: Path) -> Path:
    decapod(repository, "init")
    return repository


@pytest.mark.parametrize("mode", MODES)
def test_clients_of_both_protocols_work_as_the_agent_they_name(workspace: Path, mode: str) -> None:
    async def story(client: Client) -> None:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert len((await client.list_tools()).tools) == 9
        added = await answer(client, "knowledge_add", title="Retries", text="stop at 3", provenance=["file:a.py#L1-L2"])
        entry = await answer(client, "knowledge_get", id=added["id"])
        assert (entry["content"], entry["author"]) == ("stop at 3", "agent:tester")
        found = await answer(client, "knowledge_search", query="when do retries stop?")
        assert [hit["id"] for hit in found["results"]] == [added["id"]]
        assert "content" not in found["results"][0]

    with_client(workspace, story, mode=mode)


def test_agents_share_a_task_and_a_held_claim_is_an_answer(workspace: Path) -> None:
    async def story(client: Client) -> None:
        task = (await answer(client, "tasks_create", title="Parse it"))["task_id"]
        mine = await answer(client, "tasks_claim", task_id=task, aspect="docs")
        assert (mine["ok"], mine["agent"]) == (True, "agent:tester")
        theirs = await answer(client, "tasks_claim", task_id=task, aspect="docs", agent="worker")
        assert (theirs["ok"], theirs["held_by"]) == (False, "agent:tester")
        assert (await refusal(client, "tasks_list", limit=0))["code"] == "bad-request"
        assert (await refusal(client, "tasks_post_finding", task_id="nowhere", summary="s"))["code"] == "not-found"
        assert (await refusal(client, "tasks_claim", task_id=task, aspect="docs", agent=""))["code"] == "empty"
        await answer(client, "tasks_post_finding", task_id=task, summary="Found.", agent="worker")
        assert len((await answer(client, "tasks_complete", task_id=task))["released"]) == 1
        assert (await refusal(client, "tasks_claim", task_id=task, aspect="docs"))["hint"] == (
            f'tasks_reopen(task_id="{task}")'
        )
        known = await answer(client, "agents_list")
        assert {agent["id"] for agent in known["agents"]} == {"agent:tester", "worker"}

    with_client(workspace, story, "--toolset", "tasks,agents")


@pytest.mark.parametrize("given", ["option", "environment"])
def test_a_given_actor_replaces_the_client_name(workspace: Path, given: str) -> None:
    async def story(client: Client) -> None:
        added = await answer(client, "knowledge_add", title="T", text="X", provenance=["person:ada"])
        assert (await answer(client, "knowledge_get", id=added["id"]))["author"] == "ci"

    if given == "option":
        with_client(workspace, story, "--actor", "ci")
    else:
        with_client(workspace, story, environment={"DECAPOD_ACTOR": "ci"})


def test_a_missing_workspace_is_told_by_the_call_and_mended_without_a_restart(repository: Path) -> None:
    async def story(client: Client) -> None:
        assert (await refusal(client, "status"))["code"] == "not-initialised"
        await asyncio.to_thread(decapod, repository, "init")
        assert (await answer(client, "status"))["entries"].get("active", 0) == 0

    with_client(repository, story)


def test_arguments_that_are_not_offered_are_refused(workspace: Path) -> None:
    async def story(client: Client) -> None:
        assert await refusal(client, "knowledge_get", id="x", colour="red") == {
            "code": "bad-request",
            "message": "unknown: colour",
            "hint": "it takes: as_of, id, max_chars",
        }
        asked = {"source_entry_id": "x", "evidence_refs": ["person:ada"], "reason": "r", "approved_by": "ada"}
        assert (await refusal(client, "knowledge_promote", **asked))["message"] == "unknown: approved_by"
        assert await refusal(client, "knowledge_search", limit="many") == {
            "code": "bad-request",
            "message": "query: Field required; "
            "limit: Input should be a valid integer, unable to parse string as an integer",
            "hint": None,
        }

    with_client(workspace, story)


def test_a_tool_outside_the_toolset_is_a_protocol_error(workspace: Path) -> None:
    async def story(client: Client) -> None:
        with pytest.raises(MCPError, match="no tool knowledge_delete in toolset core"):
            await client.call_tool("knowledge_delete", {"id": "x"})

    with_client(workspace, story)


def test_answers_are_bounded_and_count_what_they_leave_out(workspace: Path) -> None:
    lines = [
        json.dumps({"title": f"Entry {n}", "content": "walrus " * 3_000, "provenance": "person:ada"}) for n in range(40)
    ]
    (workspace / "many.jsonl").write_text("\n".join(lines))
    decapod(workspace, "knowledge", "import", "many.jsonl")

    async def story(client: Client) -> None:
        found = await answer(client, "knowledge_search", query="walrus", limit=40)
        assert len(json.dumps(found)) < 25_000  # ids, times and scores come on top of 6,000 characters of text
        assert found["count"] + found["omitted"] == 40
        whole = await answer(client, "knowledge_search", query="walrus", limit=40, content=True)
        assert sum(len(hit["content"]) for hit in whole["results"]) <= 6_000
        entry = await answer(client, "knowledge_get", id=found["results"][0]["id"])
        assert (len(entry["content"]), entry["truncated"]) == (5_998, True)  # a whole number of walruses
        entry = await answer(client, "knowledge_get", id=found["results"][0]["id"], max_chars=100_000)
        assert len(entry["content"].split()) == 3_000
        past = await answer(client, "knowledge_history", id=entry["id"])
        assert len(json.dumps(past)) < 3_000

    with_client(workspace, story)


def test_calls_at_the_same_time_are_all_answered(workspace: Path) -> None:
    async def story(client: Client) -> None:
        adds = (
            answer(client, "knowledge_add", title=f"T{n}", text=f"text {n}", provenance=["person:ada"])
            for n in range(20)
        )
        ids = {added["id"] for added in await asyncio.gather(*adds)}
        assert len(ids) == 20
        assert (await answer(client, "status"))["entries"]["active"] == 20

    with_client(workspace, story)


def test_what_another_process_writes_is_found(workspace: Path) -> None:
    async def story(client: Client) -> None:
        assert (await answer(client, "knowledge_search", query="walrus"))["count"] == 0
        arguments = ("knowledge", "add", "--title", "T", "--text", "walrus", "--provenance", "person:ada")
        await asyncio.to_thread(decapod, workspace, *arguments)
        assert (await answer(client, "knowledge_search", query="walrus"))["count"] == 1

    with_client(workspace, story)


def test_an_agent_proposes_and_never_approves(workspace: Path) -> None:
    async def story(client: Client) -> None:
        added = await answer(client, "knowledge_add", title="T", text="X", provenance=["file:a.py#L1"])
        promotion = await answer(
            client,
            "knowledge_promote",
            source_entry_id=added["id"],
            evidence_refs=["file:a.py#L1"],
            reason="it holds",
        )
        assert (promotion["state"], promotion["approved_by"]) == ("proposed", None)
        assert "knowledge_approve" not in {tool.name for tool in (await client.list_tools()).tools}

    with_client(workspace, story, "--toolset", "all")


# Operations that no release has, in a server that is otherwise the real one.
ODD_OPERATIONS = """
    from __future__ import annotations
    import os
    from decapod_py.foundation.errors import Call, Refused
    from decapod_py.operations import catalogue
    from decapod_py.surfaces.mcp import serve

    catalogue.MODULES = ()

    def odd(**kinds):
        def register(function):
            function.__module__ = "decapod_py.operations.status"
            return catalogue.operation(core=True, **kinds)(function)
        return register

    @odd()
    def chatty(workspace: Workspace, request: Nothing) -> Logged:
        '''Prints.'''
        print("stray print")
        os.system("echo stray child")
        os.write(1, b"stray write")
        return {"event_id": "said", "file": ""}

    @odd()
    def refuses(workspace: Workspace, request: Nothing) -> Logged:
        '''Refuses.'''
        workspace.warnings.append("look out")
        raise Refused("held", "it is held", hint=Call("chatty", {"loud": True}))

    @odd()
    def breaks(workspace: Workspace, request: Nothing) -> Logged:
        '''Breaks.'''
        raise ZeroDivisionError("our bug")

    @odd()
    def warns(workspace: Workspace, request: Nothing) -> Logged:
        '''Warns.'''
        workspace.warnings.append("mind the gap")
        return {"event_id": "warned", "file": str(workspace.agent)}

    @odd()
    def floods(workspace: Workspace, request: Nothing) -> Logged:
        '''Floods.'''
        return {"event_id": "x" * 100_000, "file": ""}

    @odd(writes=True)
    def floods_after_writing(workspace: Workspace, request: Nothing) -> Logged:
        '''Floods, but has written.'''
        return {"event_id": "x" * 100_000, "file": ""}

    serve(".", "core", None)
"""


@pytest.fixture
def odd_server(tmp_path: Path) -> list[str]:
    script = tmp_path / "odd_server.py"
    script.write_text(textwrap.dedent(ODD_OPERATIONS))
    return [sys.executable, str(script)]


def test_refusals_bugs_and_warnings_reach_the_agent_and_the_server_goes_on(
    tmp_path: Path, odd_server: list[str]
) -> None:
    async def story(client: Client) -> None:
        refused = await client.call_tool("refuses", {})
        assert refused.is_error
        assert refused.structured_content == {
            "error": {"code": "held", "message": "it is held", "hint": "chatty(loud=true)"}
        }
        assert refused.content[-1].text == "look out"  # type: ignore[union-attr]
        assert await refusal(client, "breaks") == {
            "code": "internal",
            "message": "ZeroDivisionError: our bug",
            "hint": "this is a bug in decapod; its log is on stderr",
        }
        for _ in range(2):  # a warning belongs to one call
            warned = await client.call_tool("warns", {})
            assert [block.text for block in warned.content] == [  # type: ignore[union-attr]
                '{"event_id":"warned","file":"True"}',
                "mind the gap",
            ]
        assert (await refusal(client, "floods"))["code"] == "too-large"
        assert len((await answer(client, "floods_after_writing"))["event_id"]) == 100_000

    with_client(tmp_path, story, command=odd_server)


def request(id_: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


INITIALIZE = request(
    1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "raw", "version": "1"}
)
INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'


def piped(command: list[str], folder: Path, *lines: str) -> tuple[list[Any], str]:
    """What a server answers to lines that are all there at once; it ends by itself."""
    done = subprocess.run(
        command, input="\n".join([*lines, ""]), cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_nothing_but_protocol_reaches_stdout(tmp_path: Path, odd_server: list[str]) -> None:
    said, log = piped(odd_server, tmp_path, INITIALIZE, INITIALIZED, request(2, "tools/call", name="chatty"))

    assert [message["id"] for message in said] == [1, 2]
    assert said[1]["result"]["structuredContent"]["event_id"] == "said"
    assert all(stray in log for stray in ("stray print", "stray child", "stray write"))


def test_a_bad_line_costs_nothing_but_itself(workspace: Path) -> None:
    bad = ["{", "[]", "null", '"x"', "\x00", '{"jsonrpc":"2.0"}', "", "é" * 10]
    said, _ = piped([*DECAPOD, "mcp"], workspace, *bad, INITIALIZE, *bad, INITIALIZED, request(2, "ping"), *bad)

    assert [message["id"] for message in said if "result" in message] == [1, 2]


def test_a_client_that_closes_its_end_still_gets_every_answer(workspace: Path) -> None:
    calls = [
        request(
            n, "tools/call", name="knowledge_add", arguments={"title": f"T{n}", "text": "x", "provenance": ["person:a"]}
        )
        for n in range(2, 12)
    ]
    said, _ = piped([*DECAPOD, "mcp"], workspace, INITIALIZE, INITIALIZED, *calls)

    assert [message["id"] for message in said] == list(range(1, 12))
    assert not any(message["result"].get("isError") for message in said)


def test_a_cancelled_call_does_not_keep_the_server_alive(tmp_path: Path, odd_server: list[str]) -> None:
    cancel = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    said, _ = piped(odd_server, tmp_path, INITIALIZE, INITIALIZED, request(2, "tools/call", name="chatty"), cancel)

    assert said[0]["id"] == 1


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [*DECAPOD, "mcp"], cwd=folder, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        yield server
        server.kill()


@pytest.mark.parametrize("spoken", [True, False])
def test_the_server_ends_when_its_input_does(workspace: Path, spoken: bool) -> None:
    with running(workspace) as server:
        assert server.stdin
        assert server.stdout
        if spoken:
            server.stdin.write(f"{INITIALIZE}\n".encode())
            server.stdin.flush()
            assert json.loads(server.stdout.readline())["id"] == 1
        server.stdin.close()
        assert server.wait(timeout=5) == 0


def test_initialize_is_answered_before_any_operation_is_imported(workspace: Path) -> None:
    watching = "import sys; from decapod_py.surfaces.mcp import serve; serve('.', 'core', None);" + (
        "sys.exit(any(name.startswith(('decapod_py.operations.knowledge.', 'decapod_py.storage', 'sqlite3'))"
        " for name in sys.modules))"
    )
    said, _ = piped([sys.executable, "-c", watching], workspace, INITIALIZE, INITIALIZED)

    assert "never instructions" in said[0]["result"]["instructions"]


def test_the_example_agent_runs(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "agent_over_mcp.py"
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert "Promotion proposed by agent:example-agent" in done.stdout
