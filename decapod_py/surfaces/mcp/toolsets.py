"""The named sets of tools. The default is small: a long tool list costs an agent its context."""

from __future__ import annotations

from collections.abc import Callable

from decapod_py.foundation.errors import Misused
from decapod_py.operations.catalogue import Operation, all_operations
from decapod_py.surfaces.mcp import lithos
from decapod_py.surfaces.mcp.tools import Tool, tool_of


def _operations(belongs: Callable[[Operation], bool]) -> list[Tool]:
    return [tool_of(operation) for operation in all_operations() if operation.tool and belongs(operation)]


# The one place that names toolsets; each makes its tools when the client first asks for any.
TOOLSETS: dict[str, Callable[[], list[Tool]]] = {
    "core": lambda: _operations(lambda operation: operation.core),
    "knowledge": lambda: _operations(lambda operation: operation.group == "knowledge"),
    "tasks": lambda: _operations(lambda operation: operation.group == "tasks"),
    "agents": lambda: _operations(lambda operation: operation.group == "agents"),
    "links": lambda: _operations(lambda operation: operation.group == "links" or operation.name == "tags"),
    "ledger": lambda: _operations(lambda operation: operation.group == "ledger"),
    "all": lambda: _operations(lambda operation: True),
    "lithos": lithos.tools,
}

# What a client is told at the start where a toolset of another system is served alone.
INSTRUCTIONS = {"lithos": lithos.INSTRUCTIONS}


def parse(wanted: str) -> list[str]:
    """`core,ledger` as names of toolsets."""
    names = [name for part in wanted.split(",") if (name := part.strip())]
    unknown = [name for name in names if name not in TOOLSETS]
    if unknown or not names:
        message = f"no toolset is called {', '.join(unknown)}" if unknown else "no toolset is named"
        raise Misused("unknown-toolset", message, hint=f"there are {', '.join(TOOLSETS)}")
    return names


def tools_of(names: list[str]) -> dict[str, Tool]:
    """The union of these toolsets by tool name, in the order they are named."""
    return {tool.name: tool for name in names for tool in TOOLSETS[name]()}
