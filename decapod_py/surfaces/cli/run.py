"""Runs one operation for the command line. Both routes end here, so they answer with the same bytes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.foundation.errors import Misused
from decapod_py.surfaces.cli.commands import spelling
from decapod_py.surfaces.cli.failures import explain, warn
from decapod_py.surfaces.cli.output import answer, is_terminal, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from decapod_py.surfaces.cli.catalogue_shape import Command

    MakeRequest = Callable[[Command, dict[str, Any]], Any]


# A commit does not wait for Rich to be imported, and what is printed to be pasted is not wrapped.
_ALWAYS_PLAIN = frozenset({"hooks.run", "connect"})


class Invocation(NamedTuple):
    """A command line that was understood; nothing has been read or run yet."""

    command: Command
    given: dict[str, Any]  # by field
    files: dict[str, str]  # by field: the file its text is in
    directories: list[str]  # every -C, in order
    as_json: bool


def run(invocation: Invocation, make_request: MakeRequest) -> int:
    """Runs the operation, prints its result or its error, and gives the exit code."""
    return guarded(lambda: _run(invocation, make_request), invocation.as_json)


def guarded(action: Callable[[], int], as_json: bool) -> int:
    """The one place where an exception becomes words and an exit code."""
    try:
        return action()
    except (Exception, KeyboardInterrupt) as problem:
        return explain(problem, as_json)


def _run(invocation: Invocation, make_request: MakeRequest) -> int:
    enter(invocation.directories)
    command = invocation.command
    _refuse_broken_text(invocation)
    request = make_request(command, invocation.given | _texts(invocation))
    result, warnings = _operate(command, request)
    show(command["name"], result, invocation.as_json)
    warn(warnings)
    if result.get("broken"):
        return 3
    return 1 if result.get("ok") is False else 0


def _operate(command: Command, request: Any) -> tuple[dict[str, Any], list[str]]:
    from decapod_py.operations import catalogue
    from decapod_py.workspace import Workspace

    operation = catalogue.find(command["name"], command["module"])
    meter = _meter()
    workspace = Workspace(".", actor=getattr(request, "actor", None), progress=meter)
    try:
        result: dict[str, Any] = operation.function(workspace, request)
        return result, list(workspace.warnings)
    finally:
        if meter:
            meter.close()
        workspace.close()


def _meter() -> Any:
    if not is_terminal(sys.stderr):
        return None
    from decapod_py.surfaces.cli.progress import Meter

    return Meter()


def show(name: str, result: dict[str, Any], as_json: bool) -> None:
    """Prints a result: JSON for programs, tables and colour on a terminal, plain text in a pipe."""
    if as_json:
        answer(to_json(result))
    elif is_terminal(sys.stdout) and name not in _ALWAYS_PLAIN:
        from decapod_py.surfaces.cli.rich_render import render_on_terminal

        render_on_terminal(name, result)
    else:
        from decapod_py.surfaces.cli.plain import render

        text = render(name, result)
        if text:
            answer(text)


def enter(directories: list[str]) -> None:
    """Goes where -C says, so that every relative path of the command line means what it means to git."""
    for directory in directories:
        try:
            os.chdir(directory)
        except OSError as problem:
            raise Misused("bad-directory", f"cannot run in {directory!r}: {problem.strerror}") from None


def _refuse_broken_text(invocation: Invocation) -> None:
    # A shell passes any bytes; where they are no text, Python hides them in lone surrogates that nothing can record.
    for param in invocation.command["params"]:
        value = invocation.given.get(param["field"])
        for text in value if isinstance(value, list) else [value]:
            try:
                str(text).encode("utf-8")
            except UnicodeEncodeError:
                raise Misused("not-utf8", f"{spelling(param)} is not UTF-8") from None


def _texts(invocation: Invocation) -> dict[str, str]:
    """The fields whose text is in a file or on standard input."""
    texts = {}
    for param in invocation.command["params"]:
        field = param["field"]
        if not param["file_option"]:
            continue
        if field in invocation.files:
            if field in invocation.given:
                raise Misused("bad-arguments", f"give {spelling(param)} or {param['file_option']}, not both")
            texts[field] = _text_of_file(invocation.files[field])
        elif invocation.given.get(field) == "-":
            texts[field] = _text_of_standard_input()
    return texts


def _text_of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return _decoded(file.read(), path)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise Misused("unreadable-file", f"{path!r} cannot be read: {reason}") from None


def _text_of_standard_input() -> str:
    if sys.stdin is None:
        raise Misused("unreadable-file", "standard input is closed")
    return _decoded(sys.stdin.buffer.read(), "standard input")


def _decoded(text: bytes, place: str) -> str:
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        advice = "convert it, for instance with iconv -t UTF-8"
        raise Misused("not-utf8", f"{place} is not UTF-8: byte {problem.start + 1}", advice) from None
