"""Tools of other systems, as thin adapters over our operations: one function a tool, and nothing typed twice.

An adapter is named like the tool, its docstring is what an agent reads, its request model gives the arguments and its
return type the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter

from decapod_py.foundation.errors import Call, DecapodError, Refused
from decapod_py.operations import catalogue
from decapod_py.surfaces.mcp.schema import Schema, input_schema, output_schema
from decapod_py.surfaces.mcp.tools import Answer, Arguments, Tool, read_request
from decapod_py.workspace import Workspace

T = TypeVar("T")
_WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?", re.ASCII)


class AdaptedRequest(BaseModel):
    """What a tool of another system is asked; an argument that it does not know is refused."""

    model_config = ConfigDict(frozen=True)


def adapted(
    *, writes: bool = False, destructive: bool = False, idempotent: bool = False
) -> Callable[[Callable[[Workspace, Any], Any]], Tool]:
    """Makes a tool of a function `(workspace, request) -> answer`."""

    def made(function: Callable[[Workspace, Any], Any]) -> Tool:
        hints = get_type_hints(function)
        model: type[BaseModel] = hints["request"]

        def asked() -> Schema:
            return input_schema(model.model_json_schema())

        def answered() -> Schema:
            return output_schema(TypeAdapter(hints["return"]).json_schema())

        def run(workspace: Workspace, arguments: Arguments) -> Answer:
            answer: Answer = function(workspace, read_request(model, arguments))
            return answer

        return Tool(
            name=function.__name__,
            description=" ".join((function.__doc__ or "").split()),
            read_only=not writes,
            destructive=destructive,
            idempotent=idempotent or not writes,
            input_schema=asked,
            output_schema=answered,
            run=run,
        )

    return made


def ask(workspace: Workspace, name: str, /, **arguments: Any) -> Answer:
    """The answer of one of our own operations; an argument that is None was not given."""
    operation = catalogue.find(name)
    answer: Answer = operation.function(workspace, read_request(operation.request_model, arguments))
    return answer


def in_utc(given: str | None) -> str | None:
    """A time as others write it, who may leave the zone out; ours says which it is."""
    return f"{given}Z" if given and _WITHOUT_ZONE.fullmatch(given) else given


def unless_refused(workspace: Workspace, codes: Collection[str], call: Callable[[], T]) -> T | None:
    """Nothing where a refusal of one of these codes is an answer there and no error; why is told beside it."""
    try:
        return call()
    except Refused as refusal:
        if refusal.code not in codes:
            raise
        workspace.warnings.append(refusal.message)
        return None


def with_advice(tools: list[Tool], names: Mapping[str, str]) -> list[Tool]:
    """The same tools, whose refusals name a next step that is one of them; `names` says which stands for which."""
    return [_advising(tool, names) for tool in tools]


def _advising(tool: Tool, names: Mapping[str, str]) -> Tool:
    def run(workspace: Workspace, arguments: Arguments) -> Answer:
        try:
            return tool.run(workspace, arguments)
        except DecapodError as refusal:
            hint = refusal.hint
            if isinstance(hint, Call) and hint.operation in names:
                refusal.hint = Call(names[hint.operation], hint.arguments)
            raise

    return replace(tool, run=run)
