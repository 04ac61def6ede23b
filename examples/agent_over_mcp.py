"""A small agent that uses Decapod over MCP: it looks first, records what it learns, says what helped, proposes a rule.

Run it with `python examples/agent_over_mcp.py`; it works in a scratch repository of its own.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client, Implementation, StdioServerParameters

DECAPOD = [sys.executable, "-m", "decapod_py"]

RETRY = """\
def fetch(url):
    for attempt in range(3):
        if reply := try_once(url):
            return reply
    raise TimeoutError(url)
"""


def scratch_repository(folder: Path) -> None:
    """A git repository with one source file and a Decapod workspace."""
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    (folder / "fetch.py").write_text(RETRY)
    subprocess.run([*DECAPOD, "init"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """One tool call; a refusal says what to do next, so an agent should read it."""
    result = await client.call_tool(tool, arguments)
    answer: dict[str, Any] = result.structured_content
    if result.is_error:
        error = answer["error"]
        raise SystemExit(f"{tool} refused ({error['code']}): {error['message']}. Next: {error['hint']}")
    return answer


async def work(client: Client) -> None:
    tools = (await client.list_tools()).tools
    print(f"{len(tools)} tools: {', '.join(tool.name for tool in tools)}")

    question = "how often is a fetch retried?"
    found = await call(client, "knowledge_search", query=question)
    print(f"Before: {found['count']} entries answer {question!r}")

    added = await call(
        client,
        "knowledge_add",
        title="A fetch is tried three times",
        text="fetch() tries three times, then raises TimeoutError. There is no pause between the tries.",
        provenance=["file:fetch.py#L2-L5"],
        tags=["network"],
    )
    print(f"Recorded {added['id']} ({added['action']})")

    found = await call(client, "knowledge_search", query=question)
    best = found["results"][0]
    print(f"After: {found['count']} entry, best is {best['title']!r} from {best['provenance']}")

    ids = [result["id"] for result in found["results"]]
    await call(
        client, "knowledge_retrieval_log", query=question, returned_ids=ids, used_ids=[best["id"]], outcome="helped"
    )
    print("Said that it helped: the next search ranks it higher")

    proposal = await call(
        client,
        "knowledge_promote",
        source_entry_id=best["id"],
        evidence_refs=["file:fetch.py#L2-L5"],
        reason="Every caller relies on it",
    )
    print(f"Promotion {proposal['state']} by {proposal['actor']}: a person approves it, an agent cannot")


async def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        scratch_repository(folder)
        server = StdioServerParameters(command=DECAPOD[0], args=[*DECAPOD[1:], "mcp"], cwd=folder, env=dict(os.environ))
        me = Implementation(name="example-agent", version="1")
        async with Client(server, client_info=me) as client:
            await work(client)


if __name__ == "__main__":
    asyncio.run(main())
