"""JSON Schema of what an operation takes and gives."""

from __future__ import annotations

from typing import Any

from decapod_py.foundation.errors import Misused
from decapod_py.operations import catalogue
from decapod_py.operations.catalogue import Operation

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


def request_schema(operation: Operation) -> Schema:
    return _headed(operation, "request", operation.request_model.model_json_schema())


def result_schema(operation: Operation) -> Schema:
    return _headed(operation, "result", operation.result_adapter.json_schema())


def _headed(operation: Operation, part: str, schema: Schema) -> Schema:
    heading = {"$schema": DIALECT, "title": f"{operation.name} {part}", "description": operation.summary}
    return heading | {key: value for key, value in schema.items() if key not in heading}


def schemas(name: str | None) -> Schema:
    """Both schemas of one operation, or of all of them by name."""
    operations = {operation.name: operation for operation in catalogue.all_operations()}
    if name is None:
        return {name: _both(operation) for name, operation in operations.items()}
    found = operations.get(name) or _by_tool_name(operations, name)
    if found is None:
        raise Misused("unknown-operation", f"there is no operation {name!r}", f"one of {', '.join(operations)}")
    return _both(found)


def _by_tool_name(operations: dict[str, Operation], name: str) -> Operation | None:
    return next((operation for operation in operations.values() if operation.tool_name == name), None)


def _both(operation: Operation) -> Schema:
    return {
        "operation": operation.name,
        "request": request_schema(operation),
        "result": result_schema(operation),
    }
