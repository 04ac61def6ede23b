"""The Python call: `decapod_py.open(path).knowledge.add(title=...)` is the same operation every surface serves."""

from __future__ import annotations

import inspect
import keyword
import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from decapod_py.domain.text import has_surrogates
from decapod_py.foundation.clock import Clock, system_clock
from decapod_py.foundation.errors import Misused
from decapod_py.operations import catalogue
from decapod_py.workspace import Workspace

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    from decapod_py.operations.catalogue import Operation

Result = dict[str, Any]


def open(path: str | os.PathLike[str] = ".", *, actor: str | None = None) -> Decapod:  # noqa: A001  (the user's word)
    """Opens the workspace of this directory, as the command line does with `-C`."""
    return Decapod(path, actor=actor)


def request_of(operation: Operation, arguments: dict[str, Any], spell: Callable[[str], str] = str) -> BaseModel:
    """The validated request. `spell` gives an argument the name its caller knows it by."""
    from pydantic import ValidationError

    for field, value in arguments.items():
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and has_surrogates(text) for text in texts):
            raise Misused("not-utf8", f"{spell(field)} is not valid Unicode")
    try:
        return operation.request_model.model_validate(arguments)
    except ValidationError as problem:
        raise Misused("bad-arguments", _sentence(problem, spell)) from None


def _sentence(problem: ValidationError, spell: Callable[[str], str]) -> str:
    found = []
    for error in problem.errors(include_url=False, include_context=False):
        field = str(error["loc"][0]) if error["loc"] else ""
        message = error["msg"][:1].lower() + error["msg"][1:]
        found.append(f"{spell(field)}: {message}" if field else message)
    return "; ".join(found)


class Decapod:
    """An opened workspace whose operations are methods: `d.status()`, `d.knowledge.add(...)`, `d.ledger.verify()`."""

    def __init__(
        self, path: str | os.PathLike[str] = ".", *, actor: str | None = None, clock: Clock = system_clock
    ) -> None:
        self._workspace = Workspace(os.fspath(path), actor=actor, clock=clock)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copy, pickle and notebooks ask for these; none is an operation
            raise AttributeError(name)
        operations = _operations()
        verb = _verb(name)
        if verb in operations:
            return Method(self, operations[verb])
        if any(operation.group == name for operation in operations.values()):
            return Group(self, name)
        raise AttributeError(f"decapod has no operation or group {name!r}")

    def __dir__(self) -> list[str]:
        operations = _operations().values()
        top_level = [_python_name(operation) for operation in operations if not operation.group]
        groups = {operation.group for operation in operations if operation.group}
        return sorted({*object.__dir__(self), *top_level, *groups})

    def __enter__(self) -> Decapod:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes what the calls opened; a later call opens it again."""
        self._workspace.close()

    @property
    def warnings(self) -> list[str]:
        """What the last call wanted to be known."""
        return list(self._workspace.warnings)

    def call(self, operation: Operation, arguments: dict[str, Any]) -> Result:
        """Runs one operation and gives its result."""
        request = request_of(operation, arguments)
        self._workspace.warnings.clear()
        result: Result = operation.function(self._workspace, request)
        return result


class Group:
    """The operations of one group as methods."""

    def __init__(self, decapod: Decapod, name: str) -> None:
        self._decapod = decapod
        self._name = name

    def __getattr__(self, name: str) -> Method:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            operation = catalogue.find(f"{self._name}.{_verb(name)}")
        except KeyError:
            raise AttributeError(f"{self._name} has no operation {name!r}") from None
        return Method(self._decapod, operation)

    def __dir__(self) -> list[str]:
        names = [_python_name(operation) for operation in _operations().values() if operation.group == self._name]
        return sorted({*object.__dir__(self), *names})


class Method:
    """One operation, ready to be called with its request's fields."""

    def __init__(self, decapod: Decapod, operation: Operation) -> None:
        self._decapod = decapod
        self._operation = operation
        self.__name__ = operation.verb
        self.__doc__ = operation.description

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._operation.request_model)

    def __call__(self, **arguments: Any) -> Result:
        return self._decapod.call(self._operation, arguments)


@cache
def _operations() -> dict[str, Operation]:
    return {operation.name: operation for operation in catalogue.all_operations()}


def _verb(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _python_name(operation: Operation) -> str:
    name = operation.verb.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name
