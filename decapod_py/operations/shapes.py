"""What each operation answers, as the JSON that leaves it.

Plain typed dictionaries: an operation returns dictionary literals, imports this module only for the type checker and so
pays nothing on the fast route; pydantic makes schemas and checks of them all the same.
"""

from __future__ import annotations

from typing import (
    Any,
    Literal,
    NotRequired,  # pydantic cannot read typing's before Python 3.12
)

from typing_extensions import TypedDict


class Similar(TypedDict):
    id: str
    title: str
    similarity: float
    advice: str


class Added(TypedDict):
    id: str
    action: Literal["inserted", "merged", "superseded"]
    superseded_ids: list[str]
    similar: list[Similar]


class EntryShape(TypedDict):
    id: str
    title: str
    content: str
    provenance: str
    provenances: list[str]
    status: str
    expired: bool
    tags: list[str]
    scope: str
    merge_key: str | None
    claim_id: str | None
    supersedes_id: str | None
    supersedes: list[str]
    ttl_policy: str
    expires_ts: str | None
    confidence: float | None
    author: str
    contributors: list[str]
    created_at: str
    updated_at: str
    version: str
    diverged: bool
    heads: list[str]
    path: str
    feedback: dict[str, int]
    truncated: NotRequired[bool]


class Listed(TypedDict):
    total: int
    count: int
    entries: list[EntryShape]


class HistoryItem(TypedDict):
    event_id: str
    ts: str
    type: str
    actor: str
    is_version: bool
    is_head: bool
    was: list[str]
    status: str | None
    title: str | None
    content: str | None
    provenances: list[str]
    reason: str | None
    truncated: NotRequired[bool]


class HistoryShape(TypedDict):
    id: str
    count: int
    omitted: int
    events: list[HistoryItem]


class Hit(TypedDict):
    id: str
    title: str
    content: NotRequired[str]
    snippet: str
    provenance: str
    tags: list[str]
    status: str
    score: float
    recency_score: float
    created_at: str
    updated_at: str
    version: str
    truncated: NotRequired[bool]
    explain: NotRequired[dict[str, Any]]


class Found(TypedDict):
    query: str
    count: int
    omitted: int
    results: list[Hit]


class Changed(TypedDict):
    """A change to one entry."""

    id: str
    action: str
    event_id: str
    version: str
    superseded_ids: list[str]


class Decayed(TypedDict):
    as_of: str
    policy: str
    dry_run: bool
    stale_ids: list[str]
    event_id: str | None


class PromotionShape(TypedDict):
    event_id: str
    ts: str
    source_entry_id: str
    source_version: str
    target_class: Literal["procedural"]
    target_id: str | None
    evidence_refs: list[str]
    approved_by: str | None
    actor: str
    reason: str
    state: Literal["proposed", "approved", "revoked"]


class Logged(TypedDict):
    event_id: str
    file: str


class BadLine(TypedDict):
    line: int
    code: str
    message: str


class Imported(TypedDict):
    ok: bool
    dry_run: bool
    read: int
    added: int
    unchanged: int
    bad: list[BadLine]


class Exported(TypedDict):
    format: Literal["jsonl", "markdown"]
    count: int
    output: str | None
    lines: NotRequired[list[str]]


class Problem(TypedDict):
    code: str
    severity: Literal["error", "warning"]
    place: str
    message: str
    fix: str


class Verified(TypedDict):
    ok: bool
    events: int
    segments: int
    ledgers: dict[str, int]
    gaps: int
    problems: list[Problem]


class Shown(TypedDict):
    count: int
    omitted: int
    events: list[dict[str, Any]]


class Restored(TypedDict):
    dry_run: bool
    restored: list[str]
    left: list[str]


class Packed(TypedDict):
    dry_run: bool
    joined: int
    written: list[str]


class Initialised(TypedDict):
    root: str
    made: list[str]
    git: bool
    next: list[str]


class Rebuilt(TypedDict):
    ok: bool
    checked: bool
    events: int
    entries: int
    digest: str
    problems: list[Problem]


class StatusShape(TypedDict):
    root: str
    version: str
    digest: str
    entries: dict[str, int]
    events: int
    segments: int
    heads: dict[str, int]
    diverged: list[str]
    clashes: list[str]
    proposals: int
    expired: int
    markdown: dict[str, int]
    problems: list[Problem]


class Diagnosis(TypedDict):
    ok: bool
    problems: list[Problem]
    fixed: list[str]


class Uninstalled(TypedDict):
    removed: list[str]
    kept: list[str]
    next: list[str]
