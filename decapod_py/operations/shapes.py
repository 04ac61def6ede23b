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


class CitationShape(TypedDict):
    """How one citation stands: where it is found now, and what is in the way where it is not."""

    provenance: str
    state: str
    now: str | None
    why: NotRequired[str]


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
    aliases: list[str]
    source: str | None
    ttl_policy: str
    expires_ts: str | None
    confidence: float | None
    author: str
    contributors: list[str]
    created_at: str
    updated_at: str
    version: str
    reaffirmed_at: str | None
    drift: str | None
    standing: str | None
    citations: list[CitationShape]
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
    path: str
    drift: str | None
    standing: str | None
    truncated: NotRequired[bool]
    explain: NotRequired[dict[str, Any]]


class Found(TypedDict):
    query: str
    mode: Literal["lexical", "semantic", "hybrid"]
    terms: list[str]  # what was looked for, to highlight it
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


class DriftedCitation(CitationShape):
    id: str
    title: str
    diff: str | None


class Drifted(TypedDict):
    ok: bool
    checked: int
    summary: dict[str, int]
    citations: list[DriftedCitation]
    omitted: int
    fixed: list[str]
    event_id: str | None


class Reaffirmed(TypedDict):
    reaffirmed: list[str]
    event_id: str | None


class Reason(TypedDict):
    """An entry that cites the place in question."""

    id: str
    title: str
    snippet: str
    citation: CitationShape
    distance: int
    drift: str | None
    standing: str
    status: str
    rule: bool
    version: str


class Reasons(TypedDict):
    path: str
    line: int | None
    count: int
    omitted: int
    results: list[Reason]


class FindingShape(TypedDict):
    """What a gate found, where, and what to do about it."""

    gate: str
    code: str
    severity: Literal["error", "warning"]
    entry: str | None
    file: str | None
    line: int | None
    message: str
    fix: str
    fingerprint: str


class GateShape(TypedDict):
    gate: str
    level: str
    state: str
    findings: int
    reason: str | None


class Validated(TypedDict):
    ok: bool
    broken: bool
    base: str | None
    gates: list[GateShape]
    findings: list[FindingShape]
    failing: int
    known: int
    report: NotRequired[str]


class ReviewedItem(TypedDict):
    """One thing a branch does to knowledge, and the command that settles it."""

    kind: str
    id: str
    title: str
    detail: str
    diff: str | None
    next: str


class Reviewed(TypedDict):
    base: str
    summary: str
    items: list[ReviewedItem]
    report: NotRequired[str]


class FileProblem(TypedDict):
    """A file that was not taken in, and why."""

    file: str
    line: int | None
    code: str
    message: str


class AddedFile(TypedDict):
    id: str
    path: str
    filled: list[str]


class MovedFile(TypedDict):
    id: str
    path: str
    was: str


class RestoredFile(TypedDict):
    id: str
    path: str
    fields: list[str]


class Synced(TypedDict):
    ok: bool
    dry_run: bool
    edited: list[str]
    moved: list[MovedFile]
    added: list[AddedFile]
    deprecated: list[str]
    revived: list[str]
    restored: list[RestoredFile]
    problems: list[FileProblem]


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
    formats: dict[str, int]
    left_out: dict[str, int]
    bad: list[FileProblem]


class Measured(TypedDict):
    """How well one mode of search answers the queries of one kind."""

    mode: str
    kind: str
    queries: int
    hit_at_1: float
    hit_at_5: float
    hit_at_k: float
    recall: float
    mrr: float
    ndcg: float


class UnknownId(TypedDict):
    line: int
    id: str


class RetrievalEvaluated(TypedDict):
    ok: bool
    k: int
    queries: int
    measured: list[Measured]
    bad: list[BadLine]
    unknown: list[UnknownId]


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


class LeftText(TypedDict):
    path: str
    why: str


class GitHistory(TypedDict):
    commits: int  # that brought the text or touched its file
    first: str | None
    hashes: list[str]  # the newest twenty
    note: str


class Redacted(TypedDict):
    dry_run: bool
    redacted: list[str]  # the events whose text goes
    entries: list[str]
    event_ids: list[str]  # the events that say so
    segments: list[str]
    files: list[str]
    left: list[LeftText]
    history: GitHistory
    next: list[str]


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
    tasks: dict[str, int]
    claims: int
    markdown: dict[str, int]
    problems: list[Problem]


class Diagnosis(TypedDict):
    ok: bool
    problems: list[Problem]
    fixed: list[str]


class InstalledHook(TypedDict):
    hook: str
    action: Literal["made", "updated", "unchanged"]
    chained: str | None  # the file of the hook that runs first


class HooksInstalled(TypedDict):
    directory: str
    hooks: list[InstalledHook]
    next: list[str]


class LeftHook(TypedDict):
    path: str
    reason: str


class HooksUninstalled(TypedDict):
    ok: bool
    directory: str
    removed: list[str]
    restored: list[str]
    left: list[LeftHook]


class HookState(TypedDict):
    hook: str
    state: Literal["absent", "installed", "outdated", "edited", "other"]
    chained: str | None


class HooksStatus(TypedDict):
    directory: str
    managed_by: str | None
    initialised: bool
    hooks: list[HookState]


class HookRun(TypedDict):
    hook: str
    ok: bool
    lines: list[str]


class ConnectedFile(TypedDict):
    path: str
    action: Literal["made", "changed", "unchanged", "removed", "printed"]
    text: NotRequired[str]


class Connected(TypedDict):
    client: str
    files: list[ConnectedFile]
    next: list[str]


class Commit(TypedDict):
    commit: str
    date: str
    subject: str


class BrokenMention(TypedDict):
    file: str
    line: int
    kind: Literal["path", "line", "symbol", "make-target", "npm-script", "command"]
    mention: str
    message: str
    since: Commit | None  # none while the change is not committed
    now: str | None
    fix: str


class Scanned(TypedDict):
    root: str
    base: str | None
    files: int
    checked: int
    good: int
    findings: list[BrokenMention]
    omitted: int
    adopted: list[str]
    notes: list[str]
    ok: bool


class ReceiptShape(TypedDict):
    """One run of a proof."""

    event_id: str
    ts: str
    actor: str
    proof: str
    command_sha256: str
    paths_sha256: str
    paths_changed: bool
    exit_code: int | None
    timed_out: bool
    duration_ms: int
    output_sha256: str
    output_bytes: int
    head: str | None
    dirty: bool
    command: str | None
    tail: str | None
    passed: bool


class ProofsRun(TypedDict):
    ok: bool
    receipts: list[ReceiptShape]


class ProofShape(TypedDict):
    name: str
    run: str
    required: bool
    timeout_ms: int
    paths: list[str]
    state: Literal["good", "missing", "outdated", "failed", "timed-out", "no-files"]
    reason: str
    receipt: ReceiptShape | None


class ProofsListed(TypedDict):
    trusted: bool
    count: int
    proofs: list[ProofShape]


class TrustedCommand(TypedDict):
    name: str
    run: str


class Trusted(TypedDict):
    trusted: bool
    changed: bool
    config: str
    sha256: str | None
    proofs: list[TrustedCommand]


class Uninstalled(TypedDict):
    removed: list[str]
    kept: list[str]
    next: list[str]


class ClaimShape(TypedDict):
    agent: str
    aspect: str
    claimed_at: str
    expires_at: str


class TaskCreated(TypedDict):
    task_id: str


class Claimed(TypedDict):
    """What came of a claim. Where another agent holds the aspect, `expires_at` is when that ends."""

    ok: bool
    task_id: str
    aspect: str
    agent: str
    expires_at: str | None
    held_by: str | None


class TaskDecided(TypedDict):
    task_id: str
    status: str
    changed: bool
    event_id: str | None
    released: list[ClaimShape]


class TaskShape(TypedDict):
    id: str
    title: str | None  # none where only another worktree has the task
    status: str
    agent: str | None
    tags: list[str]
    created_at: str | None
    here: bool
    claims: list[ClaimShape]
    findings: int
    description: NotRequired[str]
    decided_by: NotRequired[str]
    decided_at: NotRequired[str]
    reason: NotRequired[str]


class TasksListed(TypedDict):
    total: int
    count: int
    tasks: list[TaskShape]


class FindingPosted(TypedDict):
    finding_id: str
    task_id: str


class PostedFinding(TypedDict):
    id: str
    task_id: str
    agent: str
    summary: str
    knowledge_id: str | None
    created_at: str


class FindingsListed(TypedDict):
    task_id: str
    total: int
    count: int
    findings: list[PostedFinding]


class AgentRegistered(TypedDict):
    agent: str
    created: bool
    changed: bool


class AgentShape(TypedDict):
    id: str
    name: str | None
    type: str | None
    first_seen_at: str
    last_seen_at: str
    registered: bool


class HeldClaim(TypedDict):
    task_id: str
    aspect: str
    expires_at: str


class AgentInfoShape(AgentShape):
    metadata: dict[str, Any]
    claims: list[HeldClaim]


class AgentsListed(TypedDict):
    total: int
    count: int
    agents: list[AgentShape]


class NodeShape(TypedDict):
    """An entry; or a file, commit or event that entries cite, which has no status."""

    id: str
    title: str
    status: str | None


class LinkedShape(NodeShape):
    kinds: list[str]


class LinksShown(TypedDict):
    id: str
    title: str
    outgoing: list[LinkedShape]
    incoming: list[LinkedShape]
    omitted: int


class UnresolvedShape(TypedDict):
    """A link that leads to no entry, or to several: then these are named."""

    id: str
    file: str
    line: int
    link: str
    problem: str
    candidates: list[str]
    fix: str


class LinksChecked(TypedDict):
    ok: bool
    count: int
    links: list[UnresolvedShape]
    omitted: int


EdgeShape = TypedDict("EdgeShape", {"from": str, "to": str, "kind": str})


class LinkGraphShape(TypedDict):
    format: str
    omitted: int
    text: NotRequired[str]
    nodes: NotRequired[list[NodeShape]]
    edges: NotRequired[list[EdgeShape]]


class Stats(TypedDict):
    entries: dict[str, int]  # by status, as a reader sees it
    passages: int
    tags: int
    agents: int
    open_tasks: int
    open_claims: int


class TagsCounted(TypedDict):
    tags: dict[str, int]
