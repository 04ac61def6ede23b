"""A repository with two entries, made once and copied: most of a test would be spent on making it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from forging import commit
from support import decapod, made_once


@pytest.fixture(scope="session")
def prepared_knowledge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with made_once(tmp_path_factory) as top:
        decapod(top, "knowledge", "add", "Lines three", "--id", "three", "--from", "src/a.py:3")
        commit(top, "Know of line three")
        decapod(top, "knowledge", "add", "Lines nine", "--id", "nine", "--from", "src/a.py:9")
        commit(top, "Know of line nine")
    return top


@pytest.fixture
def known(tmp_path: Path, prepared_knowledge: Path) -> Path:
    """A clean repository whose entries `three` and `nine` cite lines of src/a.py, each committed by itself."""
    top = tmp_path / "known"
    shutil.copytree(prepared_knowledge, top, symlinks=True)
    return top
