"""Every required proof passed on the files as they are now.

A `[[proof]]` in `.decapod/config.toml` is a command, such as the tests, and the `paths` it is about. `decapod proof
run` runs it and records a receipt: exit code, time, the digest of its output and of the files that match its paths.
This gate wants, for each proof that is required, a receipt of the same command on the same files whose newest run
passed.

    proof-missing     it has not run
    proof-outdated    its files or its command have changed since, or its files changed while it ran
    proof-failed      it ran on these files and failed
    proof-timed-out   it took longer than its timeout
    proof-no-files    no file matches its paths, so that nothing could ever outdate it

A receipt is a cache and no evidence: whoever can write to the ledger can write one and run nothing. What proves is
running the commands where nobody can leave it out: `decapod proof run` in CI. `decapod validate --run-proofs` runs
what lacks a good receipt and then judges. Commands run only where somebody has said `decapod trust` to this very
config.toml, and never from a git hook or an agent's tool.

Proofs are about the working tree: when only what is staged is looked at, as before a commit, this gate is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from decapod_py.foundation.errors import Refused
from decapod_py.foundation.files import read_bytes
from decapod_py.gates import proving
from decapod_py.gates.context import Context, Skipped
from decapod_py.workspace import CONFIG

if TYPE_CHECKING:
    from decapod_py.domain.policy import Proof
    from decapod_py.gates.finding import Finding
    from decapod_py.gates.proving import Judged


def check(context: Context) -> Iterator[Finding]:
    if context.staged:
        raise Skipped("a proof is about the working tree, not about what is staged")
    if not context.policy.proofs:
        raise Skipped(f"no [[proof]] in {CONFIG}")
    lacking = _lacking(proving.judged(context.workspace, context.state))
    if lacking and context.run_proofs:
        try:
            lacking = _run(context, [judged.proof for judged in lacking if judged.verdict.state != "no-files"])
        except Refused as problem:
            fix = "decapod trust" if problem.code == "untrusted" else str(problem.hint or "decapod doctor")
            yield context.finding(problem.code, problem.message, fix, file=CONFIG)
    lines = _lines(context)
    for proof, verdict in lacking:
        message = f"the proof {proof.name!r} does not hold: {verdict.reason}"
        yield context.finding(
            f"proof-{verdict.state}", message, _fix(proof, verdict.state), file=CONFIG, line=lines.get(proof.name)
        )


def _lacking(judged: list[Judged]) -> list[Judged]:
    return [found for found in judged if found.proof.required and found.verdict.state != "good"]


def _run(context: Context, proofs: list[Proof]) -> list[Judged]:
    """Runs proofs, if there are any that can, and judges anew."""
    workspace = context.workspace
    if proofs:
        allowed = proving.runnable(workspace, [proof.name for proof in proofs])
        proving.prove(workspace, allowed, workspace.actor())
    return _lacking(proving.judged(workspace, workspace.state()))


def _fix(proof: Proof, state: str) -> str:
    from shlex import quote

    if state == "no-files":
        return f"correct the paths of {proof.name!r} in {CONFIG}"
    return f"decapod proof run {quote(proof.name)}"


def _lines(context: Context) -> dict[str, int]:
    """Where each proof begins in config.toml, if it is written as tables."""
    lines = (read_bytes(proving.config_of(context.workspace)) or b"").splitlines()
    headers = [number for number, line in enumerate(lines, 1) if re.match(rb"\s*\[\[\s*proof\s*\]\]", line)]
    return dict(zip((proof.name for proof in context.policy.proofs), headers, strict=False))
