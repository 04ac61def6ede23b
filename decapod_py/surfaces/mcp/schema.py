"""JSON schemas cut down to what an agent reads: every character of a tool list costs it context."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

Schema = dict[str, Any]

NULL: Schema = {"type": "null"}
NAMED = ("properties", "$defs")  # below these, keys are names, not keywords
_TEXTS: tuple[Schema, ...] = ({"type": "string"}, {"type": ["string", "null"]})
UNASKED = {"description", "additionalProperties"}


def input_schema(schema: Schema, *, hidden: Collection[str] = (), defaults: Mapping[str, Any] | None = None) -> Schema:
    """What a tool may be given: without the fields of people, and with the defaults agents get."""
    fields: Schema = {name: field for name, field in schema.get("properties", {}).items() if name not in hidden}
    for name, value in (defaults or {}).items():
        fields[name] = {**fields[name], "default": value}
    asked = {**schema, "properties": {name: _asked(field) for name, field in fields.items()}}
    # The tool has its own description, and a call with unknown arguments is refused in words that help more.
    return _shorter(_rewritten({key: asked[key] for key in asked if key not in UNASKED}, _plain))


def output_schema(schema: Schema) -> Schema:
    """What a tool answers; the protocol wants an object at the root.

    A field of which nothing is said is a text. Nothing is `required`: a third of the length, and clients check an
    error's `{"error": ...}` against this schema too.
    The full schema of every answer is in `schemas/`.
    """
    return {"type": "object"} | _shorter(_rewritten(schema, _sketched))


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _asked(field: Schema) -> Schema:
    """An optional argument is left out, so neither null nor an empty default needs saying.

    Nor that a number begins at 0 or 1.
    """
    field = {key: value for key, value in field.items() if not (key == "default" and _is_empty(value))}
    options = field.pop("anyOf", None)
    if options is not None:
        said = [option for option in options if option != NULL]
        field = {**said[0], **field} if len(said) == 1 else {"anyOf": said, **field}
    return {key: value for key, value in field.items() if key != "minimum" or value not in (0, 1)}


def _is_empty(default: Any) -> bool:
    return default is None or default is False or default == []


def _rewritten(node: Any, rewrite: Callable[[Schema], Schema]) -> Any:
    """Every schema inside this one rewritten, the innermost first."""
    if isinstance(node, list):
        return [_rewritten(each, rewrite) for each in node]
    if not isinstance(node, dict):
        return node
    inner = {
        key: {name: _rewritten(each, rewrite) for name, each in value.items()}
        if key in NAMED
        else _rewritten(value, rewrite)
        for key, value in node.items()
    }
    return rewrite(inner)


def _plain(node: Schema) -> Schema:
    """Without what the name of a field says already."""
    return _nullable({key: value for key, value in node.items() if key != "title"})


def _sketched(node: Schema) -> Schema:
    """The fields and their kinds; that a list holds strings, its values show."""
    sketch = {key: value for key, value in node.items() if key not in ("required", "description")}
    for key in ("items", "additionalProperties"):
        if isinstance(sketch.get(key), bool) or sketch.get(key, {}).keys() == {"type"}:
            sketch.pop(key, None)
    fields = {name: {} if _is_text(field) else field for name, field in sketch.get("properties", {}).items()}
    return _plain({**sketch, "properties": fields} if fields else sketch)


def _is_text(field: Schema) -> bool:
    """A text, or one of a few that its value shows."""
    return field in _TEXTS or (field.get("type") == "string" and field.keys() <= {"type", "enum", "const"})


def _nullable(node: Schema) -> Schema:
    """`{"type": ["string", "null"]}` says the same as an `anyOf` of two schemas."""
    options = node.get("anyOf", [])
    said = [option for option in options if option != NULL]
    if len(options) != 2 or len(said) != 1 or not isinstance(said[0].get("type"), str) or "enum" in said[0]:
        return node
    others = {key: value for key, value in node.items() if key != "anyOf"}
    return {**said[0], "type": [said[0]["type"], "null"], **others}


def _shorter(schema: Schema) -> Schema:
    """With its definitions put in place, where that is shorter."""
    definitions = schema.get("$defs", {})
    whole = {key: _inlined(value, definitions) for key, value in schema.items() if key != "$defs"}
    still_refers = "#/$defs/" in compact(whole)
    return schema if still_refers or len(compact(whole)) > len(compact(schema)) else whole


def _inlined(node: Any, definitions: Schema, within: tuple[str, ...] = ()) -> Any:
    if isinstance(node, list):
        return [_inlined(each, definitions, within) for each in node]
    if not isinstance(node, dict):
        return node
    name = str(node.get("$ref", "")).removeprefix("#/$defs/")
    if name in within or (name and name not in definitions):
        return node  # it refers to itself, or to something that is not ours to replace
    if name:
        others = {key: value for key, value in node.items() if key != "$ref"}
        return {**_inlined(definitions[name], definitions, (*within, name)), **others}
    return {key: _inlined(value, definitions, within) for key, value in node.items()}
