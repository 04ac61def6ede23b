"""The gate `redactions`: a line with a text that was redacted is a finding, with its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import StandingClock

from decapod_py.client import Decapod
from decapod_py.foundation.ids import milliseconds_of, ulid
from decapod_py.gates import registry
from decapod_py.gates.context import Context
from decapod_py.gates.registry import Outcome
from decapod_py.views.change import change_since, merge_base
from decapod_py.workspace import Workspace

TEXT = "The password is xyzzyplugh-kwijibo."


@pytest.fixture
def workspace(repository: Path) -> Iterator[Workspace]:
    opened = Workspace(str(repository))
    yield opened
    opened.close()


@pytest.fixture
def opened(repository: Path, clock: StandingClock) -> Iterator[Any]:
    with Decapod(repository, clock=clock) as client:
        yield client


@pytest.fixture
def leaked(opened: Any) -> str:
    """The event that leaked, in the second line of its segment."""
    knowledge = opened.knowledge
    knowledge.add(id="other", title="Other", text="Nothing to hide.", provenance=["cmd:x"])
    knowledge.add(id="leak", title="Deploying", text=TEXT, provenance=["cmd:x"])
    version: str = knowledge.get(id="leak")["version"]
    return version


@pytest.fixture
def segment(repository: Path, leaked: str) -> Path:
    (found,) = (repository / ".decapod" / "ledgers" / "knowledge.events").rglob("*.jsonl")
    return found


def outcome(workspace: Workspace, *, base: str | None = None) -> Outcome:
    state = workspace.state()
    change = None
    if base is not None:
        assert workspace.repository
        commit = merge_base(workspace.root, workspace.repository, base)
        change = change_since(state, workspace.root, workspace.repository, commit)
    found = registry.run(Context(workspace, state, change=change), "redactions", "fail")
    workspace.end_question()
    return found


def test_it_passes_where_nothing_was_redacted(workspace, leaked):
    assert outcome(workspace) == Outcome("redactions", "fail", "passed", [])


def test_it_passes_after_a_redaction(workspace, opened, leaked):
    opened.ledger.redact(target="leak", reason="A password leaked.")

    assert outcome(workspace).state == "passed"


def test_a_line_that_has_the_text_again_fails_with_its_place(workspace, opened, leaked, segment, repository):
    old = segment.read_bytes()
    opened.ledger.redact(target="leak", reason="A password leaked.")
    copy = segment.with_name(f"{ulid(milliseconds_of(segment.stem) + 1)}.jsonl")
    copy.write_bytes(old)

    for base in (None, "HEAD"):
        failed = outcome(workspace, base=base)

        assert failed.state == "failed"
        (finding,) = failed.findings
        assert (finding.code, finding.file, finding.line) == (
            "redaction-undone",
            copy.relative_to(repository).as_posix(),
            2,
        )
        assert leaked in finding.message and f"decapod ledger redact {leaked}" in finding.fix
        assert TEXT not in finding.message


def test_every_copy_is_a_finding(workspace, opened, leaked, segment):
    old = segment.read_bytes()
    opened.ledger.redact(target="leak", reason="A password leaked.")
    for number in (1, 2):
        segment.with_name(f"{ulid(milliseconds_of(segment.stem) + number)}.jsonl").write_bytes(old)

    assert len(outcome(workspace).findings) == 2


def test_a_text_that_was_only_hidden_and_not_taken_out_yet_fails(workspace, opened, leaked, segment):
    """As a process leaves it that was killed right after the event."""
    old = segment.read_bytes()
    opened.ledger.redact(target="leak", reason="A password leaked.")
    segment.write_bytes(old + segment.read_bytes().splitlines(keepends=True)[-1])

    (finding,) = outcome(workspace).findings

    assert (finding.file, finding.line) == (f".decapod/ledgers/{segment.relative_to(segment.parents[2])}", 2)


def test_it_explains_itself():
    assert "decapod ledger redact EVENT" in registry.explanation("redactions")
