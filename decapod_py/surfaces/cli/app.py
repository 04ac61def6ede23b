"""The slow route: a Typer application built from the catalogue. It teaches, completes, and words every parse error."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any, Literal

import typer
from typer.core import TyperGroup

from decapod_py.foundation.errors import Misused
from decapod_py.surfaces.cli import examples
from decapod_py.surfaces.cli.catalogue_shape import Command, Param
from decapod_py.surfaces.cli.commands import ALIASES, PROGRAM, commands, spelling, words
from decapod_py.surfaces.cli.failures import asks_for_json
from decapod_py.surfaces.cli.output import answer, is_terminal, to_json
from decapod_py.surfaces.cli.run import Invocation, enter, guarded, run

Serve = Callable[[str, str, str | None], None]
Given = dict[str, Any]
_DIRECTORY, _JSON = "run_in", "as_json"  # parameter names that no request uses
_SIMPLE_TYPES: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool, "list": list[str]}
_SHELLS = ("bash", "zsh", "fish")


def run_typer(argv: list[str], serve: Serve) -> int:
    """Parses with Typer, runs, and gives the exit code."""
    return guarded(lambda: _main(argv, serve), asks_for_json(argv))


def _main(argv: list[str], serve: Serve) -> int:
    from typer._completion_classes import completion_init

    completion_init()  # Typer does this only for applications that show its own two completion options
    try:
        exit_code: int | None = typer.main.get_command(build(serve)).main(argv, PROGRAM, standalone_mode=False)
    except typer.TyperException as problem:
        raise _usage_error(problem) from None
    return exit_code or 0


def _usage_error(problem: typer.TyperException) -> Misused:
    context = getattr(problem, "ctx", None)
    path = context.command_path if context else PROGRAM
    message = problem.format_message()
    return Misused("bad-arguments", message[:1].lower() + message[1:].removesuffix("."), f"{path} --help")


def build(serve: Serve) -> typer.Typer:
    """The application: one command an operation, and the few that belong to the command line itself."""
    app = _typer("", examples.TAGLINE)
    app.callback()(_root)
    groups: dict[str, typer.Typer] = {}
    for command in commands().values():
        *group, verb = words(command["name"])
        if group and group[0] not in groups:
            groups[group[0]] = _group(group[0])
        _register(groups[group[0]] if group else app, verb, command["name"], command["description"], _callback(command))
    for name, typer_group in groups.items():
        app.add_typer(typer_group, name=name)
    for alias, meant in ALIASES.items():
        command = commands()[meant]
        app.command(alias, help=_prose(command["description"]), epilog=_epilog(meant), hidden=True)(_callback(command))
    _register(app, "schema", "schema", examples.SCHEMA_HELP, _schema)
    _register(app, "mcp", "mcp", examples.MCP_HELP, _mcp(serve))
    _register(app, "watch", "watch", examples.WATCH_HELP, _watch)
    _register(app, "completion", "completion", examples.COMPLETION_HELP, _completion)
    return app


class _ReadingOrder(TyperGroup):
    """Lists groups right after `init`, where a reader looks for them; Typer would put them last."""

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: (name != "init", name not in examples.GROUPS))


def _typer(name: str, text: str) -> typer.Typer:
    return typer.Typer(
        cls=_ReadingOrder,
        help=_prose(text),
        epilog=_epilog(name),
        add_completion=False,
        invoke_without_command=True,
        rich_markup_mode="rich" if _rich_help() else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _group(name: str) -> typer.Typer:
    group = _typer(name, examples.GROUPS.get(name, ""))

    def without_command(context: typer.Context) -> int:
        return _help_unless_a_command_follows(context)

    # Typer reads annotations by name in this module, and the context is found by its type.
    group.callback()(without_command)
    return group


def _register(app: typer.Typer, verb: str, name: str, text: str, callback: Callable[..., int]) -> None:
    # Without a short help of its own Typer cuts the first sentence off in the middle.
    summary = _prose(text.split("\n")[0])
    app.command(verb, help=_prose(text), short_help=summary, epilog=_epilog(name.replace(".", " ")))(callback)


def _rich_help() -> bool:
    return is_terminal(sys.stdout)


def _prose(text: str) -> str:
    # Our words contain [brackets]; Rich would take them for markup.
    return text.replace("[", "\\[") if _rich_help() else text


def _epilog(name: str) -> str | None:
    lines = examples.EXAMPLES.get(name)
    if not lines:
        return None
    listed = "\n".join(["Examples:", *(f"  {line}" for line in lines)])
    return _prose(listed) if _rich_help() else f"\b\n{listed}"  # \b: Typer's plain help leaves these lines alone


def _help_unless_a_command_follows(context: typer.Context) -> int:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    return 0


def _root(
    context: typer.Context,
    run_in: str | None = typer.Option(None, "-C", metavar="DIR", help=examples.GLOBAL_OPTIONS["-C DIR"]),
    as_json: bool = typer.Option(False, "--json", help=examples.GLOBAL_OPTIONS["--json"]),
    version: bool = typer.Option(False, "--version", help="Print the version."),
) -> int:
    if version:
        from decapod_py import __version__

        answer(to_json({"version": __version__}) if as_json else f"{PROGRAM} {__version__}")
        raise typer.Exit
    return _help_unless_a_command_follows(context)


def _callback(command: Command) -> Callable[..., int]:
    def run_command(context: typer.Context, **given: Any) -> int:
        directories, as_json = _globals(context, given.pop(_DIRECTORY), given.pop(_JSON))
        files = {
            param["field"]: given.pop(_file_name(param))
            for param in command["params"]
            if param["file_option"] and given[_file_name(param)] is not None
        }
        fields = {param["field"] for param in command["params"]}
        stated = {field: value for field, value in given.items() if field in fields and value not in (None, [])}
        return run(Invocation(command, stated, files, directories, as_json), _model)

    _sign(run_command, [parameter for param in command["params"] for parameter in _parameters(param)])
    return run_command


def _globals(context: typer.Context, run_in: str | None, as_json: bool) -> tuple[list[str], bool]:
    """-C and --json from before and after the command."""
    root = context.find_root().params
    return [directory for directory in (root[_DIRECTORY], run_in) if directory is not None], root[_JSON] or as_json


def _model(command: Command, given: Given) -> Any:
    from decapod_py.client import request_of
    from decapod_py.operations import catalogue

    spellings = {param["field"]: spelling(param) for param in command["params"]}
    operation = catalogue.find(command["name"], command["module"])
    return request_of(operation, given, lambda field: spellings.get(field, field))


def _sign(function: Callable[..., int], parameters: list[inspect.Parameter]) -> None:
    """Gives a function the signature Typer reads: the context, these parameters, -C and --json."""
    shared = inspect.signature(_root).parameters
    signature = inspect.Signature(
        [
            inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *parameters,
            _parameter(_DIRECTORY, str | None, shared[_DIRECTORY].default),
            _parameter(_JSON, bool, shared[_JSON].default),
        ]
    )
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {}


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _parameters(param: Param) -> list[inspect.Parameter]:
    """What Typer needs for one field: one parameter, and one more where the text may come from a file."""
    annotation = Literal[tuple(param["choices"])] if param["choices"] else _SIMPLE_TYPES[param["kind"]]
    if not param["required"]:
        annotation = annotation | None
    parameters = [_parameter(param["field"], annotation, _declared(param))]
    if param["file_option"]:
        text = f"Read it from this file; {spelling(param)} - reads standard input"
        declared = typer.Option(None, param["file_option"], metavar="FILE", help=text)
        parameters.append(_parameter(_file_name(param), str | None, declared))
    return parameters


def _declared(param: Param) -> Any:
    default = param["default"] if param["default"] != [] else None
    settings: dict[str, Any] = {
        "help": _prose(param["help"]),
        "metavar": param["metavar"],
        "min": param["min"],
        "max": param["max"],
    }
    if param["required"]:
        default = ...
    if not param["options"]:
        return typer.Argument(default, **settings)
    names = "/".join([*param["options"], *param["off_options"]])
    return typer.Option(default, names, **settings)


def _file_name(param: Param) -> str:
    return f"{param['field']}_file"


def _schema(
    context: typer.Context,
    operation: str | None = typer.Argument(None, metavar="OPERATION", help="Such as knowledge.add (default: all)"),
    as_json: bool = typer.Option(False, "--json", help="On one line"),
) -> int:
    from decapod_py.surfaces.cli.schema import schemas

    found = schemas(operation)
    if _globals(context, None, as_json)[1]:
        answer(to_json(found))
    else:
        import json

        answer(json.dumps(found, indent=2, ensure_ascii=False))
    return 0


def _watch(
    context: typer.Context,
    as_json: bool = typer.Option(False, "--json", help="One JSON value a line, whenever something was taken in"),
    run_in: str | None = typer.Option(None, "-C", metavar="DIR", help=examples.GLOBAL_OPTIONS["-C DIR"]),
) -> int:
    from decapod_py.surfaces.cli.failures import explain
    from decapod_py.surfaces.cli.run import show
    from decapod_py.surfaces.cli.watching import watch

    directories, json_wanted = _globals(context, run_in, as_json)
    enter(directories)

    def show_now(result: dict[str, Any]) -> None:
        show("sync", result, json_wanted)
        sys.stdout.flush()

    return watch(show_now, lambda problem: explain(problem, json_wanted))


def _mcp(serve: Serve) -> Callable[..., int]:
    def mcp(
        context: typer.Context,
        toolset: str = typer.Option("core", help="Which tools to offer"),
        actor: str | None = typer.Option(None, help="Who acts (default: agent:<the client's name>)"),
        run_in: str | None = typer.Option(None, "-C", metavar="DIR", help=examples.GLOBAL_OPTIONS["-C DIR"]),
    ) -> int:
        enter(_globals(context, run_in, False)[0])
        serve(os.getcwd(), toolset, actor)
        return 0

    return mcp


def _completion(
    shell: str | None = typer.Argument(None, metavar="|".join(_SHELLS), help="Default: the shell in SHELL"),
) -> int:
    from typer._completion_shared import get_completion_script

    from decapod_py.surfaces.cli.fast import COMPLETION_VARIABLE

    wanted = shell or os.path.basename(os.environ.get("SHELL", ""))
    if wanted not in _SHELLS:
        raise Misused("unknown-shell", f"no completion for the shell {wanted!r}", f"name one of {', '.join(_SHELLS)}")
    answer(get_completion_script(prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE, shell=wanted))
    return 0
