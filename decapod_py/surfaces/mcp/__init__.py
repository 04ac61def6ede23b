"""`decapod mcp`: the operations as tools for agents, over standard input and output."""

from __future__ import annotations


def serve(directory: str, toolset: str, actor: str | None) -> None:
    """Answers one client until it closes our standard input."""
    from decapod_py.surfaces.mcp import toolsets

    names = toolsets.parse(toolset)

    # The protocol library costs 0.4 s to import: only this command pays for it, and no misuse waits for it.
    from decapod_py.surfaces.mcp.server import serve_stdio

    serve_stdio(directory, names, actor)
