"""The GitHub Action and the CI examples: their scripts run as CI would run them, in a clone with a base branch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from support import PROJECT, decapod, git, make_repository

SCRIPT = PROJECT / "action" / "validate.sh"
CHANGED = "".join(f"changed {number}\n" for number in range(1, 21))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What CI checks out: a clone whose branch `change` is one harmless commit ahead of `origin/main`."""
    origin = tmp_path / "origin"
    make_repository(origin)
    decapod(origin, "knowledge", "add", "Retries stop at 3", "--from", "src/a.py:3")
    git(origin, "add", "-A")
    git(origin, "commit", "-qm", "Know")
    git(tmp_path, "clone", "-q", "origin", "clone")
    place = tmp_path / "clone"
    git(place, "switch", "-qc", "change")
    (place / "README.md").write_text("Hello.\n")
    commit(place, "Say hello")
    return place


def commit(place: Path, message: str) -> None:
    git(place, "add", "-A")
    git(place, "commit", "-qm", message)


def cut_the_ledger(place: Path) -> None:
    """The tip of a ledger is gone: only the base can tell."""
    segments = sorted((place / ".decapod" / "ledgers").rglob("*.jsonl"))
    segments[-1].unlink()
    commit(place, "Cut the tip")


def run_script(place: Path, shell: str = "sh", **environment: str) -> subprocess.CompletedProcess[str]:
    found = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI_", "DECAPOD_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [shell, str(SCRIPT)],
        cwd=place,
        env={**found, "PATH": path, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_harmless_pull_request_passes(clone: Path, tmp_path: Path) -> None:
    done = run_script(clone, GITHUB_BASE_REF="main", GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "::error" not in done.stdout


def test_a_pull_request_that_cuts_a_ledger_fails_with_an_annotation(clone: Path) -> None:
    cut_the_ledger(clone)

    done = run_script(clone, GITHUB_BASE_REF="main")

    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^::error file=\.decapod/ledgers/[^,]+,.*title=append-only/", done.stdout, re.MULTILINE)


def test_sarif_goes_into_the_file_and_its_name_to_the_next_step(clone: Path, tmp_path: Path) -> None:
    cut_the_ledger(clone)
    report, output = tmp_path / "with blanks.sarif", tmp_path / "output"

    done = run_script(clone, GITHUB_BASE_REF="main", DECAPOD_SARIF=str(report), GITHUB_OUTPUT=str(output))

    assert done.returncode == 1
    schema = json.loads((PROJECT / "tests" / "data" / "sarif-schema-2.1.0.json").read_text())
    log = json.loads(report.read_text())
    Draft7Validator(schema).validate(log)
    assert {result["level"] for result in log["runs"][0]["results"]} >= {"error"}
    assert output.read_text() == f"sarif={report}\n"


def test_a_change_of_what_an_entry_cites_is_annotated_and_fails_only_when_strict(clone: Path) -> None:
    (clone / "src" / "a.py").write_text(CHANGED)
    commit(clone, "Change what is cited")

    warned = run_script(clone, GITHUB_BASE_REF="main")
    strict = run_script(clone, GITHUB_BASE_REF="main", DECAPOD_ARGS="--strict --gate drift")

    assert warned.returncode == 0, warned.stdout + warned.stderr
    assert "::warning" in warned.stdout and "title=drift/" in warned.stdout
    assert strict.returncode == 1, strict.stdout + strict.stderr


def test_a_push_is_compared_with_the_commit_before_it(clone: Path) -> None:
    before = git(clone, "rev-parse", "HEAD").strip()
    cut_the_ledger(clone)
    (clone / "README.md").write_text("Hello again.\n")
    commit(clone, "Say it again")

    assert run_script(clone, DECAPOD_BEFORE=before).returncode == 1
    assert run_script(clone).returncode == 0, "without a word from the forge it is the last commit that counts"
    assert run_script(clone, DECAPOD_BASE=before).returncode == 1
    assert run_script(clone, DECAPOD_BASE=before, GITHUB_BASE_REF="change").returncode == 1, (
        "what was given counts first"
    )


def test_a_new_branch_and_a_forced_push_have_a_base_too(clone: Path) -> None:
    cut_the_ledger(clone)

    for gone in ("0" * 40, "1234567890" * 4):
        assert run_script(clone, DECAPOD_BEFORE=gone).returncode == 1


def test_the_first_commit_of_a_repository_has_no_base(tmp_path: Path) -> None:
    make_repository(tmp_path / "new")

    done = run_script(tmp_path / "new")

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_shallow_clone_is_told_to_fetch_history(clone: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{clone}", "shallow")

    done = run_script(tmp_path / "shallow")

    assert done.returncode == 2
    assert "fetch-depth: 0" in done.stderr


def test_a_base_that_does_not_exist_is_a_clear_error_and_writes_no_report(clone: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.sarif"

    done = run_script(clone, DECAPOD_BASE="no-such-ref", DECAPOD_SARIF=str(report))

    assert done.returncode == 2
    assert not report.exists()


def test_words_for_the_command_are_neither_globs_nor_code(clone: Path, tmp_path: Path) -> None:
    done = run_script(clone, GITHUB_BASE_REF="main", DECAPOD_ARGS=f"--path * --gate $(touch {tmp_path}/owned)")

    assert done.returncode == 2
    assert not (tmp_path / "owned").exists()
    assert run_script(clone, GITHUB_BASE_REF="main", DECAPOD_ARGS="--path *").returncode == 0


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_script_runs_in_either_shell(clone: Path, shell: str) -> None:
    cut_the_ledger(clone)

    assert run_script(clone, shell, GITHUB_BASE_REF="main").returncode == 1


def test_the_review_is_in_the_step_summary(clone: Path, tmp_path: Path) -> None:
    (clone / "src" / "a.py").write_text(CHANGED)
    commit(clone, "Change what is cited")
    summary = tmp_path / "summary.md"
    summary.write_text("Before.\n")

    run_script(clone, GITHUB_BASE_REF="main", GITHUB_STEP_SUMMARY=str(summary))

    assert summary.read_text().startswith("Before.\n")
    assert "Retries stop at 3" in summary.read_text()


def the_action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((PROJECT / "action.yml").read_text())
    return found


def test_the_action_runs_that_script_and_names_only_what_exists() -> None:
    action = the_action()

    assert action["runs"]["using"] == "composite"
    assert set(action["inputs"]) >= {"base", "args", "python-version", "version", "upload-sarif"}
    assert all("description" in one and "default" in one for one in action["inputs"].values())
    text = (PROJECT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(action["inputs"])
    gates = next(step for step in action["runs"]["steps"] if step.get("id") == "gates")
    (script,) = re.findall(r"\$ACTION_PATH/(\S+?)\"", gates["run"])
    assert PROJECT / script == SCRIPT
    assert set(gates["env"]) - {"ACTION_PATH"} <= set(re.findall(r"DECAPOD_[A-Z]+", SCRIPT.read_text()))


def test_no_step_of_the_action_pastes_an_expression_into_a_script() -> None:
    for step in the_action()["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "a branch name would become code"
        assert "shell" in step or "uses" in step


def test_sarif_is_uploaded_only_when_asked_for() -> None:
    (upload,) = [step for step in the_action()["runs"]["steps"] if "upload-sarif" in step.get("uses", "")]

    assert "always()" in upload["if"], "findings fail the step before"
    assert "inputs.upload-sarif == 'true'" in upload["if"]


def test_the_install_step_installs_the_action_itself(tmp_path: Path) -> None:
    (install,) = [step for step in the_action()["runs"]["steps"] if step["name"] == "Install decapod"]
    tools = tmp_path / "tools"
    tools.mkdir()
    # Makes an environment whose Python writes down what it is asked to install: there is no network here.
    (tools / "python3").write_text(f'#!/bin/sh\nmkdir -p "$3/bin"\ncp "{tools}/asked" "$3/bin/python"\n')
    (tools / "asked").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{tmp_path}/asked"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)

    def asked(version: str) -> str:
        environment = {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(tmp_path / "runner"),
            "GITHUB_PATH": str(tmp_path / "path"),
            "ACTION_PATH": "/action of ours",
            "VERSION": version,
        }
        subprocess.run(["bash", "-euo", "pipefail", "-c", install["run"]], env=environment, check=True)
        return (tmp_path / "asked").read_text().splitlines()[-1]

    assert asked("") == "/action of ours"
    assert asked("0.1.0") == "decapod-py==0.1.0"
    assert (tmp_path / "path").read_text().splitlines()[0] == f"{tmp_path}/runner/decapod/bin"


def test_the_workflow_uses_inputs_that_the_action_has() -> None:
    workflow = yaml.safe_load((PROJECT / "examples" / "ci" / "github-action.yml").read_text())
    checkout, step = workflow["jobs"]["knowledge"]["steps"]

    assert checkout["with"]["fetch-depth"] == 0
    assert step["uses"].split("@")[0].endswith("/decapod")
    assert set(step["with"]) <= set(the_action()["inputs"])
    assert workflow["permissions"]["security-events"] == "write"


def test_the_gitlab_job_passes_on_a_harmless_change_and_fails_on_a_cut_ledger(clone: Path) -> None:
    job = yaml.safe_load((PROJECT / "examples" / "gitlab-ci.yml").read_text())["knowledge"]
    assert job["variables"]["GIT_DEPTH"] == "0"
    base = git(clone, "merge-base", "HEAD", "origin/main").strip()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def codes(part: str) -> list[int]:
        environment = {**os.environ, "PATH": path, "DECAPOD_BASE": base}
        return [subprocess.run(["sh", "-c", line], cwd=clone, env=environment).returncode for line in job[part]]

    assert codes("script") == [0]
    cut_the_ledger(clone)
    assert codes("script") == [1]
    assert codes("after_script") == [0]
    assert json.loads((clone / job["artifacts"]["paths"][0]).read_text())["version"] == "2.1.0"


def test_codeowners_names_the_places_where_rules_are_made() -> None:
    lines = (PROJECT / "examples" / "CODEOWNERS").read_text().splitlines()
    owned = [line.split()[0] for line in lines if line and not line.startswith("#")]

    assert owned[0] == "/.decapod/knowledge/procedural/"
    assert "/.decapod/ledgers/knowledge.promotions/" in owned
    assert all(re.fullmatch(r"\S+ +@[\w/-]+", line) for line in lines if line and not line.startswith("#"))
