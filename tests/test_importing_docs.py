"""What docs/importing.md shows is what the command prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import PROJECT, git, make_repository

FILES = {
    "repository/docs/adr/0001-use-files.md": "# 1. Use files\n\n## Status\n\nSuperseded by [2](0002-use-logs.md)\n",
    "repository/docs/adr/0002-use-logs.md": "# 2. Use logs\n\n## Status\n\nAccepted\n",
    "repository/AGENTS.md": "# Project\n\n## Build\n\nRun `make`.\n\n## Test\n\nRun `make test`.\n",
    "vault/.obsidian/app.json": "{}",
    "vault/photo.png": "",
    "vault/ideas/Retries.md": "---\ntags: [http]\n---\nStop at three, see [[Timeouts]].\n",
    "vault/Timeouts.md": "Ten seconds.\n",
    "vault/coffee.md": "---\ntype: note\npermalink: coffee\n---\n- [method] Pour over #slow\n",
}


def test_the_examples_print_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    make_repository(tmp_path / "repository")
    for path, said in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(said)
    git(tmp_path / "repository", "add", "-A")

    text = (PROJECT / "docs" / "importing.md").read_text()
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path / "repository", capture_output=True, text=True, check=False
            )
            assert (done.returncode, done.stdout) == (0, printed), done.stderr
