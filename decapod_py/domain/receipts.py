"""Receipts: what a proof that ran leaves behind, and which of them still counts.

A receipt is an event like any other: whoever can write the ledger can write one and run nothing. It spares running a
proof again; what proves is running it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from decapod_py.domain.event import Event, text_of
from decapod_py.domain.policy import Proof
from decapod_py.domain.text import neutral

LEDGER, RUN = "proofs", "proof.run"
LONGEST_TAIL = 4_000  # characters

State = Literal["good", "missing", "outdated", "failed", "timed-out", "no-files"]
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_END_OF_KEY = re.compile(r"-----END [A-Z0-9 ]{3,60}-----")


class Receipt(NamedTuple):
    """One run of a proof."""

    event_id: str
    ts: str
    actor: str
    proof: str
    command_sha256: str
    paths_sha256: str  # of its files before it ran
    paths_changed: bool  # while it ran: then nobody knows what was proved
    exit_code: int | None  # nothing when the time limit ended it
    timed_out: bool
    duration_ms: int
    output_sha256: str
    output_bytes: int
    head: str | None
    dirty: bool  # the working tree was not what that commit has
    command: str | None  # nothing once redacted
    tail: str | None

    @property
    def passed(self) -> bool:
        return self.exit_code == 0 and not self.timed_out


class Verdict(NamedTuple):
    """How a proof stands, in one word and in a sentence, and the receipt that says so."""

    state: State
    reason: str
    receipt: Receipt | None = None


_FIELDS: dict[str, tuple[type, ...]] = {
    "proof": (str,),
    "command_sha256": (str,),
    "paths_sha256": (str,),
    "paths_changed": (bool,),
    "exit_code": (int, type(None)),
    "timed_out": (bool,),
    "duration_ms": (int,),
    "output_sha256": (str,),
    "output_bytes": (int,),
    "head": (str, type(None)),
    "dirty": (bool,),
}


def receipt_of(event: Event) -> Receipt | None:
    """The receipt that an event is. One with a field of a wrong type is none: anybody may have written it."""
    fields: dict[str, Any] = {name: event.get(name) for name in _FIELDS}
    if event["ledger"] != LEDGER or event["type"] != RUN:
        return None
    if any(type(value) not in _FIELDS[name] for name, value in fields.items()):
        return None
    common = {name: event[name] for name in ("event_id", "ts", "actor")}
    return Receipt(**common, **fields, command=text_of(event, "command"), tail=text_of(event, "tail"))


def command_digest(command: str) -> str:
    return sha256(command.encode()).hexdigest()


def verdict(proof: Proof, receipts: Iterable[Receipt], paths_sha256: str | None) -> Verdict:
    """How a proof stands: the newest run of this command on these files decides. Receipts come oldest first."""
    if paths_sha256 is None:
        return Verdict("no-files", f"no file matches its paths: {', '.join(proof.paths)}")
    runs = [receipt for receipt in receipts if receipt.proof == proof.name]
    if not runs:
        return Verdict("missing", "it has not run")
    command = command_digest(proof.run)
    about_these = [
        receipt
        for receipt in runs
        if (receipt.command_sha256, receipt.paths_sha256, receipt.paths_changed) == (command, paths_sha256, False)
    ]
    return _outcome(about_these[-1]) if about_these else _outdated(runs[-1], command)


def _outcome(receipt: Receipt) -> Verdict:
    if receipt.timed_out:
        return Verdict("timed-out", f"it was stopped after {receipt.duration_ms / 1000:.1f} s", receipt)
    if not receipt.passed:
        return Verdict("failed", f"it ended with exit code {receipt.exit_code}", receipt)
    return Verdict("good", "it passed on these files", receipt)


def _outdated(newest: Receipt, command: str) -> Verdict:
    if newest.command_sha256 != command:
        reason = "its command changed since it ran"
    elif newest.paths_changed:
        reason = "its files changed while it ran: what it writes itself must be ignored by git or left out of its paths"
    else:
        reason = "its files changed since it ran"
    return Verdict("outdated", reason, newest)


def tail_of(output: bytes) -> str:
    """The end of what a command printed: text that does nothing to a terminal, its secrets masked."""
    text = output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return neutral(masked(_COLOUR.sub("", text)))[-LONGEST_TAIL:]


def masked(text: str) -> str:
    """The text without its secrets: each is blotted out to the end of its line, a key to the end of its block."""
    from decapod_py.domain.secrets import find_secrets

    found = find_secrets(text)
    starts = [0, *(match.end() for match in re.finditer("\n", text))] if found else []
    # From the last to the first: what is cut moves no place that is still to come.
    for secret in reversed(found):
        start = starts[secret.line - 1] + secret.column - 1
        text = f"{text[:start]}[masked: {secret.kind}]{text[_end_of_secret(text, start, secret.kind) :]}"
    return text


def _end_of_secret(text: str, start: int, kind: str) -> int:
    if kind == "private key":
        ends = _END_OF_KEY.search(text, start)
        return ends.end() if ends else len(text)
    end = text.find("\n", start)
    return end if end >= 0 else len(text)
