"""What the operation tests share: the whole Python call, and a refusal that must change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import StandingClock

from decapod_py.client import Decapod, request_of
from decapod_py.foundation.errors import DecapodError
from decapod_py.operations import catalogue
from decapod_py.workspace import Workspace

Refusal = Callable[..., DecapodError]


@pytest.fixture
def opened(repository: Path, clock: StandingClock) -> Iterator[Any]:
    """The whole Python call: `opened.status()`, `opened.ledger.verify()`."""
    client = Decapod(str(repository), clock=clock)
    yield client
    client.close()


@pytest.fixture
def knowledge(opened: Any) -> Any:
    return opened.knowledge


@pytest.fixture
def as_agent(repository: Path, clock: StandingClock) -> Iterator[Callable[..., Any]]:
    """Runs an operation the way an agent's call arrives."""
    workspace = Workspace(str(repository), actor="agent:tester", agent=True, clock=clock)

    def call(name: str, **arguments: Any) -> Any:
        operation = catalogue.find(name)
        return operation.function(workspace, request_of(operation, arguments))

    yield call
    workspace.close()


@pytest.fixture
def refused(repository: Path, opened: Any) -> Refusal:
    """Asserts that a call is refused with this code and exit code, and that nothing at all has changed."""

    def check(code: str, exit_code: int, call: Callable[..., Any], **arguments: Any) -> DecapodError:
        before = everything(repository, opened)
        with pytest.raises(DecapodError) as refusal:
            call(**arguments)
        assert (refusal.value.code, refusal.value.exit_code) == (code, exit_code), refusal.value.message
        assert everything(repository, opened) == before
        return refusal.value

    return check


def everything(repository: Path, opened: Any) -> tuple[int, str, dict[str, bytes]]:
    """Events, state and every file that is not git's or local."""
    status = opened.status()
    return status["events"], status["digest"], files_of(repository)


def files_of(repository: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(repository)): path.read_bytes()
        for path in sorted(repository.rglob("*"))
        if path.is_file() and ".git" not in path.parts and not path.is_relative_to(repository / ".decapod" / "local")
    }
