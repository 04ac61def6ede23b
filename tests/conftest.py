"""What every test shares: real repositories in temp directories and a clock that stands still."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import PROJECT, StandingClock, made_once

from decapod_py.client import Decapod


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees, or changes, the git configuration of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n"
        "[commit]\n\tgpgsign = false\n[core]\n\tautocrlf = false\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in [name for name in os.environ if name.startswith(("DECAPOD_", "GIT_DIR", "GIT_INDEX", "GIT_WORK"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One repository, made once: starting git and the command five times a test would be most of the run."""
    with made_once(tmp_path_factory) as top:
        return top


@pytest.fixture
def repository(tmp_path: Path, prepared: Path) -> Path:
    """A git repository with one source file, initialised for Decapod and committed."""
    top = tmp_path / "repository"
    shutil.copytree(prepared, top, symlinks=True)
    return top


@pytest.fixture
def knowledge(repository: Path, clock: StandingClock) -> Iterator[Any]:
    """The Python call on a real repository, with a clock that stands still: `knowledge.add(title=..., ...)`."""
    client = Decapod(str(repository), clock=clock)
    yield client.knowledge
    client.close()
