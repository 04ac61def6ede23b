"""Our hooks on real git: they come and go without a trace, keep the hooks that were there, and hold nobody up."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import PROJECT, decapod, git, make_repository, refusal, run

HOOKS = ["pre-commit", "post-merge", "post-checkout", "pre-push"]
OLD = b'#!/bin/sh\n# the user\'s own, with a \xff byte\necho "old hook ran: $*" >&2\n'


@pytest.fixture(autouse=True)
def _our_command_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`decapod` on PATH is the program under test, whatever the machine has installed."""
    program(tmp_path / "bin" / "decapod", f'#!/bin/sh\nexec "{sys.executable}" -m decapod_py "$@"\n')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")


def program(path: Path, text: str | bytes, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)
    return path


def hooks_of(top: Path) -> dict[str, tuple[bytes, int]]:
    """Every hook that git would run, or that waits for ours to go, with its mode."""
    folder = top / ".git" / "hooks"
    return {
        path.name: (path.read_bytes(), path.stat().st_mode & 0o7777)
        for path in folder.iterdir()
        if path.suffix != ".sample"
    }


def commit(top: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "commit", "-qm", "Work", *arguments],
        cwd=top,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def stage(top: Path, name: str = "src/b.py") -> None:
    (top / name).write_text("new\n")
    git(top, "add", "--", name)


def gate(tmp_path: Path, exit_code: int) -> Path:
    """A `decapod` that notes how it was run and ends in this way: what the script does with an answer."""
    noted = tmp_path / "noted"
    program(
        tmp_path / "bin" / "decapod",
        '#!/bin/sh\n[ "$1" = --version ] && exit 0\n'
        f'echo "$DECAPOD_HOOK|$PWD|$GIT_INDEX_FILE|$*" >> "{noted}"\nexit {exit_code}\n',
    )
    return noted


def test_by_default_pre_commit_and_post_merge_are_installed(repository: Path) -> None:
    answer = decapod(repository, "hooks", "install")

    assert answer == {
        "directory": str(repository / ".git" / "hooks"),
        "hooks": [
            {"hook": "pre-commit", "action": "made", "chained": None},
            {"hook": "post-merge", "action": "made", "chained": None},
        ],
        "next": [],
    }
    assert {name: mode for name, (_, mode) in hooks_of(repository).items()} == {
        "pre-commit": 0o755,
        "post-merge": 0o755,
    }


def test_a_commit_goes_through_without_a_word(repository: Path) -> None:
    decapod(repository, "hooks", "install", *HOOKS)
    stage(repository)

    done = commit(repository)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_hook_is_run_at_the_top_with_its_name_from_a_subdirectory_too(repository: Path, tmp_path: Path) -> None:
    decapod(repository / "src", "hooks", "install", "pre-commit")
    noted = gate(tmp_path, 0)
    stage(repository)

    assert commit(repository / "src").returncode == 0

    assert noted.read_text() == f"pre-commit|{repository}|.git/index|hooks run pre-commit\n"


@pytest.mark.parametrize(("arguments", "index"), [(["-a"], "index.lock"), (["src/a.py"], "next-index-")])
def test_the_index_that_git_commits_from_is_known_to_the_hook(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], index: str
) -> None:
    from decapod_py.storage.hook_files import index_in_use

    decapod(repository, "hooks", "install", "pre-commit")
    noted = gate(tmp_path, 0)
    (repository / "src" / "a.py").write_text("changed\n")

    assert commit(repository, *arguments).returncode == 0

    named = noted.read_text().split("|")[2]
    assert index in named
    monkeypatch.setenv("GIT_INDEX_FILE", named)
    assert index_in_use(str(repository)) == os.path.join(repository, named)
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert index_in_use(str(repository)) is None


def test_findings_stop_a_commit_and_no_verify_is_the_way_out(repository: Path, tmp_path: Path) -> None:
    decapod(repository, "hooks", "install")
    gate(tmp_path, 1)
    stage(repository)

    assert commit(repository).returncode == 1
    assert commit(repository, "--no-verify").returncode == 0


@pytest.mark.parametrize("exit_code", [2, 3, 126, 130])
def test_trouble_of_our_own_never_stops_a_commit(repository: Path, tmp_path: Path, exit_code: int) -> None:
    decapod(repository, "hooks", "install")
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.write_bytes(hook.read_bytes().replace(sys.executable.encode(), b"/no/such/python"))
    gate(tmp_path, exit_code)
    stage(repository)

    done = commit(repository)

    assert done.returncode == 0
    assert done.stderr == f"decapod: the pre-commit hook could not run (exit code {exit_code}); git proceeds\n"


def test_a_broken_installation_that_exits_with_1_never_stops_a_commit(repository: Path, tmp_path: Path) -> None:
    decapod(repository, "hooks", "install")
    program(tmp_path / "bin" / "decapod", f'#!/bin/sh\nexec "{sys.executable}" -c "import no_such_module"\n')
    stage(repository)

    done = commit(repository)

    assert done.returncode == 0, "the interpreter that installed the hook is asked next"
    assert "git proceeds" not in done.stderr


def test_without_the_command_the_interpreter_that_installed_the_hook_is_used(repository: Path, tmp_path: Path) -> None:
    decapod(repository, "hooks", "install")
    (tmp_path / "bin" / "decapod").unlink()
    stage(repository)

    done = commit(repository, PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")

    assert (done.returncode, done.stderr) == (0, "")


def test_without_any_installation_git_proceeds_with_one_line(repository: Path, tmp_path: Path) -> None:
    decapod(repository, "hooks", "install")
    (tmp_path / "bin" / "decapod").unlink()
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.write_bytes(hook.read_bytes().replace(sys.executable.encode(), b"/no/such/python"))
    stage(repository)

    done = commit(repository, PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")

    assert done.returncode == 0
    assert done.stderr == "decapod: the pre-commit hook could not run (decapod is not installed here); git proceeds\n"


def test_modules_in_the_repository_are_never_taken_for_ours(repository: Path, tmp_path: Path) -> None:
    decapod(repository, "hooks", "install")
    (tmp_path / "bin" / "decapod").unlink()
    program(repository / "decapod_py" / "__main__.py", f"open({str(tmp_path / 'owned')!r}, 'w')\n")
    program(repository / "json.py", f"open({str(tmp_path / 'owned')!r}, 'w')\n")
    stage(repository)

    assert commit(repository, PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin").returncode == 0
    assert not (tmp_path / "owned").exists()


def test_where_nothing_is_initialised_nothing_runs(tmp_path: Path) -> None:
    top = tmp_path / "plain"
    top.mkdir()
    git(top, "init", "-q")
    assert decapod(top, "hooks", "install", *HOOKS)["next"] == ["decapod init"]
    noted = gate(tmp_path, 1)

    done = commit(top, "--allow-empty")

    assert (done.returncode, done.stderr, noted.exists()) == (0, "", False)


@pytest.mark.parametrize("hook", HOOKS)
def test_run_says_nothing_where_nothing_is_initialised(tmp_path: Path, hook: str) -> None:
    assert decapod(tmp_path, "hooks", "run", hook) == {"hook": hook, "ok": True, "lines": []}
    assert list(tmp_path.glob(".decapod")) == []


def test_a_repository_inside_an_initialised_one_is_not_initialised_by_it(repository: Path) -> None:
    inner = repository / "vendor"
    inner.mkdir()
    git(inner, "init", "-q")
    (repository / ".decapod" / "local" / "knowledge.db").unlink(missing_ok=True)

    assert decapod(inner, "hooks", "run", "post-merge")["lines"] == []
    assert not (repository / ".decapod" / "local" / "knowledge.db").exists()


def test_an_existing_hook_is_kept_and_runs_first(repository: Path) -> None:
    program(repository / ".git" / "hooks" / "pre-commit", OLD, 0o711)

    answer = decapod(repository, "hooks", "install", "pre-commit")
    stage(repository)
    done = commit(repository)

    assert answer["hooks"] == [{"hook": "pre-commit", "action": "made", "chained": "pre-commit.before-decapod"}]
    assert (done.returncode, done.stderr) == (0, "old hook ran: \n")
    assert hooks_of(repository)["pre-commit.before-decapod"] == (OLD, 0o711)


def test_an_existing_hook_that_fails_fails_as_before_and_ours_does_not_run(repository: Path, tmp_path: Path) -> None:
    program(repository / ".git" / "hooks" / "pre-commit", "#!/bin/sh\necho no >&2\nexit 7\n")
    decapod(repository, "hooks", "install", "pre-commit")
    noted = gate(tmp_path, 0)
    stage(repository)

    done = commit(repository)

    assert (done.returncode, done.stderr, noted.exists()) == (1, "no\n", False)
    hook = repository / ".git" / "hooks" / "pre-commit"
    assert subprocess.run([hook], cwd=repository, capture_output=True, check=False).returncode == 7


def test_an_existing_hook_that_git_did_not_run_is_kept_and_still_not_run(repository: Path) -> None:
    program(repository / ".git" / "hooks" / "pre-commit", "#!/bin/sh\nexit 1\n", 0o644)
    decapod(repository, "hooks", "install", "pre-commit")
    stage(repository)

    assert commit(repository).returncode == 0


def test_a_pre_push_hook_still_gets_its_arguments_and_what_is_pushed(repository: Path, tmp_path: Path) -> None:
    remote, seen = tmp_path / "remote.git", tmp_path / "seen"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    program(repository / ".git" / "hooks" / "pre-push", f'#!/bin/sh\necho "$@" > "{seen}"\ncat >> "{seen}"\n')
    decapod(repository, "hooks", "install", "pre-push")
    noted = gate(tmp_path, 0)

    git(repository, "push", "-q", str(remote), "HEAD:refs/heads/main")

    tip = git(repository, "rev-parse", "HEAD").strip()
    assert seen.read_text() == f"{remote} {remote}\nHEAD {tip} refs/heads/main {'0' * 40}\n"
    assert noted.read_text().endswith("|hooks run pre-push --pushed -\n")


def test_findings_stop_a_push(repository: Path, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    decapod(repository, "hooks", "install", "pre-push")
    gate(tmp_path, 1)

    git(repository, "push", "-q", str(remote), "HEAD:refs/heads/main", check=False)
    assert git(remote, "for-each-ref") == ""

    git(repository, "push", "-q", "--no-verify", str(remote), "HEAD:refs/heads/main")
    assert git(remote, "for-each-ref") != ""


def test_installing_again_changes_nothing(repository: Path) -> None:
    program(repository / ".git" / "hooks" / "pre-commit", OLD)
    decapod(repository, "hooks", "install")
    before = hooks_of(repository)

    answer = decapod(repository, "hooks", "install")

    assert [hook["action"] for hook in answer["hooks"]] == ["unchanged", "unchanged"]
    assert hooks_of(repository) == before


def test_a_hook_of_another_installation_is_brought_up_to_date(repository: Path, tmp_path: Path) -> None:
    decapod(repository, "hooks", "install", "pre-commit")
    before = hooks_of(repository)
    other = tmp_path / "python"
    other.symlink_to(sys.executable)
    written_by_other = f"import sys; sys.executable = {str(other)!r}; from decapod_py.__main__ import main; main()"
    subprocess.run(
        [sys.executable, "-c", written_by_other, "hooks", "install", "pre-commit"], cwd=repository, check=True
    )
    assert hooks_of(repository) != before
    assert states(repository)["pre-commit"] == "outdated"

    assert decapod(repository, "hooks", "install", "pre-commit")["hooks"][0]["action"] == "updated"

    assert hooks_of(repository) == before


def states(top: Path) -> dict[str, str]:
    return {hook["hook"]: hook["state"] for hook in decapod(top, "hooks", "status")["hooks"]}


def test_status_says_what_stands_where_and_who_else_looks_after_hooks(repository: Path) -> None:
    program(repository / ".git" / "hooks" / "pre-push", OLD)
    decapod(repository, "hooks", "install", "pre-commit", "pre-push")

    assert decapod(repository, "hooks", "status") == {
        "directory": str(repository / ".git" / "hooks"),
        "managed_by": None,
        "initialised": True,
        "hooks": [
            {"hook": "pre-commit", "state": "installed", "chained": None},
            {"hook": "post-merge", "state": "absent", "chained": None},
            {"hook": "post-checkout", "state": "absent", "chained": None},
            {"hook": "pre-push", "state": "installed", "chained": "pre-push.before-decapod"},
        ],
    }
    git(repository, "config", "core.hooksPath", ".husky/_")
    assert decapod(repository, "hooks", "status")["managed_by"] == "husky"


def test_uninstalling_leaves_the_old_hooks_byte_for_byte(repository: Path) -> None:
    hooks = repository / ".git" / "hooks"
    program(hooks / "pre-commit", OLD, 0o700)
    program(hooks / "pre-push", b"", 0o644)
    program(repository / "scripts" / "merged", "#!/bin/sh\n")
    (hooks / "post-merge").symlink_to("../../scripts/merged")
    program(hooks / "commit-msg", "#!/bin/sh\nexit 0\n")
    before = hooks_of(repository)
    times = {path.name: path.lstat().st_mtime_ns for path in hooks.iterdir()}

    decapod(repository, "hooks", "install", *HOOKS)
    answer = decapod(repository, "hooks", "uninstall")

    assert hooks_of(repository) == before
    assert {path.name: path.lstat().st_mtime_ns for path in hooks.iterdir()} == times
    assert os.readlink(hooks / "post-merge") == "../../scripts/merged"
    assert answer == {
        "ok": True,
        "directory": str(hooks),
        "removed": [str(hooks / "post-checkout")],
        "restored": [str(hooks / name) for name in ("pre-commit", "post-merge", "pre-push")],
        "left": [],
    }
    assert decapod(repository, "hooks", "uninstall")["removed"] == []


def test_one_hook_alone_can_be_uninstalled(repository: Path) -> None:
    decapod(repository, "hooks", "install", *HOOKS)

    decapod(repository, "hooks", "uninstall", "pre-push", "post-merge")

    assert states(repository) == {
        "pre-commit": "installed",
        "post-merge": "absent",
        "post-checkout": "installed",
        "pre-push": "absent",
    }


def test_a_hook_of_ours_that_somebody_edited_is_left_alone(repository: Path) -> None:
    decapod(repository, "hooks", "install", "pre-commit", "post-merge")
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.write_bytes(hook.read_bytes() + b"echo mine\n")
    before = hook.read_bytes()

    assert refusal(repository, "hooks", "install", "pre-commit") == (1, "hook-edited")
    done = run(repository, "hooks", "uninstall", "--json")

    assert done.returncode == 1
    assert [left["path"] for left in json.loads(done.stdout)["left"]] == [str(hook)]
    assert hook.read_bytes() == before
    assert set(hooks_of(repository)) == {"pre-commit"}
    assert states(repository)["pre-commit"] == "edited"


def test_a_hook_that_took_the_place_of_ours_is_not_overwritten(repository: Path) -> None:
    hook = program(repository / ".git" / "hooks" / "pre-commit", OLD)
    decapod(repository, "hooks", "install", "pre-commit")
    program(hook, "#!/bin/sh\n# a newcomer\n")
    before = hooks_of(repository)

    assert refusal(repository, "hooks", "install") == (1, "in-the-way")
    done = run(repository, "hooks", "uninstall", "--json")

    assert [left["path"] for left in json.loads(done.stdout)["left"]] == [f"{hook}.before-decapod"]
    assert hooks_of(repository) == before


def test_a_hook_kept_by_an_installation_that_died_is_taken_up_again(repository: Path) -> None:
    hook = program(repository / ".git" / "hooks" / "pre-commit", OLD)
    hook.rename(f"{hook}.before-decapod")

    decapod(repository, "hooks", "install", "pre-commit")
    stage(repository)
    assert commit(repository).stderr == "old hook ran: \n"

    decapod(repository, "hooks", "uninstall")
    assert hooks_of(repository) == {"pre-commit": (OLD, 0o755)}


def test_uninstalling_decapod_takes_its_hooks_away(repository: Path) -> None:
    program(repository / ".git" / "hooks" / "pre-commit", OLD)
    before = hooks_of(repository)
    decapod(repository, "hooks", "install", *HOOKS)

    answer = decapod(repository, "uninstall")

    assert hooks_of(repository) == before
    assert str(repository / ".git" / "hooks" / "pre-commit") in answer["removed"]


def test_hooks_installed_in_a_worktree_run_in_every_worktree(repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked tree"
    git(repository, "worktree", "add", "-q", "-b", "side", str(linked))

    answer = decapod(linked, "hooks", "install", "pre-commit")
    noted = gate(tmp_path, 0)
    for top in (linked, repository):
        stage(top)
        assert commit(top).returncode == 0

    assert answer["directory"] == str(repository / ".git" / "hooks")
    assert [line.split("|")[1] for line in noted.read_text().splitlines()] == [str(linked), str(repository)]


def test_names_with_spaces_and_other_letters_are_no_hindrance(tmp_path: Path) -> None:
    top = tmp_path / "my wörk; $(touch owned) 'n' more"
    make_repository(top)
    decapod(top, "hooks", "install")
    stage(top, "src/a näme with spaces.py")

    done = commit(top)

    assert (done.returncode, done.stderr) == (0, "")
    assert not (top / "owned").exists()


@pytest.mark.parametrize("folder", [".git/more hooks", "local-hooks"])
def test_core_hooks_path_is_honoured(repository: Path, tmp_path: Path, folder: str) -> None:
    git(repository, "config", "core.hooksPath", folder)

    answer = decapod(repository, "hooks", "install", "pre-commit")
    noted = gate(tmp_path, 0)
    stage(repository)
    assert commit(repository).returncode == 0

    assert answer["directory"] == str(repository / folder)
    assert noted.exists()
    assert hooks_of(repository) == {}
    (tmp_path / "bin" / "decapod").unlink()
    decapod(repository, "hooks", "uninstall")
    assert list((repository / folder).iterdir()) == []


def test_hooks_installed_before_core_hooks_path_was_set_are_found_again(repository: Path) -> None:
    decapod(repository, "hooks", "install")
    git(repository, "config", "core.hooksPath", "local-hooks")

    decapod(repository, "hooks", "uninstall")

    assert hooks_of(repository) == {}


@pytest.mark.parametrize("by", ["config", "link"])
def test_a_folder_of_hooks_that_others_may_share_is_not_touched(repository: Path, tmp_path: Path, by: str) -> None:
    shared = tmp_path / "shared"
    program(shared / "pre-commit", OLD)
    if by == "config":
        git(repository, "config", "--global", "core.hooksPath", str(shared))
    else:
        shutil.rmtree(repository / ".git" / "hooks")
        (repository / ".git" / "hooks").symlink_to(shared)

    assert refusal(repository, "hooks", "install") == (1, "hooks-shared")
    assert [path.read_bytes() for path in shared.iterdir()] == [OLD]


def managed(top: Path) -> dict[str, Any]:
    """The refusal of an installation, which must change nothing."""
    before = hooks_of(top), git(top, "status", "--porcelain")
    done = run(top, "hooks", "install", "--json")
    assert done.returncode == 1, done.stdout
    assert (hooks_of(top), git(top, "status", "--porcelain")) == before
    error: dict[str, Any] = json.loads(done.stderr)["error"]
    assert error["code"] == "hooks-managed"
    for line in error["details"]["add"].values():
        assert line in error["hint"]
    return error["details"]


@pytest.mark.parametrize("folder", [".husky/_", ".husky"])
def test_husky_is_told_what_to_run(repository: Path, folder: str) -> None:
    program(repository / ".husky" / "pre-commit", "npm test\n")
    program(repository / ".husky" / "_" / "pre-commit", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    git(repository, "config", "core.hooksPath", folder)

    assert managed(repository) == {
        "manager": "husky",
        "add": {
            ".husky/pre-commit": "decapod hooks run pre-commit",
            ".husky/post-merge": "decapod hooks run post-merge",
        },
    }


def test_an_old_husky_is_told_in_its_package(repository: Path) -> None:
    program(repository / ".git" / "hooks" / "pre-commit", "#!/bin/sh\n# husky\n")
    (repository / "package.json").write_text('{"husky": {"hooks": {}}}')

    add = managed(repository)["add"]

    assert add == {"package.json under husky: hooks:": '"pre-commit": "decapod hooks run pre-commit"'}


def test_a_hook_that_only_mentions_a_manager_is_kept_like_any_other(repository: Path) -> None:
    program(repository / ".git" / "hooks" / "pre-commit", "#!/bin/sh\n# no husky, lefthook or pre-commit.com here\n")

    assert decapod(repository, "hooks", "install", "pre-commit")["hooks"][0]["chained"] == "pre-commit.before-decapod"


def test_a_missing_folder_of_hooks_is_made(repository: Path) -> None:
    shutil.rmtree(repository / ".git" / "hooks")

    decapod(repository, "hooks", "install", "pre-commit")

    assert set(hooks_of(repository)) == {"pre-commit"}


def test_a_folder_of_hooks_that_the_team_tracks_is_left_to_the_team(repository: Path) -> None:
    program(repository / ".githooks" / "commit-msg", "#!/bin/sh\n")
    git(repository, "add", ".githooks")
    git(repository, "config", "core.hooksPath", ".githooks")

    assert managed(repository)["add"][".githooks/pre-commit"] == "decapod hooks run pre-commit || exit 1"


@pytest.mark.parametrize("config", ["lefthook.yml", ".lefthook.yaml"])
def test_lefthook_is_told_what_to_run(repository: Path, config: str) -> None:
    program(repository / ".git" / "hooks" / "pre-commit", '#!/bin/sh\ncall_lefthook run "pre-commit" "$@"\n')
    (repository / config).write_text("pre-commit:\n  commands:\n")

    add = managed(repository)["add"]

    assert add == {f"{config} under pre-commit: commands:": "decapod: {run: decapod hooks run pre-commit}"}
    assert yaml.safe_load(next(iter(add.values()))) == {"decapod": {"run": "decapod hooks run pre-commit"}}
    assert run(repository, "hooks", "install").stderr.endswith("; then: decapod hooks install post-merge\n")


def test_a_configuration_whose_hook_is_not_installed_is_no_hindrance(repository: Path) -> None:
    (repository / "lefthook.yml").write_text("pre-commit:\n")
    (repository / ".pre-commit-config.yaml").write_text("repos: []\n")

    assert len(decapod(repository, "hooks", "install")["hooks"]) == 2


@pytest.mark.parametrize(
    ("place", "manager", "step"),
    [
        ("lefthook.yml", "lefthook", "to lefthook.yml under pre-push: commands: add: decapod: {run: decapod hooks run"),
        (
            ".pre-commit-config.yaml",
            "pre-commit",
            "to .pre-commit-config.yaml under repos: add: - {repo: local, hooks:",
        ),
        (".husky/pre-push", "husky", "to .husky/pre-push add: decapod hooks run pre-push --pushed -"),
    ],
)
def test_a_manager_that_is_not_at_work_here_is_told_of(repository: Path, place: str, manager: str, step: str) -> None:
    (repository / place).parent.mkdir(exist_ok=True)
    (repository / place).write_text("")

    done = run(repository, "hooks", "install", "pre-push")

    assert done.returncode == 0
    assert f"set up for {manager}" in done.stderr
    assert step in done.stderr
    assert run(repository, "hooks", "status").stderr == ""


def pre_commit(top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pre_commit", *arguments]
    return subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)


def test_pre_commit_is_told_what_to_run_and_runs_it(repository: Path, tmp_path: Path) -> None:
    config = repository / ".pre-commit-config.yaml"
    config.write_text("repos: []\n")
    git(repository, "add", "-A")
    assert pre_commit(repository, "install").returncode == 0

    add = managed(repository)["add"]
    assert list(add) == [".pre-commit-config.yaml under repos:"]

    config.write_text(f"repos:\n{next(iter(add.values()))}\n")
    git(repository, "add", "-A")
    noted = gate(tmp_path, 1)
    done = commit(repository)
    assert done.returncode == 1, done.stderr
    assert noted.read_text().endswith("|hooks run pre-commit\n")


def test_pre_commit_installed_over_our_hook_keeps_it_and_what_it_runs_first(repository: Path, tmp_path: Path) -> None:
    program(repository / ".git" / "hooks" / "pre-commit", OLD)
    decapod(repository, "hooks", "install", "pre-commit")
    (repository / ".pre-commit-config.yaml").write_text("repos: []\n")
    git(repository, "add", "-A")
    assert pre_commit(repository, "install").returncode == 0
    noted = gate(tmp_path, 0)

    done = commit(repository)

    assert done.returncode == 0
    assert "old hook ran" in done.stdout + done.stderr
    assert noted.exists()


def test_our_hooks_for_the_pre_commit_framework_are_valid_and_run(repository: Path, tmp_path: Path) -> None:
    manifest = PROJECT / ".pre-commit-hooks.yaml"
    assert pre_commit(repository, "validate-manifest", str(manifest)).returncode == 0
    # The framework would install this project from the network; the same definitions run what is installed here.
    hooks = [{**hook, "language": "system"} for hook in yaml.safe_load(manifest.read_text())]
    config = {"repos": [{"repo": "local", "hooks": hooks}]}
    (repository / ".pre-commit-config.yaml").write_text(json.dumps(config))
    git(repository, "add", "-A")
    noted = gate(tmp_path, 0)

    for hook in HOOKS:
        refs = ["--from-ref", "HEAD", "--to-ref", "HEAD"] if hook in ("post-checkout", "pre-push") else []
        more = ["--checkout-type", "1"] if hook == "post-checkout" else []
        squash = ["--is-squash-merge", "0"] if hook == "post-merge" else []
        done = pre_commit(repository, "run", "--hook-stage", hook, *refs, *more, *squash)
        assert done.returncode == 0, done.stdout + done.stderr

    assert [line.split("|")[3] for line in noted.read_text().splitlines()] == [f"hooks run {hook}" for hook in HOOKS]


def test_a_merge_brings_the_database_up_to_date(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    decapod(clone, "status")
    decapod(clone, "hooks", "install")
    decapod(repository, "knowledge", "add", "Ids are ULIDs", "--provenance", "person:ada")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Know")

    git(clone, "pull", "-q")

    assert folded(clone) == 1


def test_a_checkout_of_a_branch_catches_up_and_one_of_a_file_does_not(repository: Path, tmp_path: Path) -> None:
    decapod(repository, "hooks", "install", "post-checkout")
    noted = gate(tmp_path, 0)

    git(repository, "checkout", "-q", "--", "src/a.py")
    assert not noted.exists()
    git(repository, "checkout", "-q", "-b", "side")
    assert noted.read_text().endswith("|hooks run post-checkout\n")


def folded(top: Path) -> int:
    import sqlite3

    with sqlite3.connect(top / ".decapod" / "local" / "knowledge.db") as connection:
        return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])


def test_a_hook_that_takes_too_long_is_stopped_and_git_proceeds(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    decapod(clone, "status")
    decapod(clone, "hooks", "install")
    decapod(repository, "knowledge", "add", "Ids are ULIDs", "--provenance", "person:ada")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Know")

    with open(clone / ".decapod" / "local" / "lock", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # somebody writes, and does not come to an end
        done = subprocess.run(
            ["git", "pull", "-q"],
            cwd=clone,
            capture_output=True,
            text=True,
            env={**os.environ, "DECAPOD_HOOK_TIMEOUT": "0.3"},
            check=False,
        )

    line = "decapod: the post-merge hook took longer than 0.3 s and was stopped; git proceeds\n"
    assert (done.returncode, done.stdout + done.stderr) == (0, line)
    assert git(clone, "rev-parse", "HEAD") == git(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize("setting", ["", "soon", "nan", "inf", "-1", "0"])
def test_a_limit_that_is_no_length_of_time_counts_as_none(repository: Path, setting: str) -> None:
    answer = decapod(repository, "hooks", "run", "post-merge", DECAPOD_HOOK_TIMEOUT=setting)

    assert answer == {"hook": "post-merge", "ok": True, "lines": []}


def test_damage_is_one_line_and_never_stops_git(repository: Path) -> None:
    ledger = repository / ".decapod" / "ledgers"
    shutil.rmtree(ledger)
    ledger.write_text("a file where a folder must be\n")

    for hook in HOOKS:
        done = run(repository, "hooks", "run", hook)
        assert done.returncode == 0, done.stderr
        assert len((done.stdout + done.stderr).splitlines()) <= 1


def test_hooks_need_git(tmp_path: Path) -> None:
    for verb in ("install", "uninstall", "status"):
        assert refusal(tmp_path, "hooks", verb) == (1, "no-git")


def test_an_unknown_hook_is_misuse(repository: Path) -> None:
    assert refusal(repository, "hooks", "install", "pre-commit", "commit-msg") == (2, "unknown-hook")
    assert hooks_of(repository) == {}
    assert refusal(repository, "hooks", "run", "commit-msg")[0] == 2
