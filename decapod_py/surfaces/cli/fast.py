"""The fast route: reads a command line with the standard library alone, in a tenth of the time Typer and pydantic take.

It only accepts. On any doubt it answers None before anything has run, and Typer finds the words for what is wrong: so
every parse error has one source. A test compares both routes byte for byte.
"""

from __future__ import annotations

import os
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from decapod_py.surfaces.cli.commands import commands
from decapod_py.surfaces.cli.run import Invocation, run

if TYPE_CHECKING:
    from decapod_py.surfaces.cli.catalogue_shape import Command, Param

COMPLETION_VARIABLE = "_DECAPOD_COMPLETE"
_INTEGER = re.compile(r"[0-9]{1,15}")
_DECIMAL = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")


class Doubt(Exception):
    """This command line is for Typer."""


def run_fast(argv: list[str]) -> int | None:
    """The exit code, or None where the command line is not surely right."""
    if COMPLETION_VARIABLE in os.environ:
        return None
    try:
        invocation = understood(argv)
    except Doubt:
        return None
    return run(invocation, _namespace)


def understood(argv: list[str]) -> Invocation:
    """The command line as an invocation; raises Doubt."""
    directories: list[str] = []
    rest = list(reversed(argv))
    as_json = False
    while rest and rest[-1].startswith("-"):
        option = rest.pop()
        if option == "--json":
            as_json = True
        elif option == "-C" and not directories:
            directories.append(_value(rest))
        else:
            raise Doubt
    command = _command(rest)
    reader = _Reader(command)
    reader.read(rest)
    return Invocation(
        command, reader.checked(), reader.files, directories + reader.directories, as_json or reader.as_json
    )


def _command(rest: list[str]) -> Command:
    name = _value(rest)
    found = commands().get(name) if "." not in name else None
    if found is None and rest and "." not in name + rest[-1]:
        found = commands().get(f"{name}.{rest.pop()}")
    if found is None:
        raise Doubt
    return found


def _value(rest: list[str]) -> str:
    # A value that looks like an option may be a forgotten value: not ours to decide.
    if not rest or (rest[-1].startswith("-") and rest[-1] != "-"):
        raise Doubt
    return rest.pop()


class _Reader:
    """Collects the words after the command."""

    def __init__(self, command: Command) -> None:
        self.params = command["params"]
        self.arguments = [param for param in self.params if not param["options"]]
        self.options = {option: param for param in self.params for option in param["options"]}
        self.off_options = {option: param for param in self.params for option in param["off_options"]}
        self.file_options = {param["file_option"]: param for param in self.params if param["file_option"]}
        self.given: dict[str, Any] = {}
        self.files: dict[str, str] = {}
        self.directories: list[str] = []
        self.as_json = False

    def read(self, rest: list[str]) -> None:
        while rest:
            word = rest.pop()
            if word == "--":
                for argument in reversed(rest):
                    self._argument(argument)
                return
            if word.startswith("-") and word != "-":
                self._option(word, rest)
            else:
                self._argument(word)

    def _argument(self, word: str) -> None:
        if not self.arguments:
            raise Doubt
        param = self.arguments[0]
        if param["kind"] == "list":  # takes all that follow
            self.given.setdefault(param["field"], []).append(word)
        else:
            self.given[param["field"]] = _converted(self.arguments.pop(0), word)

    def _option(self, word: str, rest: list[str]) -> None:
        name, equals, attached = word.partition("=")
        if not equals and self._switched(name):
            return
        if name == "-C" and not equals and not self.directories:
            self.directories.append(_value(rest))
        elif name in self.file_options and self.file_options[name]["field"] not in self.files:
            self.files[self.file_options[name]["field"]] = attached if equals else _value(rest)
        elif name in self.options and self.options[name]["kind"] != "bool":
            self._store(self.options[name], attached if equals else _value(rest))
        else:
            raise Doubt

    def _switched(self, name: str) -> bool:
        if name == "--json":
            self.as_json = True
            return True
        param = self.options.get(name) or self.off_options.get(name)
        if param is None or param["kind"] != "bool":
            return False
        if param["field"] in self.given:
            raise Doubt
        self.given[param["field"]] = name in self.options
        return True

    def _store(self, param: Param, word: str) -> None:
        field = param["field"]
        if param["kind"] == "list":
            self.given.setdefault(field, []).append(word)
        elif field in self.given:
            raise Doubt
        else:
            self.given[field] = _converted(param, word)

    def checked(self) -> dict[str, Any]:
        for param in self.params:
            missing = param["field"] not in self.given and param["field"] not in self.files
            if param["required"] and missing:
                raise Doubt
        return self.given


def _converted(param: Param, word: str) -> Any:
    kind = param["kind"]
    if kind == "choice" and word not in param["choices"]:
        raise Doubt
    if kind in ("int", "float"):
        return _number(param, word)
    return word


def _number(param: Param, word: str) -> float:
    pattern = _INTEGER if param["kind"] == "int" else _DECIMAL
    if not pattern.fullmatch(word):
        raise Doubt
    number = int(word) if param["kind"] == "int" else float(word)
    least, most = param["min"], param["max"]
    if (least is not None and number < least) or (most is not None and number > most):
        raise Doubt
    return number


def _namespace(command: Command, given: dict[str, Any]) -> SimpleNamespace:
    """The request: what an operation reads from the model, without the model."""
    defaults = {param["field"]: _fresh(param["default"]) for param in command["params"]}
    return SimpleNamespace(**(defaults | given))


def _fresh(default: Any) -> Any:
    return list(default) if isinstance(default, list) else default
