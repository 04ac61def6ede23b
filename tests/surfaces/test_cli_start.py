"""What a start costs: the fast route imports no heavy library, and help needs no pydantic."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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
    done = subprocess.run(
        # Isolated from editable-install hooks and the like, which import what they please.
        [sys.executable, "-c", program, *argv],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "decapod_py", "init"], cwd=tmp_path, check=True, capture_output=True)
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
