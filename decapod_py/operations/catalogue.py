"""`@operation` turns a plain function into a command, a tool, a schema and a Python call.

This module imports neither pydantic nor any operation: the fast route of the command line pays for what it runs only.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from decapod_py.foundation.errors import Refused

if TYPE_CHECKING:
    from pydantic import BaseModel, TypeAdapter

    from decapod_py.workspace import Workspace

PACKAGE = "decapod_py.operations"
MODULES = (
    "setup",
    "status",
    "stats",
    "why",
    "scan",
    "validate",
    "review",
    "repair",
    "sync",
    "knowledge.add",
    "knowledge.search",
    "knowledge.reading",
    "knowledge.drift",
    "knowledge.lifecycle",
    "knowledge.promotion",
    "knowledge.feedback",
    "knowledge.importing",
    "knowledge.exporting",
    "links",
    "tags",
    "tasks",
    "agents",
    "eval",
    "ledger",
    "proof",
    "trust",
    "hooks",
    "connect",
)
TOP_LEVEL = frozenset(
    {"setup", "status", "stats", "why", "scan", "validate", "review", "sync", "repair", "trust", "connect", "tags"}
)

_ATTEMPTS = 3

F = TypeVar("F", bound=Callable[..., Any])


class Operation:
    """What every surface needs to know about one operation; models are built when first asked for."""

    def __init__(
        self, function: Callable[..., Any], *, writes: bool, destructive: bool, idempotent: bool, core: bool, tool: bool
    ) -> None:
        self.function = function
        self.writes = writes
        self.destructive = destructive
        self.idempotent = idempotent
        self.core = core
        self.tool = tool

    @cached_property
    def module(self) -> str:
        return self.function.__module__.removeprefix(PACKAGE + ".")

    @cached_property
    def group(self) -> str:
        """`knowledge`, `ledger`, or nothing for a top-level operation."""
        first = self.module.split(".")[0]
        return "" if first in TOP_LEVEL else first

    @cached_property
    def verb(self) -> str:
        return self.function.__name__.rstrip("_").replace("_", "-")

    @cached_property
    def name(self) -> str:
        """`knowledge.retrieval-log`, or `status` at the top level."""
        return f"{self.group}.{self.verb}" if self.group else self.verb

    @cached_property
    def tool_name(self) -> str:
        """`knowledge_retrieval_log`: the same words for agents."""
        return self.name.replace(".", "_").replace("-", "_")

    @cached_property
    def summary(self) -> str:
        return self.description.split("\n")[0]

    @cached_property
    def description(self) -> str:
        from inspect import cleandoc  # 3 ms that only help and schemas pay

        return cleandoc(self.function.__doc__ or "")

    @cached_property
    def request_model(self) -> type[BaseModel]:
        model: type[BaseModel] = self._hints["request"]
        return model

    @cached_property
    def result_type(self) -> Any:
        return self._hints["return"]

    @cached_property
    def result_adapter(self) -> TypeAdapter[Any]:
        from pydantic import TypeAdapter

        return TypeAdapter(self.result_type)

    @cached_property
    def _hints(self) -> dict[str, Any]:
        from typing import get_type_hints

        from decapod_py.operations import requests, shapes
        from decapod_py.workspace import Workspace

        return get_type_hints(self.function, localns={**vars(shapes), **vars(requests), "Workspace": Workspace})


_REGISTERED: dict[str, Operation] = {}


def operation(
    *,
    writes: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    core: bool = False,
    tool: bool = True,
) -> Callable[[F], F]:
    """Marks `(workspace, request) -> result` as an operation.

    `core` puts it in the small default toolset; `tool=False` keeps it from agents altogether.
    """

    def register(function: F) -> F:
        repeatable = idempotent or not writes
        found = Operation(
            _on_firm_ground(function, repeatable),
            writes=writes,
            destructive=destructive,
            idempotent=repeatable,
            core=core,
            tool=tool,
        )
        _REGISTERED[found.name] = found
        return function

    return register


def _on_firm_ground(function: F, repeatable: bool) -> Callable[..., Any]:
    """A question is asked again when a segment was packed under it, or when a page of the database shows damage."""

    @wraps(function)
    def guarded(workspace: Workspace, request: Any) -> Any:
        for _ in range(_ATTEMPTS):
            try:
                return function(workspace, request)
            except Exception as problem:
                damaged = workspace.replace_damaged(problem)
                if damaged and not repeatable:
                    raise Refused(
                        "database-damaged",
                        "the database was damaged and has been made anew from the ledgers, which are whole",
                        "look whether the change is recorded, and do it again if not",
                    ) from problem
                if not damaged and not (repeatable and workspace.lost_a_segment(problem)):
                    raise
            finally:
                workspace.end_question()
        return function(workspace, request)

    return guarded


def all_operations() -> list[Operation]:
    """Every operation, in the order people read about them."""
    for module in MODULES:
        importlib.import_module(f"{PACKAGE}.{module}")
    return list(_REGISTERED.values())


def find(name: str, module: str | None = None) -> Operation:
    """The operation of this name; `module` spares importing the others."""
    if module:
        importlib.import_module(f"{PACKAGE}.{module}")
    elif name not in _REGISTERED:
        all_operations()
    return _REGISTERED[name]
