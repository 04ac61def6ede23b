"""The gate `proofs`: every required proof passed on the files as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import StandingClock, decapod, git, run

from decapod_py.client import Decapod
from decapod_py.gates import registry
from decapod_py.gates.context import Context
from decapod_py.gates.registry import Outcome
from decapod_py.operations.catalogue import find
from decapod_py.workspace import Workspace
from decapod_py.writer import Draft

TESTS = {"name": "tests", "run": "true", "paths": ["src/**"]}


@pytest.fixture
def opened(repository: Path, clock: StandingClock) -> Iterator[Any]:
    with Decapod(repository, clock=clock) as client:
        yield client


@pytest.fixture
def gate(repository: Path, clock: StandingClock) -> Iterator[Callable[..., Outcome]]:
    """One run of the gate, as `validate` makes it."""
    opened: list[Workspace] = []

    def checked(*, agent: bool = False, **options: Any) -> Outcome:
        workspace = Workspace(str(repository), agent=agent, clock=clock)
        opened.append(workspace)
        return registry.run(Context(workspace, workspace.inspected(), **options), "proofs", "fail")

    yield checked
    for workspace in opened:
        workspace.close()


def configure(repository: Path, *proofs: dict[str, Any]) -> None:
    tables = [["[[proof]]", *(f"{key} = {json.dumps(value)}" for key, value in proof.items())] for proof in proofs]
    lines = ["format = 1", *(line for table in tables for line in table)]
    (repository / ".decapod" / "config.toml").write_text("\n".join([*lines, ""]))


def codes(outcome: Outcome) -> list[str]:
    return [finding.code for finding in outcome.findings]


def test_without_proofs_the_gate_is_skipped(gate):
    assert gate() == Outcome("proofs", "fail", "skipped", [], "no [[proof]] in .decapod/config.toml")


def test_a_proof_that_never_ran_is_found_with_its_place_and_fix(repository, gate):
    configure(repository, TESTS, {**TESTS, "name": "style and lint"})

    found = gate().findings

    assert [finding._asdict() for finding in found][1] == {
        "gate": "proofs",
        "code": "proof-missing",
        "level": "fail",
        "message": "the proof 'style and lint' does not hold: it has not run",
        "fix": "decapod proof run 'style and lint'",
        "entry": None,
        "file": ".decapod/config.toml",
        "line": 6,
    }
    assert [finding.line for finding in found] == [2, 6]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"run": "true"}, []),
        ({"run": "false"}, ["proof-failed"]),
        ({"run": "sleep 60", "timeout": "0s"}, ["proof-timed-out"]),
        ({"run": "date +%N > src/new"}, ["proof-outdated"]),
        ({"run": "false", "required": False}, []),
    ],
)
def test_what_came_of_a_proof_decides(repository, opened, gate, settings, code):
    configure(repository, {**TESTS, **settings})
    opened.trust()
    opened.proof.run()

    assert codes(gate()) == code


def test_a_change_of_its_files_outdates_a_proof_and_undoing_it_does_not(repository, opened, gate):
    configure(repository, TESTS)
    opened.trust()
    opened.proof.run()

    (repository / "src" / "a.py").write_text("changed\n")
    assert codes(gate()) == ["proof-outdated"]
    git(repository, "checkout", "-q", "--", "src")
    assert gate().state == "passed"


def test_paths_that_match_nothing_are_found(repository, gate):
    configure(repository, {**TESTS, "paths": ["scr/**"]})

    assert codes(gate()) == ["proof-no-files"]
    assert codes(gate(run_proofs=True)) == ["proof-no-files"]


def test_what_is_staged_is_not_judged(repository, gate):
    configure(repository, TESTS)

    assert gate(staged=True).state == "skipped"


def test_what_lacks_a_good_receipt_is_run_when_asked_for_and_nothing_else(repository, opened, gate):
    runs = repository / ".decapod" / "local" / "runs"
    configure(
        repository,
        {**TESTS, "name": "a", "run": f"echo a >> {runs}"},
        {**TESTS, "name": "b", "run": f"echo b >> {runs}"},
        {**TESTS, "name": "c", "run": f"echo c >> {runs}", "required": False},
        {**TESTS, "name": "d", "run": "false"},
    )
    opened.trust()
    opened.proof.run(names=["a"])

    outcome = gate(run_proofs=True)

    assert codes(outcome) == ["proof-failed"]
    assert runs.read_text() == "a\nb\n"
    assert codes(gate()) == ["proof-failed"]


def test_nothing_runs_without_trust(repository, gate):
    configure(repository, {**TESTS, "run": "touch ran"})

    outcome = gate(run_proofs=True)

    assert [(finding.code, finding.fix) for finding in outcome.findings] == [
        ("untrusted", "decapod trust"),
        ("proof-missing", "decapod proof run tests"),
    ]
    assert not (repository / "ran").exists()


def test_nothing_runs_from_a_hook_or_for_an_agent(repository, opened, gate, monkeypatch):
    configure(repository, {**TESTS, "run": "touch ran"})
    opened.trust()

    assert codes(gate(run_proofs=True, agent=True)) == ["not-from-here", "proof-missing"]
    monkeypatch.setenv("DECAPOD_HOOK", "pre-push")
    assert codes(gate(run_proofs=True)) == ["not-from-here", "proof-missing"]
    assert not (repository / "ran").exists()


def test_a_receipt_can_be_written_by_hand_which_is_why_it_is_a_cache(repository, opened, gate, clock):
    """The gate cannot tell; its explanation says so, and CI runs the proofs."""
    configure(repository, {**TESTS, "run": "false"})
    opened.trust()
    failed = opened.proof.run()["receipts"][0]
    workspace = Workspace(str(repository), clock=clock)
    given = ("event_id", "ts", "actor", "command", "tail", "passed")
    fields = {name: value for name, value in failed.items() if name not in given}
    with workspace.writing() as writer:
        writer.append("Mallory", Draft("proofs", "proof.run", {**fields, "exit_code": 0}, {"command": "", "tail": ""}))
    workspace.close()

    assert gate().state == "passed"
    assert "A receipt is a cache and no evidence" in registry.explanation("proofs")
    assert opened.proof.run()["ok"] is False
    assert codes(gate()) == ["proof-failed"]


def test_validate_reports_runs_and_is_content(repository):
    configure(repository, TESTS)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Proof")

    assert run(repository, "validate", "--gate", "proofs").returncode == 1
    decapod(repository, "trust")
    done = run(repository, "validate", "--gate", "proofs", "--run-proofs")
    assert (done.returncode, done.stderr) == (0, "proof tests: true\n")
    assert decapod(repository, "validate", "--gate", "proofs")["ok"] is True
    assert decapod(repository, "validate", "--strict")["ok"] is True


def test_validate_offers_no_agent_to_run_proofs():
    from decapod_py.operations.requests import PeopleOnly

    field = find("validate", "validate").request_model.model_fields["run_proofs"]

    assert any(isinstance(mark, PeopleOnly) for mark in field.metadata)
