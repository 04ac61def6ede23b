"""What tests do to real repositories: run git, run the command, read its answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from decapod_py.domain.entry import Entry
from decapod_py.foundation.clock import DAY, parse_time

PROJECT = Path(__file__).resolve().parent.parent
NOON = parse_time("2026-03-01T12:00:00Z")


def an_entry(entry_id: str, title: str = "", content: str = "", tags: tuple[str, ...] = (), **changes: Any) -> Entry:
    """A plain entry, with what a test cares about."""
    plain = Entry(
        id=entry_id,
        title=title,
        content=content,
        provenances=("person:ada",),
        tags=tags,
        scope="root",
        merge_key=None,
        claim_id=None,
        ttl_policy="persistent",
        expires=None,
        expires_by_default=False,
        confidence=None,
        supersedes=(),
        status="active",
        written_status="active",
        author="ada",
        contributors=(),
        created=NOON,
        updated=NOON,
        version=entry_id,
        heads=(entry_id,),
        path=f"{entry_id}.md",
    )
    return plain._replace(**changes)


class StandingClock:
    """A clock that moves only when a test says so."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def forward(self, *, days: float = 0, milliseconds: int = 0) -> None:
        self.now += int(days * DAY) + milliseconds


def make_repository(top: Path) -> None:
    top.mkdir(parents=True)
    git(top, "init", "-q", "-b", "main")
    (top / "src").mkdir()
    (top / "src" / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 21)))
    decapod(top, "init")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "Begin")


@contextmanager
def made_once(tmp_path_factory: Any) -> Iterator[Path]:
    """A repository for a whole session, and the settings to work in it: no test has given any yet."""
    import pytest

    top: Path = tmp_path_factory.mktemp("prepared") / "repository"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HOME", str(tmp_path_factory.mktemp("nobody")))
        for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
            environment.setenv(f"{name}_NAME", "Ada")
            environment.setenv(f"{name}_EMAIL", "ada@example.com")
        environment.setenv("GIT_CONFIG_NOSYSTEM", "1")
        environment.setenv("PYTHONPATH", str(PROJECT))
        make_repository(top)
        yield top


def git(place: Path, *arguments: str, check: bool = True) -> str:
    done = subprocess.run(["git", *arguments], cwd=place, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def run(place: Path, *arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "decapod_py", *arguments],
        cwd=place,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def decapod(place: Path, *arguments: str, **environment: str) -> Any:
    """The JSON answer of a command that succeeds."""
    done = run(place, *arguments, "--json", **environment)
    assert done.returncode == 0, f"decapod {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout)


def refusal(place: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """The exit code and error code of a command that is refused."""
    done = run(place, *arguments, "--json", **environment)
    assert done.returncode in (1, 2), f"decapod {' '.join(arguments)} was not refused:\n{done.stdout}{done.stderr}"
    return done.returncode, json.loads(done.stderr.strip().splitlines()[-1])["error"]["code"]
