"""An entry: one piece of knowledge, as the fold of its events."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from decapod_py.domain.anchors import Anchor
from decapod_py.foundation.canonical import canonical

ROOT_SCOPE = "root"
REDACTED = "[redacted]"


class Entry(NamedTuple):
    """The folded state of one entry. Times are milliseconds since 1970."""

    id: str
    title: str
    content: str
    provenances: tuple[str, ...]
    tags: tuple[str, ...]
    scope: str
    merge_key: str | None
    claim_id: str | None
    ttl_policy: str
    expires: int | None
    expires_by_default: bool  # the expiry is the policy's, nobody gave one
    confidence: str | None  # a decimal as text: hashed numbers are integers
    supersedes: tuple[str, ...]  # what this entry's own versions replaced
    status: str  # active, superseded, deprecated, stale or deleted
    written_status: str  # the same without decay, as the Markdown shows it
    author: str
    contributors: tuple[str, ...]
    created: int
    updated: int
    version: str  # event id of the version that shows
    heads: tuple[str, ...]  # more than one: diverged
    path: str  # of its Markdown, below .decapod/knowledge/
    anchors: tuple[Anchor | None, ...] = ()  # one a provenance, or none at all where nothing is anchored
    reaffirmed: int | None = None  # when somebody last looked and found that it still holds
    aliases: tuple[str, ...] = ()  # other names that links may use
    source: str | None = None  # a note of the author's on where it comes from, besides its provenance
    extra: str = ""  # front matter of the author's own, as it was written
    filed: bool = True  # it has a Markdown file; somebody may have taken it away on purpose

    @property
    def provenance(self) -> str:
        return self.provenances[0] if self.provenances else ""

    @property
    def diverged(self) -> bool:
        return len(self.heads) > 1

    @property
    def procedural(self) -> bool:
        return is_procedural(self.id)

    def expired(self, now: int) -> bool:
        return self.expires is not None and self.expires <= now

    def status_at(self, now: int) -> str:
        """The status as a reader sees it: what has expired is stale, even before a decay run says so."""
        return "stale" if self.status == "active" and self.expired(now) else self.status

    def digest(self) -> bytes:
        """A word for this state: the state digest of a workspace is made of them."""
        return sha256(canonical(list(self))).digest()


def is_procedural(entry_id: str) -> bool:
    return entry_id.lower().startswith("procedural/")
