"""Runs proofs and writes their receipts: for `proof run` and for `validate --run-proofs`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain import receipts
from decapod_py.domain.receipts import Receipt, Verdict
from decapod_py.domain.text import one_line
from decapod_py.foundation.errors import Call, Misused, Refused
from decapod_py.storage import commands, git, trust
from decapod_py.storage.file_digests import Files
from decapod_py.workspace import CONFIG, FOLDER
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from decapod_py.domain.policy import Proof
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace

_HOOK = "DECAPOD_HOOK"
_PROOF = "DECAPOD_PROOF"  # what a proof that is running is called
_NEWEST = 1_000  # receipts that are looked at; a proof that ran before all of them runs again


class Judged(NamedTuple):
    proof: Proof
    verdict: Verdict


def judged(workspace: Workspace, state: State) -> list[Judged]:
    """How each proof of the policy stands on the files of the working tree."""
    files = _files(workspace)
    recorded = known_receipts(state)
    return [
        Judged(proof, receipts.verdict(proof, recorded, files.digest(proof.paths))) for proof in workspace.policy.proofs
    ]


def known_receipts(state: State) -> list[Receipt]:
    events = state.events("ledger = ? AND type = ?", (receipts.LEDGER, receipts.RUN), _NEWEST)
    return [receipt for event in events if (receipt := receipts.receipt_of(event))]


def config_of(workspace: Workspace) -> str:
    return os.path.join(workspace.root, CONFIG)


def refuse_hooks_and_agents(workspace: Workspace) -> None:
    if os.environ.get(_HOOK) or workspace.agent:
        caller = "an agent's tool" if workspace.agent else "a git hook"
        raise Refused("not-from-here", f"{caller} never runs or trusts the commands of a repository", "use a shell")


def runnable(workspace: Workspace, names: Sequence[str] = ()) -> list[Proof]:
    """The proofs of these names, or all, if they may run here and now."""
    refuse_hooks_and_agents(workspace)
    if os.environ.get(_PROOF):
        message = f"the proof {os.environ[_PROOF]!r} is running here; a proof runs no proofs"
        raise Refused("not-from-here", message, "run them one by one")
    # Looked at before and after: what is read in between is what was trusted, whatever git pulls meanwhile.
    _refuse_untrusted(workspace)
    proofs = workspace.policy.proofs
    _refuse_untrusted(workspace)
    return _named(proofs, names)


def _refuse_untrusted(workspace: Workspace) -> None:
    if not trust.is_trusted(config_of(workspace)):
        message = f"{CONFIG} is not trusted here, or has changed since: its commands are not run"
        raise Refused("untrusted", message, Call("trust"))


def _named(proofs: tuple[Proof, ...], names: Sequence[str]) -> list[Proof]:
    known = {proof.name: proof for proof in proofs}
    if not known:
        raise Refused("no-proofs", f"there is no [[proof]] in {CONFIG}", "add one there")
    for name in names:
        if name not in known:
            raise Misused("unknown-proof", f"no proof is called {name!r}", f"there are {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)] or list(proofs)


def prove(workspace: Workspace, proofs: list[Proof], actor: str) -> list[Receipt]:
    """Runs proofs one after the other and records each as soon as it has ended."""
    with workspace.writing():
        pass  # what could not be recorded is not begun
    for proof in proofs:
        if _files(workspace).digest(proof.paths) is None:
            message = f"no file matches the paths of the proof {proof.name!r}: {', '.join(proof.paths)}"
            raise Refused("no-files", message, f"correct them in {CONFIG}")
    return [_proved(workspace, proof, actor) for proof in proofs]


def _proved(workspace: Workspace, proof: Proof, actor: str) -> Receipt:
    before = _files(workspace).digest(proof.paths)
    head, dirty = git.head_commit(workspace.repository), _is_dirty(workspace)
    echo = _standard_error()
    if echo is not None:
        _announce(echo, proof)
    # Without the lock: the command may well be one of ours.
    ran = commands.run(proof.run, workspace.root, proof.timeout, echo=echo, **{_PROOF: proof.name})
    fields: dict[str, Any] = {
        "proof": proof.name,
        "command_sha256": receipts.command_digest(proof.run),
        "paths_sha256": before,
        "paths_changed": _files(workspace).digest(proof.paths) != before,
        "exit_code": ran.exit_code,
        "timed_out": ran.timed_out,
        "duration_ms": ran.duration_ms,
        "output_sha256": ran.output_sha256,
        "output_bytes": ran.output_bytes,
        "head": head,
        "dirty": dirty,
    }
    text = {"command": receipts.masked(proof.run), "tail": receipts.tail_of(ran.end)}
    with workspace.writing() as writer:
        event = writer.append(actor, Draft(receipts.LEDGER, receipts.RUN, fields, text))
    receipt = receipts.receipt_of(event)
    assert receipt
    return receipt


def _files(workspace: Workspace) -> Files:
    return Files(workspace.root, workspace.repository)


def _is_dirty(workspace: Workspace) -> bool:
    """Whether the working tree is not what HEAD has, our own files aside."""
    if workspace.repository is None:
        return False
    try:
        return bool(git.ask(workspace.root, "status", "--porcelain", "-z", "--", ".", f":(exclude){FOLDER}"))
    except git.GitFailed:
        return True  # nobody can say that it is


def _standard_error() -> int | None:
    """Where people and CI read along. Standard output is for the result."""
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _announce(echo: int, proof: Proof) -> None:
    try:
        os.write(echo, f"proof {one_line(proof.name)}: {one_line(proof.run)}\n".encode())
    except OSError:
        pass  # nobody reads along
