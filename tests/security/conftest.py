"""An empty workspace for strangers to attack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import StandingClock, git

from decapod_py.client import Decapod


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda handle: None)
    monkeypatch.setattr("os.sync", lambda: None)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    top.mkdir()
    git(top, "init", "-q")
    with Decapod(top) as client:
        client.init()
    return top


@pytest.fixture
def opened(repository: Path, clock: StandingClock) -> Iterator[Any]:
    client = Decapod(repository, actor="Ada", clock=clock)
    yield client
    client.close()


@pytest.fixture
def knowledge(opened: Any) -> Any:
    return opened.knowledge
