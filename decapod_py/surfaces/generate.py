"""Writes what is derived: the command line's catalogue, `schemas/`, `docs/reference.md`, `docs/gates.md`, the DDL.

`python -m decapod_py.surfaces.generate` writes; with `--check` it names every file that differs, and exits 1.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from decapod_py.domain.policy import GATE_LEVELS
from decapod_py.gates import registry
from decapod_py.operations import catalogue
from decapod_py.operations.catalogue import Operation
from decapod_py.operations.requests import Cli, PeopleOnly, Unlisted
from decapod_py.storage.tables import embedded_ddl
from decapod_py.surfaces.cli import examples
from decapod_py.surfaces.cli.catalogue_shape import Command, Param
from decapod_py.surfaces.cli.commands import PROGRAM, spelling, words
from decapod_py.surfaces.cli.schema import Schema, request_schema, result_schema

ROOT = Path(__file__).absolute().parents[2]
_CATALOGUE = "decapod_py/surfaces/cli/catalogue.json"
_DDL = "decapod_py/storage/schema.sql"
_METAVARS = {"str": "TEXT", "list": "TEXT", "int": "N", "float": "X"}
_KINDS = {str: "str", int: "int", float: "float", bool: "bool"}


def main(argv: list[str], root: Path = ROOT) -> int:
    """Writes every generated file, or checks them."""
    wanted = generated(catalogue.all_operations())
    unwanted = [path for path in existing(root) if path not in wanted]
    different = [path for path, text in wanted.items() if _read(root / path) != text]
    if "--check" in argv:
        return _report(different, unwanted)
    for path in different:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(wanted[path], encoding="utf-8", newline="\n")
    for path in unwanted:
        (root / path).unlink()
    return 0


def existing(root: Path) -> list[str]:
    """Files that only this program writes."""
    return sorted(path.relative_to(root).as_posix() for path in (root / "schemas").glob("*.json"))


def _report(different: list[str], unwanted: list[str]) -> int:
    for path in different:
        sys.stderr.write(f"{path} differs from the code\n")
    for path in unwanted:
        sys.stderr.write(f"{path} belongs to no operation\n")
    if different or unwanted:
        sys.stderr.write("run: python -m decapod_py.surfaces.generate\n")
        return 1
    return 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def generated(operations: list[Operation]) -> dict[str, str]:
    """Every generated file by its path in the repository."""
    listed = [command(operation) for operation in operations]
    files = {_CATALOGUE: _json(listed, indent=1)}
    for operation in operations:
        files[f"schemas/{operation.name}.request.json"] = _json(request_schema(operation))
        files[f"schemas/{operation.name}.result.json"] = _json(result_schema(operation))
    files["docs/reference.md"] = reference(list(zip(operations, listed, strict=True)))
    files["docs/gates.md"] = gates_page()
    files[_DDL] = embedded_ddl()
    return files


_GATES_PAGE = """\
# Gates

`decapod validate` (or `check`) proves that what the repository knows still matches the repository. It never repairs.
With `--base REF` it looks at what a branch changes since it left REF; in CI that needs the whole history
(`fetch-depth: 0`). Exit 0: nothing that fails; 1: findings that fail (with `--strict` warnings too); 2: misused; 3: a
gate broke. A gate that was skipped says so, and did not pass. `[gates]` in `.decapod/config.toml` sets each level to
`fail`, `warn` or `off`; with `--base` the stricter of the branch's and the base's counts. `--write-baseline` records
today's findings in `.decapod/baseline.json`: from then on only new ones count. `--format sarif` and `--format github`
are for forges.

This page is made from the gates themselves; `decapod validate --explain GATE` tells the same.
"""


def gates_page() -> str:
    """Every gate in its own words."""
    parts = [_GATES_PAGE]
    for name, level in GATE_LEVELS.items():
        parts.append(f"## {name}\n\nBy default: {level}.\n\n{registry.explanation(name)}\n")
    return "\n".join(parts)


def _json(value: Any, indent: int = 2) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"


def command(operation: Operation) -> Command:
    """One operation as a command."""
    model = operation.request_model
    _refuse_validators(model)
    return {
        "name": operation.name,
        "module": operation.module,
        "help": operation.summary,
        "description": operation.description,
        "writes": operation.writes,
        "destructive": operation.destructive,
        "params": [param(name, field) for name, field in model.model_fields.items()],
    }


def _refuse_validators(model: type[BaseModel]) -> None:
    # The fast route never sees the model, so a rule written as a validator would hold on one route only.
    decorators = model.__pydantic_decorators__
    if decorators.field_validators or decorators.model_validators or decorators.validators:
        raise TypeError(f"{model.__name__} has a validator: put the rule into the operation")


def param(name: str, field: FieldInfo) -> Param:
    """One field of a request as an option or an argument."""
    cli = next((mark for mark in field.metadata if isinstance(mark, Cli)), Cli())
    kind, choices = _kind(name, field.annotation)
    option, _, off_option = (cli.option or f"--{name.replace('_', '-')}").partition("/")
    least, most = _bounds(name, field)
    return {
        "field": name,
        "kind": kind,
        "options": [] if cli.positional else [option],
        "off_options": [off_option] if off_option else [],
        "file_option": f"{option}-file" if cli.reads_file else None,
        "required": field.is_required(),
        "default": None if field.is_required() else field.get_default(call_default_factory=True, validated_data={}),
        "choices": choices,
        "min": least,
        "max": most,
        "metavar": cli.metavar or (name.upper() if cli.positional else _METAVARS.get(kind)),
        "help": field.description or "",
    }


def _kind(name: str, annotation: Any) -> tuple[str, list[str]]:
    if get_origin(annotation) in (Union, types.UnionType):
        return _kind(name, next(part for part in get_args(annotation) if part is not type(None)))
    if get_origin(annotation) is Literal:
        return "choice", list(get_args(annotation))
    if annotation == list[str]:
        return "list", []
    if annotation not in _KINDS:
        raise TypeError(f"the command line has no way to give {name} a value of type {annotation}")
    return _KINDS[annotation], []


def _bounds(name: str, field: FieldInfo) -> tuple[Any, Any]:
    least = most = None
    for rule in field.metadata:
        if isinstance(rule, annotated_types.Ge):
            least = rule.ge
        elif isinstance(rule, annotated_types.Le):
            most = rule.le
        elif not isinstance(rule, Cli | PeopleOnly | Unlisted):
            raise TypeError(f"the fast route does not know the rule {rule!r} of {name}")
    return least, most


def reference(documented: list[tuple[Operation, Command]]) -> str:
    """The reference page: one section an operation."""
    sections = [
        "# Reference",
        "Generated from the operations by `python -m decapod_py.surfaces.generate`. Do not edit by hand.",
        "Every operation also takes:",
        _table(("option", "meaning"), [(f"`{name}`", text) for name, text in examples.GLOBAL_OPTIONS.items()]),
        "Exit codes: 0 done, 1 refused or a check failed, 2 misused, 3 a bug in Decapod, 130 interrupted.",
        *(_section(operation, command) for operation, command in documented),
        *(
            _own_section(name, text)
            for name, text in {
                "schema": examples.SCHEMA_HELP,
                "mcp": examples.MCP_HELP,
                "completion": examples.COMPLETION_HELP,
            }.items()
        ),
    ]
    return "\n\n".join(sections) + "\n"


def _section(operation: Operation, command: Command) -> str:
    name = " ".join(words(operation.name))
    parts = [
        f"## {name}",
        f"```text\n{usage(command)}\n```",
        operation.description,
        _options_table(command["params"]),
        _examples(name),
        f"Gives:\n\n{_result_table(result_schema(operation))}",
        f"Python: `{_python_call(operation)}` · {_tool(operation)} · schemas: "
        f"[request](../schemas/{operation.name}.request.json), [result](../schemas/{operation.name}.result.json)",
    ]
    return "\n\n".join(part for part in parts if part)


def _own_section(name: str, text: str) -> str:
    return f"## {name}\n\n{text}\n\n{_examples(name)}"


def usage(command: Command) -> str:
    """`decapod knowledge settle ID|KEY --keep VERSION|ID [OPTIONS]`."""
    typed = [PROGRAM, *words(command["name"])]
    for param in command["params"]:
        if not param["options"]:
            typed.append(spelling(param) if param["required"] else f"[{spelling(param)}]")
        elif param["required"]:
            typed.append(f"{param['options'][0]} {_placeholder(param)}")
    return " ".join([*typed, "[OPTIONS]"])


def _placeholder(param: Param) -> str:
    return param["metavar"] or "|".join(param["choices"])


def _options_table(params: list[Param]) -> str:
    rows = [row for param in params for row in _option_rows(param)]
    return _table(("option", "meaning", "default"), rows) if rows else ""


def _option_rows(param: Param) -> list[tuple[str, ...]]:
    names = ", ".join([*param["options"], *param["off_options"]])
    typed = f"{names} {_placeholder(param)}".strip() if names else spelling(param)
    rows: list[tuple[str, ...]] = [(f"`{typed}`", param["help"] + _limits(param), _default(param))]
    if param["file_option"]:
        rows.append((f"`{param['file_option']} FILE`", f"Read it from a file; `{names} -` reads standard input", ""))
    return rows


def _limits(param: Param) -> str:
    if param["min"] is None and param["max"] is None:
        return ""
    if param["max"] is None:
        return f" (at least {param['min']})"
    return f" ({param['min']} to {param['max']})"


def _default(param: Param) -> str:
    if param["required"]:
        return "required"
    return f"`{param['default']}`" if param["default"] not in (None, False, []) else ""


def _examples(name: str) -> str:
    lines = examples.EXAMPLES.get(name)
    return "```sh\n{}\n```".format("\n".join(lines)) if lines else ""


def _result_table(schema: Schema) -> str:
    definitions = schema.get("$defs", {})
    required = schema.get("required", [])
    rows: list[tuple[str, ...]] = [
        (f"`{field}`", _type(part, definitions) + ("" if field in required else ", where it applies"))
        for field, part in schema.get("properties", {}).items()
    ]
    return _table(("field", "type"), rows)


def _type(schema: Schema, definitions: Schema) -> str:
    """A JSON Schema in a few words."""
    if "$ref" in schema:
        fields = definitions[schema["$ref"].rsplit("/", 1)[1]].get("properties", {})
        return "{" + ", ".join(f"`{field}`" for field in fields) + "}"
    if "anyOf" in schema:
        return " or ".join(_type(part, definitions) for part in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}), definitions)}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'], definitions)}"
    return str(schema.get("type", "any value"))


def _python_call(operation: Operation) -> str:
    target = f"{operation.group}." if operation.group else ""
    return f"decapod_py.open().{target}{operation.function.__name__}(...)"


def _tool(operation: Operation) -> str:
    if not operation.tool:
        return "not offered to agents"
    return f"MCP tool: `{operation.tool_name}`" + (" (core)" if operation.core else "")


def _table(heading: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heading, tuple("---" for _ in heading), *rows]
    # A bar inside a cell would start the next one, in code spans too.
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
