"""What the author of a version decides, all of it each time."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from decapod_py.domain.anchors import Anchor, Cited, anchor_fields, cited_fields
from decapod_py.domain.entry import ROOT_SCOPE, Entry
from decapod_py.foundation.clock import format_time, parse_moment
from decapod_py.foundation.errors import Misused


class Authored(NamedTuple):
    title: str
    content: str
    provenances: tuple[str, ...]
    tags: tuple[str, ...] = ()
    scope: str = ROOT_SCOPE
    merge_key: str | None = None
    claim_id: str | None = None
    ttl_policy: str = "persistent"
    expires: int | None = None
    expires_by_default: bool = False
    confidence: str | None = None
    aliases: tuple[str, ...] = ()
    source: str | None = None
    extra: str = ""
    anchors: tuple[Anchor | None, ...] = ()  # one a provenance, or none at all
    cited: tuple[Cited | None, ...] = ()  # what the anchors' texts said
    allowed_secret: str | None = None  # why something that looks like a secret may stand here


def authored_of(entry: Entry) -> Authored:
    """What the version of an entry that shows says, but for what only its events have."""
    return Authored(*(getattr(entry, name) for name in Authored._fields if name not in ("cited", "allowed_secret")))


def version_fields(entry_id: str, path: str, authored: Authored, was: dict[str, list[str]]) -> dict[str, Any]:
    """The fields of a version event; its text is `version_text`."""
    seldom = {
        "anchors": [anchor_fields(anchor) for anchor in authored.anchors],
        "aliases": list(authored.aliases),
        "source": authored.source,
    }
    return {
        **{name: value for name, value in seldom.items() if value},
        "entry_id": entry_id,
        "path": path,
        "provenance": list(authored.provenances),
        "tags": list(authored.tags),
        "scope": authored.scope,
        "merge_key": authored.merge_key,
        "claim_id": authored.claim_id,
        "ttl_policy": authored.ttl_policy,
        "expires_ts": None if authored.expires is None else format_time(authored.expires),
        "expires_by_default": authored.expires_by_default,
        "confidence": authored.confidence,
        "was": was,
    }


def version_text(authored: Authored, reason: str | None = None) -> dict[str, Any]:
    text: dict[str, Any] = {"title": authored.title, "content": authored.content}
    if any(authored.cited):
        text["anchors"] = [cited_fields(cited) for cited in authored.cited]
    if authored.extra:
        text["extra"] = authored.extra
    if authored.allowed_secret:
        text["allowed_secret"] = authored.allowed_secret
    return {**text, "reason": reason} if reason else text


def with_lifetime(
    authored: Authored, ttl_policy: str | None, expires_ts: str | None, now: int, lifetimes: dict[str, int]
) -> Authored:
    """Decides how long a version lives: as somebody said, or as the policy says where nobody did."""
    given = parse_moment(expires_ts, now) if expires_ts else None
    expiring = "decay" if given is not None and authored.ttl_policy == "persistent" else authored.ttl_policy
    policy = ttl_policy or expiring
    if policy == "persistent":
        if given is not None:
            raise Misused(
                "never-expires", "a persistent entry has no expiry", "leave --expires-ts out, or say --ttl-policy decay"
            )
        return authored._replace(ttl_policy=policy, expires=None, expires_by_default=False)
    if given is not None:
        return authored._replace(ttl_policy=policy, expires=given, expires_by_default=False)
    return authored._replace(ttl_policy=policy, expires=now + lifetimes[policy], expires_by_default=True)


def decimal(number: float | None) -> str | None:
    """A confidence as it is recorded: hashed numbers are integers, so a fraction is a text."""
    if number is None:
        return None
    return f"{abs(number):.4f}".rstrip("0").rstrip(".")


def title_and_content(text: str, longest: int) -> tuple[str, str]:
    """A note as a title, its first line, and a content, the rest; a note of one line is both."""
    first, _, rest = text.strip().partition("\n")
    title = re.sub(r"^#{1,6}\s+", "", first.strip())
    if len(title) > longest:
        return title[: longest - 1].rstrip() + "…", text.strip()
    return title, rest.strip("\n") if rest.strip() else title
