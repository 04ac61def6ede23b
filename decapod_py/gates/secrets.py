"""Keys, tokens, passwords and private keys in what the ledgers record.

They are refused when an entry is written, unless somebody gave a reason (--allow-secret); this gate finds those that
came another way. What is in git stays there: make the secret void first, then `decapod ledger redact`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from decapod_py.domain.event import Event
from decapod_py.domain.secrets import find_secret_forms, find_secrets
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding

# What somebody wrote besides the text.
_WRITTEN = ("provenance", "tags", "aliases", "evidence_refs", "merge_key", "claim_id", "scope", "source", "reason")
_NAMES = ("entry_id", "path")  # which may be random


def check(context: Context) -> Iterator[Finding]:
    allowed = context.policy.allowed_secrets
    redacted = context.state.redacted()
    for event, segment, offset in context.events():
        if event["event_id"] in redacted or "allowed_secret" in (event.get("text") or {}):
            continue
        named = event.get("entry_id")
        names = "\n".join(text for name in _NAMES for text in _strings(event.get(name)))
        for secret in [*find_secrets("\n".join(_texts(event)), allowed), *find_secret_forms(names, allowed)]:
            yield context.finding_at(
                segment,
                offset,
                "secret",
                f"event {event['event_id']} holds what looks like a secret: {secret.kind} ({secret.shown})",
                f"make it void where it is used, then decapod ledger redact {event['event_id']} --reason WHY",
                entry=named if isinstance(named, str) else None,
            )


def _texts(event: Event) -> Iterator[str]:
    """Everything in an event that somebody wrote."""
    for name, value in (event.get("text") or {}).items():
        if name not in ("salt", "_"):
            yield from _strings(value)
    for name in _WRITTEN:
        yield from _strings(event.get(name))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
