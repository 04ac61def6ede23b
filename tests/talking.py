"""How tests talk to the server: a real process, real pipes, and the library's own client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import Client, Implementation, StdioServerParameters
from support import PROJECT

DECAPOD = [sys.executable, "-m", "decapod_py"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "DECAPOD_ACTOR"} | {
    "PYTHONPATH": str(PROJECT)
}


def with_client(
    folder: Path,
    story: Callable[[Client], Awaitable[None]],
    *arguments: str,
    mode: str = "auto",
    command: list[str] | None = None,
    environment: dict[str, str] | None = None,
) -> None:
    """Runs the story with a client that is connected to a server in this folder."""
    program = command or [*DECAPOD, "mcp"]
    server = StdioServerParameters(
        command=program[0], args=[*program[1:], *arguments], cwd=folder, env=ENVIRONMENT | (environment or {})
    )

    async def tell() -> None:
        async with Client(server, mode=mode, client_info=Implementation(name="tester", version="1")) as client:
            await story(client)

    asyncio.run(tell())


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    return result.structured_content["error"]
