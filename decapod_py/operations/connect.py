"""`decapod connect`: tells an agent's client of our MCP server, and its agents how to use it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Literal, NamedTuple

from decapod_py.domain import client_configs, instructions
from decapod_py.foundation.errors import Call, Misused, Refused
from decapod_py.foundation.files import read_bytes, write_whole
from decapod_py.operations.catalogue import operation
from decapod_py.workspace import FOLDER, make_local

if TYPE_CHECKING:
    from decapod_py.domain.client_configs import Client
    from decapod_py.operations.requests import Connect
    from decapod_py.operations.shapes import Connected
    from decapod_py.workspace import Workspace


class _Change(NamedTuple):
    """What is to become of one file."""

    path: str  # as people know it
    target: str  # where its bytes are, links followed
    action: Literal["made", "changed", "unchanged", "removed"]
    data: bytes


@operation(writes=True, idempotent=True, tool=False)
def connect(workspace: Workspace, request: Connect) -> Connected:
    """Tell an agent's client of Decapod's tools, in the client's own configuration of this repository.

    What else the file holds stays as it is. With --instructions a short section for agents is kept between markers in
    CLAUDE.md (claude), GEMINI.md (gemini) or AGENTS.md (the others).
    """
    client = client_configs.CLIENTS[request.client]
    if request.print and request.remove:
        raise Misused("bad-arguments", "give --print or --remove, not both")
    if request.print:
        return _printed(client, request.instructions)
    # Both are decided before either is written: a refusal changes nothing.
    changes = [_configuration(workspace, client, request.remove)]
    if request.instructions:
        changes.append(_instructions(workspace, client, request.remove))
    for change in changes:
        _carry_out(workspace, change)
    written = [change.path for change in changes if change.action in ("made", "changed")]
    follow = [f"git add {' '.join(written)}"] if written and workspace.repository else []
    return {
        "client": client.name,
        "files": [{"path": change.path, "action": change.action} for change in changes],
        "next": follow + ([client.remark] if client.remark and not request.remove else []),
    }


def _printed(client: Client, with_instructions: bool) -> Connected:
    texts = {client.path: client_configs.alone(client)}
    if with_instructions:
        texts[client.instructions] = instructions.SECTION
    return {
        "client": client.name,
        "files": [{"path": path, "action": "printed", "text": text} for path, text in texts.items()],
        "next": [],
    }


def _configuration(workspace: Workspace, client: Client, remove: bool) -> _Change:
    target, data = _found(workspace, client.path)
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError as problem:
        hint = Call("connect", {"client": client.name, "print": True})
        raise Refused("not-utf8", f"{client.path} is not UTF-8: byte {problem.start + 1}", hint) from None
    changed = client_configs.disconnected(client, text) if remove else client_configs.connected(client, text)
    return _change(client.path, target, data, changed.encode())


def _instructions(workspace: Workspace, client: Client, remove: bool) -> _Change:
    path = client.instructions
    target, data = _found(workspace, path)
    if b"\0" in (data or b""):
        raise Refused("not-text", f"{path} is no plain text", "save it as UTF-8")
    # Whatever encoding it has: its bytes come out as they went in.
    text = (data or b"").decode("utf-8", "surrogateescape")
    changed = instructions.without_section(text, path) if remove else instructions.with_section(text, path)
    return _change(path, target, data, changed.encode("utf-8", "surrogateescape"))


def _found(workspace: Workspace, path: str) -> tuple[str, bytes | None]:
    """Where the file is, and its bytes. A repository of a stranger's could have us write somewhere else."""
    top = os.path.realpath(workspace.root)
    target = os.path.realpath(os.path.join(top, path))
    inside = os.path.relpath(target, top).split(os.sep)
    if inside[0] in (os.pardir, ".git", FOLDER):
        raise Refused("link", f"{path} leads to {target}; nothing is written there", "put a file in its place")
    if os.path.lexists(target) and not os.path.isfile(target):
        raise Refused("in-the-way", f"{path} is no file", "move it away")
    return target, read_bytes(target)


def _change(path: str, target: str, before: bytes | None, after: bytes) -> _Change:
    if after == (before or b""):
        return _Change(path, target, "unchanged", after)
    if before is None:
        return _Change(path, target, "made", after)
    return _Change(path, target, "changed" if after else "removed", after)


def _carry_out(workspace: Workspace, change: _Change) -> None:
    if change.action == "unchanged":
        return
    if change.action == "removed" and not os.path.islink(os.path.join(workspace.root, change.path)):
        os.unlink(change.target)
        _remove_if_empty(workspace.root, os.path.dirname(change.path))
        return
    make_local(workspace.local)
    mode = stat.S_IMODE(os.stat(change.target).st_mode) if change.action != "made" else None
    write_whole(change.target, change.data, scratch=workspace.local, mode=mode)


def _remove_if_empty(root: str, folder: str) -> None:
    if folder:
        try:
            os.rmdir(os.path.join(root, folder))
        except OSError:
            pass  # others keep files there, or it is a link
