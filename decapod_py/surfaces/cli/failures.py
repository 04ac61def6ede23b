"""What went wrong, for the reader at hand: a sentence with the next step, or one line of JSON; and the exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from decapod_py.domain.text import one_line
from decapod_py.foundation.errors import Call, DecapodError, Hint, refused_by_the_machine
from decapod_py.surfaces.cli.commands import PROGRAM, commands, words
from decapod_py.surfaces.cli.output import is_terminal, report, to_json

if TYPE_CHECKING:
    from decapod_py.surfaces.cli.catalogue_shape import Param

INTERRUPTED = 130
BUG = 3


def explain(problem: BaseException, as_json: bool) -> int:
    """Tells the user about any exception and gives the exit code."""
    if isinstance(problem, DecapodError):
        return _tell(problem, problem.exit_code, as_json)
    if isinstance(problem, KeyboardInterrupt):
        return _tell(DecapodError("interrupted", "interrupted"), INTERRUPTED, as_json)
    refusal = refused_by_the_machine(problem)
    if refusal:
        return _tell(refusal, refusal.exit_code, as_json)
    return _tell(_bug(problem, as_json), BUG, as_json)


def _bug(problem: BaseException, as_json: bool) -> DecapodError:
    message = f"Decapod itself failed: {type(problem).__name__}: {problem}"
    if not os.environ.get("DECAPOD_DEBUG"):
        return DecapodError("bug", message, "run it again with DECAPOD_DEBUG=1 for the traceback, and report it")
    import traceback

    trace = "".join(traceback.format_exception(problem))
    if not as_json:
        report(trace.rstrip())
    return DecapodError("bug", message, "report it with the traceback", {"traceback": trace} if as_json else None)


def _tell(error: DecapodError, exit_code: int, as_json: bool) -> int:
    hint = written_hint(error.hint)
    if as_json:
        told: dict[str, Any] = {"code": error.code, "message": error.message, "hint": hint}
        if error.details:
            told["details"] = error.details
        report(to_json({"error": told}))
    else:
        report(f"{_word('error:', '31')} {one_line(error.message)} [{one_line(error.code)}]")
        if hint:
            report(f"{_word('hint:', '36')} {one_line(hint)}")
    return exit_code


def warn(sentences: list[str]) -> None:
    for sentence in sentences:
        report(f"{_word('warning:', '33')} {one_line(sentence)}")


def _word(word: str, colour: str) -> str:
    # Written by hand: an error should not wait for Rich to be imported.
    if not is_terminal(sys.stderr) or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return word
    return f"\x1b[1;{colour}m{word}\x1b[0m"


def written_hint(hint: Hint) -> str | None:
    """The next step as words, or as the command line to type."""
    return command_line(hint) if isinstance(hint, Call) else hint


def command_line(call: Call) -> str:
    """`decapod knowledge settle x --keep ...`: quoted for a shell, with dots for what is left to decide."""
    command = commands().get(call.operation)
    arguments = dict(call.arguments)
    params = command["params"] if command else []
    given = [(param, arguments.pop(param["field"], None)) for param in params]
    values, options = _typed_arguments(given), _typed_options(given)
    options += [f"--{field.replace('_', '-')}={_quoted(value)}" for field, value in arguments.items()]
    dashed = any(value.startswith("-") for value in values)
    typed = [*options, "--", *values] if dashed else [*values, *options]
    return " ".join([PROGRAM, *words(call.operation), *typed])


def _typed_arguments(given: list[tuple[Param, Any]]) -> list[str]:
    return [
        "..." if value is None else _quoted(value)
        for param, value in given
        if not param["options"] and (value is not None or param["required"])
    ]


def _typed_options(given: list[tuple[Param, Any]]) -> list[str]:
    return [
        word
        for param, value in given
        if param["options"] and (value is not None or param["required"])
        for word in _typed_option(param, value)
    ]


def _typed_option(param: Param, value: Any) -> list[str]:
    option = param["options"][0]
    if value is None:
        return [option, "..."]
    if param["kind"] == "bool":
        return [option] if value else param["off_options"][:1]
    values = value if isinstance(value, list | tuple) else [value]
    return [
        word
        for text in map(_quoted, values)
        for word in ([f"{option}={text}"] if text.startswith("-") else [option, text])
    ]


def _quoted(value: Any) -> str:
    import shlex

    text = str(value)
    return text if text == "..." else shlex.quote(text)


def asks_for_json(argv: list[str]) -> bool:
    """Whether errors of this command line are for a program, even when it could not be parsed."""
    options = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in options
