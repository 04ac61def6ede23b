"""Every example of the repository and of the README runs, and prints what it says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import PROJECT, decapod, git, make_repository

EXAMPLES = PROJECT / "examples"


@pytest.fixture(autouse=True)
def _the_command_is_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def shell(script: str, place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=place, capture_output=True, text=True)


def test_the_tour_reaches_its_end(tmp_path: Path) -> None:
    done = shell(f"bash {shlex.quote(str(EXAMPLES / 'tour.sh'))}", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "(refused, as it should be)" in done.stdout
    assert "database and Markdown equal the fold" in done.stdout.splitlines()[-1]


def workflow_steps() -> list[dict[str, Any]]:
    workflow = yaml.safe_load((EXAMPLES / "ci" / "github-workflow.yml").read_text())
    return [step for step in workflow["jobs"]["knowledge"]["steps"] if "run" in step and step["name"] != "Install"]


def run_workflow(clone: Path) -> list[int]:
    return [shell(step["run"], clone).returncode for step in workflow_steps()]


def test_the_workflow_passes_on_a_sound_clone_and_fails_on_a_tampered_one(tmp_path: Path) -> None:
    make_repository(tmp_path / "origin")
    for title in ("Retries stop at 3", "Deploys are frozen"):
        decapod(tmp_path / "origin", "knowledge", "add", title, "--from", "src/a.py:3")
    git(tmp_path / "origin", "add", "-A")
    git(tmp_path / "origin", "commit", "-qm", "Know")
    git(tmp_path, "clone", "-q", "origin", "clone")
    assert run_workflow(tmp_path / "clone") == [0, 0, 0]

    segment = next((tmp_path / "clone" / ".decapod" / "ledgers").rglob("*.jsonl"))
    segment.write_text(segment.read_text().replace("src/a.py", "src/b.py", 1))
    assert run_workflow(tmp_path / "clone")[:2] == [1, 1]


def code_blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (PROJECT / document).read_text(), re.MULTILINE | re.DOTALL)


def masked(text: str) -> str:
    return re.sub(r"score [0-9.]+", "score N", re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ULID", text))


def test_the_first_screen_of_the_readme_is_what_the_command_prints(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "client.py").write_text("one\ntwo\nthree\nfour\nfive\n")
    (block,) = code_blocks("README.md", "console")
    commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    for command, _, printed in (part.partition("\n") for part in commands):
        if not command.startswith("pip "):
            done = shell(command, tmp_path)
            assert done.returncode == 0, done.stderr
            if printed:
                assert masked(done.stdout) == masked(printed)


def test_the_python_example_of_the_readme_runs(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = code_blocks("README.md", "python")
    decapod(repository, "knowledge", "add", "Retries stop at 3", "--from", "src/a.py:3")
    monkeypatch.chdir(repository)
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)
    assert names["found"]["count"] == 1


def test_the_client_configuration_of_the_readme_names_a_command_that_serves() -> None:
    (block,) = code_blocks("README.md", "json")
    server = json.loads(block)["mcpServers"]["decapod"]
    done = subprocess.run([server["command"], *server["args"][2:], "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--toolset" in done.stdout


def test_every_command_the_readme_names_exists() -> None:
    text = (PROJECT / "README.md").read_text()
    known = {tuple(line.split()) for line in _all_commands()}
    for words in re.findall(r"`decapod ((?:knowledge |ledger )?[a-z][a-z-]+)", text):
        assert tuple(words.split()) in known, words


def _all_commands() -> list[str]:
    from decapod_py.operations.catalogue import all_operations

    return [operation.name.replace(".", " ") for operation in all_operations()] + [
        "mcp",
        "schema",
        "completion",
        "knowledge",
        "ledger",
    ]
