"""What a start costs: the fast route imports no heavy library, and help needs no pydantic."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import decapod_py

# The package as it is imported here, installed or not.
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(decapod_py.__file__).parents[1])}
HEAVY = ("pydantic", "typer", "rich", "mcp", "sqlalchemy", "git", "pathlib", "dataclasses", "asyncio")
PROGRAM = """
import sys
from decapod_py.__main__ import main
exit_code = main(sys.argv[1:])
sys.stderr.write(" ".join(name for name in {names!r} if name in sys.modules))
sys.exit(exit_code)
"""


def imported(names: tuple[str, ...], directory: Path, *argv: str) -> set[str]:
    program = PROGRAM.format(names=names)
    return set(run(directory, "-c", program, *argv).stderr.split())


def run(directory: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *argv], cwd=directory, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    run(tmp_path, "-m", "decapod_py", "init")
    return tmp_path


@pytest.mark.parametrize("argv", [["--json"], []], ids=["json", "plain"])
def test_a_search_starts_without_heavy_libraries(workspace: Path, argv: list[str]) -> None:
    assert imported(HEAVY, workspace, "knowledge", "search", "retries", *argv) == set()


def test_an_add_starts_without_heavy_libraries(workspace: Path) -> None:
    argv = ["knowledge", "add", "A note", "--provenance", "person:ana", "--actor", "ana", "--json"]

    assert imported(HEAVY[:6], workspace, *argv) == set()


@pytest.mark.parametrize("argv", [["--help"], ["knowledge", "--help"], ["knowledge", "add", "--help"]], ids=" ".join)
def test_plain_help_needs_neither_pydantic_nor_rich(tmp_path: Path, argv: list[str]) -> None:
    assert imported(("pydantic", "rich", "mcp", "decapod_py.workspace"), tmp_path, *argv) == set()
