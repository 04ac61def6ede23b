"""`decapod proof`: run, list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.gates import proving
from decapod_py.operations.catalogue import operation
from decapod_py.storage import trust

if TYPE_CHECKING:
    from decapod_py.domain.receipts import Receipt
    from decapod_py.gates.proving import Judged
    from decapod_py.operations.requests import Nothing, RunProofs
    from decapod_py.operations.shapes import ProofShape, ProofsListed, ProofsRun, ReceiptShape
    from decapod_py.workspace import Workspace


@operation(writes=True, tool=False)
def run(workspace: Workspace, request: RunProofs) -> ProofsRun:
    """Run the proofs of .decapod/config.toml, all or those named, and record a receipt of each.

    What they print goes to standard error. A receipt is a cache: what proves is running them in CI.
    """
    proofs = proving.runnable(workspace, request.names)
    receipts = proving.prove(workspace, proofs, workspace.actor(request.actor))
    failed = [proof for proof, receipt in zip(proofs, receipts, strict=True) if proof.required and not _holds(receipt)]
    return {"ok": not failed, "receipts": [_receipt(receipt) for receipt in receipts]}


@operation()
def list_(workspace: Workspace, request: Nothing) -> ProofsListed:
    """List the proofs of .decapod/config.toml with their newest receipt and whether it still counts."""
    judged = proving.judged(workspace, workspace.state())
    return {
        "trusted": trust.is_trusted(proving.config_of(workspace)),
        "count": len(judged),
        "proofs": [_proof(found) for found in judged],
    }


def _holds(receipt: Receipt) -> bool:
    return receipt.passed and not receipt.paths_changed


def _proof(judged: Judged) -> ProofShape:
    proof, verdict = judged
    return {
        "name": proof.name,
        "run": proof.run,
        "required": proof.required,
        "timeout_ms": proof.timeout,
        "paths": list(proof.paths),
        "state": verdict.state,
        "reason": verdict.reason,
        "receipt": _receipt(verdict.receipt) if verdict.receipt else None,
    }


def _receipt(receipt: Receipt) -> ReceiptShape:
    return {**receipt._asdict(), "passed": receipt.passed}  # type: ignore[typeddict-item]
