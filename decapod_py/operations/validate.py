"""`decapod validate`: the gates that prove, in CI, that what the repository knows still matches the repository."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from decapod_py import __version__
from decapod_py.domain.policy import GATE_LEVELS
from decapod_py.foundation.errors import Misused, Refused
from decapod_py.foundation.files import read_bytes, write_whole
from decapod_py.gates import baseline, registry
from decapod_py.gates.context import Context
from decapod_py.operations.catalogue import operation
from decapod_py.storage import git
from decapod_py.views.change import Change, Staged, change_since, merge_base
from decapod_py.workspace import make_local

if TYPE_CHECKING:
    from decapod_py.gates.finding import Finding
    from decapod_py.gates.registry import Outcome
    from decapod_py.operations.requests import Validate
    from decapod_py.operations.shapes import FindingShape, GateShape, Validated
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace


@operation()
def validate(workspace: Workspace, request: Validate) -> Validated:
    """Run the gates and say what they find; nothing is repaired on the way.

    With --base REF only what the branch changes is looked at. Exit 1 on findings that fail, 3 when a gate broke. A gate
    that was skipped did not pass. --explain GATE tells what a gate is for.
    """
    if request.explain is not None:
        return _explained(request.explain)
    if request.staged and request.base is not None:
        raise Misused("two-changes", "--staged and --base are two different changes", "leave one of them out")
    staged = _staged(workspace) if request.staged else None
    state = workspace.staged_state(staged.index_file) if staged else workspace.inspected()
    change = _change(workspace, state, request.base, staged)
    context = Context(workspace, state, change=change, path=request.path, staged=staged, run_proofs=request.run_proofs)
    outcomes = _run(context, request.gates)
    if request.write_baseline:
        _write_baseline(workspace, [finding for outcome in outcomes for finding in outcome.findings])
    found = [finding for outcome in outcomes for finding in outcome.findings]
    new, known = baseline.split(found, baseline.read(_baseline(context)))
    result = _result(outcomes, new, len(known), change, request.strict)
    if request.format != "text":
        result["report"] = _report(request.format, outcomes, new, result)
    return result


def _baseline(context: Context) -> bytes | None:
    """A branch does not say for itself what is known: with --base the baseline of the base counts."""
    if context.staged:
        return context.tree.read(baseline.FILE).data
    if context.change:
        return context.workspace.file_at(context.change.base, baseline.FILE)
    return read_bytes(os.path.join(context.workspace.root, baseline.FILE))


def _staged(workspace: Workspace) -> Staged:
    from decapod_py.storage.hook_files import index_in_use

    if workspace.repository is None:
        raise Misused("no-git", "there is no git here, and so nothing is staged", "leave --staged out")
    return Staged(index_in_use(workspace.repository.worktree))


def _change(workspace: Workspace, state: State, base: str | None, staged: Staged | None) -> Change | None:
    if staged is None and base is None:
        return None
    if workspace.repository is None:
        raise Misused("no-git", "there is no git here, and so nothing to compare with", "leave --base out")
    if staged is not None:
        commit = git.head_commit(workspace.repository) or git.EMPTY_TREE
    else:
        assert base is not None
        commit = merge_base(workspace.root, workspace.repository, base)
    return change_since(state, workspace.root, workspace.repository, commit, staged)


def _run(context: Context, wanted: list[str]) -> list[Outcome]:
    if context.workspace.config_format() and not _readable(context):
        outcome = registry.run(context, "format", "fail")
        reason = "the data is of a newer version"
        return [outcome, *(registry.Outcome(gate, "fail", "skipped", [], reason) for gate in registry.names()[1:])]
    levels = context.policy.gates
    gates = list(dict.fromkeys(registry.known(gate) for gate in wanted)) or registry.names()
    outcomes = []
    for number, gate in enumerate(gates, 1):
        # A gate that is asked for by name is asked, whatever its level.
        level = GATE_LEVELS[gate] if wanted and levels[gate] == "off" else levels[gate]
        outcomes.append(registry.run(context, gate, level))
        context.workspace.progress("gates", number, len(gates))
    return outcomes


def _readable(context: Context) -> bool:
    return registry.run(context, "format", "fail").state == "passed"


def _result(outcomes: list[Outcome], new: list[Finding], known: int, change: Change | None, strict: bool) -> Validated:
    failing = [finding for finding in new if strict or finding.level == "fail"]
    return {
        "ok": not failing,
        "broken": any(outcome.state == "broken" for outcome in outcomes),
        "base": change.base if change else None,
        "gates": [_gate(outcome, new) for outcome in outcomes],
        "findings": [_finding(finding) for finding in new],
        "failing": len(failing),
        "known": known,
    }


def _gate(outcome: Outcome, new: list[Finding]) -> GateShape:
    count = sum(finding.gate == outcome.gate for finding in new)
    state = "passed" if outcome.state in ("failed", "warned") and not count else outcome.state
    return {
        "gate": outcome.gate,
        "level": outcome.level,
        "state": state,
        "findings": count,
        "reason": outcome.reason,
    }


def _finding(finding: Finding) -> FindingShape:
    return {
        "gate": finding.gate,
        "code": finding.code,
        "severity": "error" if finding.level == "fail" else "warning",
        "entry": finding.entry,
        "file": finding.file,
        "line": finding.line,
        "message": finding.message,
        "fix": finding.fix,
        "fingerprint": finding.fingerprint(),
    }


def _report(form: str, outcomes: list[Outcome], findings: list[Finding], result: Validated) -> str:
    from decapod_py.gates import reports

    asides = [
        reports.Aside("fail" if outcome.state == "broken" else "warn", f"gate {outcome.gate}: {outcome.reason}")
        for outcome in outcomes
        if outcome.state in ("skipped", "broken")
    ]
    if form == "sarif":
        about = {outcome.gate: registry.explanation(outcome.gate) for outcome in outcomes}
        return reports.sarif(findings, __version__, about=about, asides=asides)
    if form == "github":
        # That a gate was skipped belongs to no line, and would be a warning on every pull request.
        return reports.github(findings, asides=[aside for aside in asides if aside.level == "fail"])
    return json.dumps(result, ensure_ascii=False)


def _write_baseline(workspace: Workspace, findings: list[Finding]) -> None:
    make_local(workspace.local)
    path = os.path.join(workspace.root, baseline.FILE)
    write_whole(path, baseline.written(findings), scratch=workspace.local)


def _explained(gate: str) -> Validated:
    text = registry.explanation(gate)
    return {
        "ok": True,
        "broken": False,
        "base": None,
        "gates": [],
        "findings": [],
        "failing": 0,
        "known": 0,
        "report": f"{gate} ({GATE_LEVELS[gate]} by default)\n\n{text}",
    }


def validate_staged(workspace: Workspace) -> dict[str, Any]:
    """The gates on what the next commit has, for a hook."""
    return _for_a_hook(workspace, base=None, staged=True)


def validate_push(workspace: Workspace) -> dict[str, Any]:
    """The gates on what the default branch does not have yet, for a hook."""
    tip = git.default_branch(workspace.repository)
    return _for_a_hook(workspace, base=tip, staged=False)


def _for_a_hook(workspace: Workspace, base: str | None, staged: bool) -> dict[str, Any]:
    from types import SimpleNamespace

    request = SimpleNamespace(
        base=base,
        staged=staged,
        gates=[],
        path=None,
        format="text",
        strict=False,
        write_baseline=False,
        explain=None,
        run_proofs=False,
    )
    try:
        result = validate(workspace, request)  # type: ignore[arg-type]
    except Refused as problem:
        return {"ok": False, "lines": [problem.message]}
    lines = [
        f"{one['severity']}: {one['message']} [{one['gate']}]"
        for one in result["findings"]
        if one["severity"] == "error" or len(result["findings"]) <= 10
    ]
    return {"ok": result["ok"], "lines": lines}
