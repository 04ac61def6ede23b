"""Processes that die, and a repository for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from durability.commands import Commands, Tree, lived_in_tree, new_tree, scratch_folder


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    found = Commands(tmp_path_factory.mktemp("home") / "ada")
    yield found
    found.close()


@pytest.fixture(scope="session")
def lived_in(commands: Commands) -> Iterator[Tree]:
    """Copied for each test, never changed by one."""
    with scratch_folder() as folder:
        yield lived_in_tree(commands, folder / "tree")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for working trees."""
    with scratch_folder() as folder:
        yield folder


@pytest.fixture
def tree(commands: Commands, place: Path) -> Tree:
    """A new repository."""
    return new_tree(commands, place / "tree")
