"""How each agent's client is told of our MCP server: its file, its format, and our part of it.

A client's file belongs to whoever wrote it: our part goes in and comes out, the rest stays, comments and order too.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any, NamedTuple

from decapod_py.domain import json_text
from decapod_py.foundation.errors import Call, Refused

NAME = "decapod"
_RUN: dict[str, Any] = {"command": "decapod", "args": ["mcp"]}


class Client(NamedTuple):
    """One client, as it is set up for a repository."""

    name: str
    path: str  # below the top of the working tree
    table: str  # what its servers are listed under
    server: dict[str, Any]
    instructions: str  # the file that its agents read first
    remark: str = ""

    @property
    def is_toml(self) -> bool:
        return self.path.endswith(".toml")


CLIENTS = {
    client.name: client
    for client in (
        Client("claude", ".mcp.json", "mcpServers", _RUN, "CLAUDE.md"),
        Client("cursor", ".cursor/mcp.json", "mcpServers", _RUN, "AGENTS.md"),
        Client("vscode", ".vscode/mcp.json", "servers", {"type": "stdio", **_RUN}, "AGENTS.md"),
        Client(
            "codex",
            ".codex/config.toml",
            "mcp_servers",
            _RUN,
            "AGENTS.md",
            "Codex reads this file once it trusts the project",
        ),
        Client("gemini", ".gemini/settings.json", "mcpServers", _RUN, "GEMINI.md"),
    )
}


def alone(client: Client) -> str:
    """Our part as a whole file."""
    if client.is_toml:
        return _toml_section(client)
    return json.dumps({client.table: {NAME: client.server}}, indent=2) + "\n"


def connected(client: Client, text: str) -> str:
    """The client's file with our part in it."""
    if not text.strip("\ufeff \t\r\n"):
        return alone(client)
    return _connected_toml(client, text) if client.is_toml else _connected_json(client, text)


def disconnected(client: Client, text: str) -> str:
    """The client's file without our part; empty where it is the file that we made."""
    if not text.strip("\ufeff \t\r\n"):
        return text
    return _disconnected_toml(client, text) if client.is_toml else _disconnected_json(client, text)


def _connected_json(client: Client, text: str) -> str:
    servers = _servers(client, text)
    if servers is None:
        return _proved(client, text, _with(text, _read(client, text), client.table, {NAME: client.server}))
    assert servers.members is not None
    if NAME not in servers.members:
        return _proved(client, text, _with(text, servers, NAME, client.server))
    existing = servers.members[NAME].node
    _refuse_other(client, existing.value)
    changed = text
    for field in [field for field in client.server if field not in existing.value]:
        node = _servers(client, changed)
        assert node is not None and node.members is not None
        changed = json_text.with_member(changed, node.members[NAME].node, field, client.server[field])
    return changed


def _disconnected_json(client: Client, text: str) -> str:
    servers = _servers(client, text)
    if servers is None or servers.members is None or NAME not in servers.members:
        return text
    _refuse_other(client, servers.members[NAME].node.value)
    if text == alone(client):
        return ""
    # What else was empty before, or may have been, is somebody's own: it goes only where putting it back gives this.
    without_table = json_text.without_member(text, _read(client, text), client.table)
    if len(servers.members) == 1 and _connected_json(client, without_table) == text:
        return _proved(client, text, without_table)
    return _proved(client, text, json_text.without_member(text, servers, NAME))


def _with(text: str, target: json_text.Node, name: str, value: Any) -> str:
    """With one more member. An object that was empty is filled on one line, by which it is known again."""
    if target.members or text[target.start + 1 : target.end - 1].strip():
        return json_text.with_member(text, target, name, value)
    return f"{text[: target.start]}{{ {json.dumps(name)}: {json.dumps(value)} }}{text[target.end :]}"


def _servers(client: Client, text: str) -> json_text.Node | None:
    root = _read(client, text)
    assert root.members is not None
    found = root.members.get(client.table)
    if found and found.node.members is None:
        raise _unreadable(client, f"{client.table} is no object")
    return found.node if found else None


def _read(client: Client, text: str) -> json_text.Node:
    # A byte order mark is kept; a blank in its place leaves every position as it is.
    readable = " " + text[1:] if text.startswith("\ufeff") else text
    try:
        root = json_text.parse(readable)
    except json_text.BadJson as problem:
        raise _unreadable(client, f"it is no JSON: {problem}") from None
    if root.members is None:
        raise _unreadable(client, "it is no JSON object")
    return root


def _proved(client: Client, text: str, changed: str) -> str:
    """The changed text, if all that changed is our part."""
    if _others(client, _data(client, text)) != _others(client, _data(client, changed)):
        raise _unreadable(client, "its layout leaves no safe place for a change")
    return changed


def _data(client: Client, text: str) -> Any:
    if not client.is_toml:
        return _read(client, text).value
    import tomllib

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise _unreadable(client, f"it is no TOML: {problem}") from None


def _others(client: Client, data: dict[str, Any]) -> dict[str, Any]:
    """What the file says besides our part."""
    servers = {name: server for name, server in data.get(client.table, {}).items() if name != NAME}
    rest = {name: value for name, value in data.items() if name != client.table}
    return {**rest, client.table: servers}


def _toml_section(client: Client) -> str:
    lines = [f"{field} = {json.dumps(value)}" for field, value in client.server.items()]
    return "\n".join([f"[{client.table}.{NAME}]", *lines]) + "\n"


def _toml_server(client: Client, text: str) -> Any:
    servers = _data(client, text).get(client.table, {})
    if not isinstance(servers, dict):
        raise _unreadable(client, f"{client.table} is no table")
    return servers.get(NAME)


def _connected_toml(client: Client, text: str) -> str:
    existing = _toml_server(client, text)
    if existing is not None:
        _refuse_other(client, existing)
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    ended = text if text.endswith("\n") else text + newline
    return _proved(client, text, ended + newline + _toml_section(client).replace("\n", newline))


def _disconnected_toml(client: Client, text: str) -> str:
    existing = _toml_server(client, text)
    if existing is None:
        return text
    _refuse_other(client, existing)
    kept: list[str] = []
    waiting: list[str] = []  # blank lines and comments: those before the next table are that table's
    ours = False
    header = re.compile(rf"\s*\[\s*{client.table}\s*\.\s*{NAME}\s*(\.[^\]]*)?\]")
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            was_ours, ours = ours, bool(header.match(line))
            kept += waiting if not (was_ours and ours) else []
            waiting = []
        if not ours:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            waiting.append(line)
        else:
            waiting = []
    if ours and not waiting and kept and not kept[-1].strip():
        kept.pop()  # the blank line that came with our section
    kept += waiting
    changed = "".join(kept)
    if _toml_server(client, changed) is not None:
        raise _unreadable(client, f"{client.table}.{NAME} is not a table of its own in it")
    return "" if not changed.strip("\ufeff \t\r\n") else _proved(client, text, changed)


def _refuse_other(client: Client, server: Any) -> None:
    """A server is ours if it runs `decapod mcp`, by whatever path and with whatever else somebody gave it."""
    command = server.get("command") if isinstance(server, dict) else None
    arguments = server.get("args", []) if isinstance(server, dict) else []
    found = [str(word) for word in [command or "", *(arguments if isinstance(arguments, list) else [])]]
    words = [re.split(r"[/\\]", found[0])[-1].removesuffix(".exe"), *found[1:]]
    if any(pair in ((NAME, "mcp"), ("decapod_py", "mcp")) for pair in pairwise(words)):
        return
    raise Refused(
        "other-server",
        f"{client.path} has another server named {NAME}: it runs {' '.join(found).strip()!r}, not 'decapod mcp'",
        "give that server another name, or remove it",
        {"found": found, "wanted": [client.server["command"], *client.server["args"]]},
    )


def _unreadable(client: Client, reason: str) -> Refused:
    return Refused(
        "unreadable-config",
        f"{client.path} was not changed: {reason}",
        Call("connect", {"client": client.name, "print": True}),
    )
