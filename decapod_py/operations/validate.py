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
from decapod_py.storage.hook_files import index_in_use
from decapod_py.views.change import Staged, change_since, empty_tree, merge_base
from decapod_py.workspace import make_local

if TYPE_CHECKING:
    from collections import Counter

    from decapod_py.gates.finding import Finding
    from decapod_py.gates.registry import Outcome
    from decapod_py.operations.requests import Validate
    from decapod_py.operations.shapes import FindingShape, GateShape, Validated
    from decapod_py.workspace import Workspace


@operation()
def validate(workspace: Workspace, request: Validate) -> Validated:
    """Run the gates and say what they find; nothing is repaired on the way.

    With --base REF only what the branch changes is looked at. Exit 1 on findings that fail, 3 when a gate broke. A gate
    that was skipped did not pass. --explain GATE tells what a gate is for.
    """
    if request.explain is not None:
        return _explained(request.explain)
    _refuse_contradictions(request)
    context = _context(workspace, request)
    outcomes = _run(context, request.gates)
    found = [finding for outcome in outcomes for finding in outcome.findings]
    if request.write_baseline:
        _write_baseline(workspace, found, outcomes)
    new, known = baseline.split(found, _baseline(context))
    result = _result(context, outcomes, new, request.strict)
    result["known"] = len(known)
    if request.format != "text":
        result["report"] = _report(request.format, outcomes, new, result)
    return result


def _refuse_contradictions(request: Validate) -> None:
    if request.staged and request.base is not None:
        raise Misused("two-changes", "--staged and --base are two different changes", "leave one of them out")
    if request.write_baseline and (request.staged or request.base is not None or request.gates or request.path):
        raise Misused(
            "partial-baseline",
            "a baseline of some findings would make all others new",
            "leave --base, --staged, --gate and --path out",
        )


def _context(workspace: Workspace, request: Validate) -> Context:
    repository = workspace.repository
    change = staged = None
    if repository is None and (request.staged or request.base is not None):
        raise Misused("no-git", "there is no git here, and so nothing to compare with", "leave --base and --staged out")
    if request.staged:
        assert repository
        staged = Staged(index_in_use(repository.worktree))
        state = workspace.staged_state(staged.index_file)
        commit = git.head_commit(repository) or empty_tree(repository.worktree)
        change = change_since(state, workspace.root, repository, commit, staged)
    else:
        state = workspace.inspected()
        if request.base is not None:
            assert repository
            commit = merge_base(workspace.root, repository, request.base)
            change = change_since(state, workspace.root, repository, commit)
    return Context(workspace, state, change=change, path=request.path, staged=staged, run_proofs=request.run_proofs)


def _run(context: Context, wanted: list[str]) -> list[Outcome]:
    gates = list(dict.fromkeys(registry.known(gate) for gate in wanted)) or registry.names()
    first = registry.run(context, "format", "fail")
    if first.state != "passed":
        reason = "the data is of a newer version, or that cannot be told"
        others = [gate for gate in gates if gate != "format"]
        return [first, *(registry.Outcome(gate, GATE_LEVELS[gate], "skipped", [], reason) for gate in others)]
    outcomes = []
    for number, gate in enumerate(gates, 1):
        level = context.policy.gates[gate]
        # A gate that is asked for by name is asked, whatever its level.
        outcomes.append(registry.run(context, gate, GATE_LEVELS[gate] if wanted and level == "off" else level))
        context.workspace.progress("gates", number, len(gates))
    return outcomes


def _baseline(context: Context) -> Counter[str]:
    """What is known. A branch cannot forgive itself: with --base it is what the base knew."""
    if context.change is not None and not context.staged:
        return baseline.read(context.workspace.file_at(context.change.base, baseline.FILE))
    if context.staged:
        return baseline.read(context.reviewed(baseline.FILE))
    return baseline.read(read_bytes(os.path.join(context.workspace.root, baseline.FILE)))


def _result(context: Context, outcomes: list[Outcome], new: list[Finding], strict: bool) -> Validated:
    failing = [finding for finding in new if strict or finding.level == "fail"]
    return {
        "ok": not failing,
        "broken": any(outcome.state == "broken" for outcome in outcomes),
        "base": context.change.base if context.change else None,
        "gates": [_gate(outcome, new) for outcome in outcomes],
        "findings": [_finding(finding) for finding in new],
        "failing": len(failing),
        "known": 0,
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


def _write_baseline(workspace: Workspace, findings: list[Finding], outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.state == "broken":
            raise Refused(
                "gate-broken", f"the gate {outcome.gate} broke, so not all findings are known: {outcome.reason}"
            )
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
    return for_a_hook(workspace, base=None, staged=True)


def for_a_hook(workspace: Workspace, base: str | None, staged: bool) -> dict[str, Any]:
    """What the gates say in few lines."""
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
    result = validate(workspace, request)  # type: ignore[arg-type]
    lines = [
        f"{one['severity']}: {one['message']} [{one['gate']}]"
        for one in result["findings"]
        if one["severity"] == "error" or len(result["findings"]) <= 10
    ]
    lines += [f"the gate {one['gate']} broke: {one['reason']}" for one in result["gates"] if one["state"] == "broken"]
    return {"ok": result["ok"], "lines": lines}
