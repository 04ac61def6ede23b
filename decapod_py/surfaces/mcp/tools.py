"""A tool is what an agent is offered; most are operations, later ones may adapt another system's."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from decapod_py.foundation.errors import Misused, Refused
from decapod_py.operations.catalogue import Operation
from decapod_py.surfaces.mcp.schema import Schema, compact, input_schema, output_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

    from decapod_py.workspace import Workspace

M = TypeVar("M", bound="BaseModel")

Arguments = dict[str, Any]
Answer = dict[str, Any]

# What an agent gets where it did not ask otherwise: answers of about 6,000 characters of text.
AGENT_DEFAULTS: dict[str, Arguments] = {
    "knowledge.search": {"content": False, "max_chars": 6_000},
    "knowledge.get": {"max_chars": 6_000},
    "knowledge.history": {"limit": 10, "max_chars": 600},  # max_chars cuts each text, not their sum
    "knowledge.list": {"limit": 10},
    "ledger.show": {"limit": 10},
}
LARGEST_ANSWER = 60_000  # characters; clients cut what is longer, and then nobody counts what is missing


@dataclass(frozen=True)
class Tool:
    """The schemas are functions: they are built to be listed, and a call needs none."""

    name: str
    description: str
    read_only: bool
    destructive: bool
    idempotent: bool
    input_schema: Callable[[], Schema]
    output_schema: Callable[[], Schema]
    run: Callable[[Workspace, Arguments], Answer]


def tool_of(operation: Operation) -> Tool:
    """An operation as a tool of the same words."""
    defaults = AGENT_DEFAULTS.get(operation.name, {})

    def asked() -> Schema:
        from decapod_py.operations.requests import PeopleOnly, Unlisted

        schema = operation.request_model.model_json_schema()
        hidden = {*_marked(operation, PeopleOnly), *_marked(operation, Unlisted)}
        return input_schema(schema, hidden=hidden, defaults=defaults)

    def answered() -> Schema:
        return output_schema(operation.result_adapter.json_schema())

    def run(workspace: Workspace, arguments: Arguments) -> Answer:
        from decapod_py.operations.requests import PeopleOnly

        given = {name: value for name, value in arguments.items() if value is not None or name not in defaults}
        request = read_request(operation.request_model, {**defaults, **given}, _marked(operation, PeopleOnly))
        return _bounded(operation, operation.function(workspace, request))

    return Tool(
        name=operation.tool_name,
        description=operation.description,
        read_only=not operation.writes,
        destructive=operation.destructive,
        idempotent=operation.idempotent,
        input_schema=asked,
        output_schema=answered,
        run=run,
    )


def _marked(operation: Operation, mark: type) -> set[str]:
    fields = operation.request_model.model_fields
    return {name for name, field in fields.items() if any(isinstance(one, mark) for one in field.metadata)}


def read_request(model: type[M], arguments: Arguments, hidden: Collection[str] = ()) -> M:
    """The request that these arguments make; what is null was not given, and what is not offered is refused."""
    from pydantic import ValidationError

    offered = model.model_fields.keys() - set(hidden)
    if unknown := sorted(arguments.keys() - offered):
        raise Misused("bad-request", f"unknown: {', '.join(unknown)}", hint=f"it takes: {', '.join(sorted(offered))}")
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise Misused("bad-request", _sentence(error.errors(include_url=False, include_context=False))) from None


def _sentence(problems: list[Any]) -> str:
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in problems)


def _bounded(operation: Operation, answer: Answer) -> Answer:
    """Refuses to flood an agent. A write is answered whatever its size: it has happened."""
    if not operation.writes and (size := len(compact(answer))) > LARGEST_ANSWER:
        message = f"the answer has {size:,} characters, more than {LARGEST_ANSWER:,}"
        raise Refused("too-large", message, hint="ask for less: a smaller limit or max_chars, or a filter")
    return answer
