"""What the pre-push hook judges: the commits that are pushed, whatever is checked out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import decapod, git, run

CITED, OTHER = "line 3", "something else"


@pytest.fixture
def clone(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A published `main` that cites a line; then `bad` changes that line and `good` does not."""
    command = tmp_path / "bin" / "decapod"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m decapod_py "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repository, "remote", "add", "origin", str(tmp_path / "remote.git"))
    decapod(repository, "knowledge", "add", "A fact", "--text", "It holds.", "--from", "src/a.py:3", "--id", "fact")
    (repository / ".decapod" / "config.toml").write_text('format = 1\n[gates]\ndrift = "fail"\n')
    committed(repository, "Know it")
    git(repository, "push", "-q", "origin", "main")
    decapod(repository, "hooks", "install", "pre-push")
    git(repository, "checkout", "-qb", "bad")
    change(repository)
    committed(repository, "Change what is cited")
    git(repository, "checkout", "-qb", "good", "main")
    (repository / "src" / "b.py").write_text("new\n")
    committed(repository, "Add a file")
    return repository


def committed(top: Path, message: str) -> None:
    git(top, "add", "-A")
    git(top, "commit", "-qm", message)


def change(top: Path) -> None:
    cited = top / "src" / "a.py"
    cited.write_text(cited.read_text().replace(f"{CITED}\n", f"{OTHER}\n"))


def push(top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "push", "-q", "origin", *arguments], cwd=top, capture_output=True, text=True, check=False
    )


def refs(top: Path) -> list[str]:
    return git(top, "ls-remote", "origin").split()[1::2]


def test_a_branch_that_is_not_checked_out_is_judged_when_it_is_pushed(clone: Path) -> None:
    done = push(clone, "bad")

    assert done.returncode == 1
    said = "bad: error: file:src/a.py#L3, which entry fact cites, reads differently now [drift]"
    assert done.stdout.splitlines() == [said, "git push --no-verify pushes all the same"]
    assert "refs/heads/bad" not in refs(clone)


@pytest.mark.parametrize("kind", [["tag", "v1", "bad"], ["tag", "-a", "-m", "One", "v1", "bad"]])
def test_a_tag_is_judged_by_the_commit_it_names(clone: Path, kind: list[str]) -> None:
    git(clone, *kind)

    assert push(clone, "v1").returncode == 1
    assert "refs/tags/v1" not in refs(clone)


def test_what_is_checked_out_does_not_stop_a_push_of_good_commits(clone: Path) -> None:
    git(clone, "checkout", "-q", "bad")

    assert push(clone, "good").returncode == 0
    assert "refs/heads/good" in refs(clone)


def test_an_edit_that_is_not_committed_does_not_stop_a_push_of_good_commits(clone: Path) -> None:
    change(clone)

    assert push(clone, "good").returncode == 0


def test_an_edit_that_is_not_committed_does_not_hide_what_is_pushed(clone: Path) -> None:
    git(clone, "checkout", "-q", "bad")
    cited = clone / "src" / "a.py"
    cited.write_text(cited.read_text().replace(f"{OTHER}\n", f"{CITED}\n"))

    assert push(clone, "bad").returncode == 1


def test_one_bad_branch_among_several_stops_the_push(clone: Path) -> None:
    assert push(clone, "good", "bad").returncode == 1
    assert refs(clone) == ["HEAD", "refs/heads/main"]


def test_what_is_deleted_or_is_no_commit_is_not_judged(clone: Path) -> None:
    git(clone, "checkout", "-q", "bad")
    git(clone, "push", "-q", "--no-verify", "origin", "good")
    git(clone, "tag", "a-file", "HEAD:src/a.py")

    assert push(clone, "a-file").returncode == 0
    assert push(clone, "--delete", "good").returncode == 0


def test_a_first_push_is_judged_as_a_whole(clone: Path, tmp_path: Path) -> None:
    git(clone, "checkout", "-qB", "main", "bad")
    git(tmp_path, "init", "-q", "--bare", "other.git")
    git(clone, "remote", "set-url", "origin", str(tmp_path / "other.git"))
    git(clone, "update-ref", "-d", "refs/remotes/origin/main")

    assert push(clone, "main").returncode == 1


def test_a_branch_without_knowledge_goes_through(clone: Path) -> None:
    git(clone, "checkout", "-q", "--orphan", "pages")
    git(clone, "rm", "-rqf", ".")
    git(clone, "commit", "-q", "--allow-empty", "-m", "Pages")
    git(clone, "checkout", "-q", "good")

    done = push(clone, "pages")

    assert (done.returncode, done.stderr) == (0, "")


def test_a_receipt_is_looked_at_in_the_commit_that_is_pushed(clone: Path) -> None:
    git(clone, "checkout", "-qb", "proved", "main")
    proof = 'proofs = "fail"\n[[proof]]\nname = "there"\nrun = "test -f src/a.py"\npaths = ["src/**"]\n'
    config = clone / ".decapod" / "config.toml"
    config.write_text(config.read_text() + proof)
    decapod(clone, "trust")
    decapod(clone, "proof", "run")
    committed(clone, "Prove it")
    git(clone, "checkout", "-qb", "unproved")
    (clone / "src" / "c.py").write_text("new\n")
    committed(clone, "Add a file")
    git(clone, "checkout", "-q", "good")

    assert push(clone, "proved").returncode == 0
    assert "[proofs]" in push(clone, "unproved").stdout


def test_nothing_is_left_behind_by_looking_at_another_commit(clone: Path) -> None:
    before = sorted(os.listdir(clone / ".decapod" / "local"))

    push(clone, "bad")

    assert sorted(os.listdir(clone / ".decapod" / "local")) == before
    assert git(clone, "worktree", "list").count("\n") == 1
    assert git(clone, "status", "--porcelain") == ""


def test_by_hand_head_is_judged_as_it_is_committed(clone: Path) -> None:
    git(clone, "checkout", "-q", "bad")

    assert run(clone, "hooks", "run", "pre-push").returncode == 1

    git(clone, "checkout", "-q", "good")
    change(clone)
    assert run(clone, "hooks", "run", "pre-push").returncode == 0


def test_the_pre_commit_framework_tells_what_is_pushed_in_the_environment(clone: Path) -> None:
    there = git(clone, "rev-parse", "origin/main").strip()
    told = {"PRE_COMMIT_FROM_REF": there, "PRE_COMMIT_TO_REF": "bad", "PRE_COMMIT_LOCAL_BRANCH": "refs/heads/bad"}

    assert run(clone, "hooks", "run", "pre-push", **told).returncode == 1
