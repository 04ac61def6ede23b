"""Secrets stop at the door: what is recorded is shared with everybody who clones, for good."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from decapod_py.domain.event import text_of
from decapod_py.domain.text import check_reason
from decapod_py.foundation.errors import Refused

if TYPE_CHECKING:
    from decapod_py.domain.anchors import Cited
    from decapod_py.domain.authored import Authored
    from decapod_py.domain.entry import Entry
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace


def without_secrets(
    workspace: Workspace, authored: Authored, allowed: str | None, names: Iterable[str | None] = ()
) -> Authored:
    """The same, or a refusal that names what looks like a secret; a reason given for it is recorded.

    `names` are those that the entry goes by, its id and its file: they may be random, and still be no secret.
    """
    if allowed is not None:
        return authored._replace(allowed_secret=recorded_reason(workspace, allowed))
    written = [authored.title, authored.content, *authored.provenances, *authored.tags, *authored.aliases]
    written += [authored.extra] if authored.extra else []
    written += [text for text in (authored.merge_key, authored.claim_id, authored.scope, authored.source) if text]
    hint = "add --allow-secret REASON if it is none"
    refuse_secrets(workspace, written, hint)
    _refuse_secret_names(workspace, [name for name in names if name], hint)
    return authored._replace(cited=tuple(_discreet(workspace, cited) for cited in authored.cited))


def refuse_secrets(workspace: Workspace, texts: Iterable[str], hint: str = "leave it out") -> None:
    from decapod_py.domain.secrets import find_secrets, has_secrets

    written = list(texts)
    allowed = workspace.policy.allowed_secrets
    if not has_secrets(written):
        return
    for text in written:
        for secret in find_secrets(text, allowed):
            raise Refused(
                "secret",
                f"line {secret.line} holds what looks like a secret: {secret.kind} ({secret.shown})",
                f"say where it is kept instead, or {hint}",
            )


def _refuse_secret_names(workspace: Workspace, names: Iterable[str], hint: str) -> None:
    from decapod_py.domain.secrets import find_secret_forms

    for name in names:
        for secret in find_secret_forms(name, workspace.policy.allowed_secrets):
            message = f"the id or folder holds what looks like a secret: {secret.kind} ({secret.shown})"
            raise Refused("secret", message, f"choose another, or {hint}")


def recorded_reason(workspace: Workspace, given: str | None) -> str | None:
    """A reason as it is recorded: it is shared for good like everything else."""
    reason = check_reason(given)
    refuse_secrets(workspace, [reason] if reason else [])
    return reason


def _discreet(workspace: Workspace, cited: Cited | None) -> Cited | None:
    """A cited text that holds a secret is watched by its digest alone."""
    from decapod_py.domain.secrets import find_secrets

    if cited is None or not find_secrets("\n".join(cited), workspace.policy.allowed_secrets):
        return cited
    return None


def allowed_before(state: State, entry: Entry) -> str | None:
    """The reason that the version of an entry which shows was given, if it was."""
    version = state.event_of_hash(state.hash_of(entry))
    return text_of(version, "allowed_secret") if version else None
