"""What each Lithos tool answers."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict


class Written(TypedDict):
    id: str
    path: str


class LinkShape(TypedDict):
    target: str
    display: str | None


class Metadata(TypedDict):
    """Lithos's front matter, and what Decapod knows besides."""

    id: str
    title: str
    author: str
    contributors: list[str]
    created_at: str
    updated_at: str
    tags: list[str]
    confidence: float
    aliases: list[str]
    source: str | None
    supersedes: str | None
    path: str
    version: str
    status: str
    provenance: list[str]
    drift: str | None
    standing: str | None


class ItemRead(TypedDict):
    id: str
    title: str
    content: str
    metadata: Metadata
    links: list[LinkShape]
    truncated: bool


class Succeeded(TypedDict):
    success: bool


class Hit(TypedDict):
    id: str
    title: str
    snippet: str
    score: float
    path: str


class Hits(TypedDict):
    results: list[Hit]


class Near(TypedDict):
    id: str
    title: str
    snippet: str
    similarity: float
    path: str


class Nearest(TypedDict):
    results: list[Near]


class ListedItem(TypedDict):
    id: str
    title: str
    path: str
    updated: str
    tags: list[str]


class ItemsListed(TypedDict):
    items: list[ListedItem]
    total: int


class Linked(TypedDict):
    id: str
    title: str


class LinksOf(TypedDict):
    outgoing: list[Linked]
    incoming: list[Linked]


class TagCounts(TypedDict):
    tags: dict[str, int]


class Stats(TypedDict):
    documents: int
    chunks: int
    agents: int
    active_tasks: int
    open_claims: int
    tags: int


class AgentRegistered(TypedDict):
    success: bool
    created: bool


class AgentKnown(TypedDict):
    id: str
    name: str | None
    type: str | None
    first_seen_at: str | None
    last_seen_at: str | None
    metadata: dict[str, Any]


class AgentSeen(TypedDict):
    id: str
    name: str | None
    type: str | None
    last_seen_at: str


class AgentsSeen(TypedDict):
    agents: list[AgentSeen]


class TaskCreated(TypedDict):
    task_id: str


class Claimed(TypedDict):
    success: bool
    expires_at: NotRequired[str]


class Renewed(TypedDict):
    success: bool
    new_expires_at: NotRequired[str]


class ClaimHeld(TypedDict):
    agent: str
    aspect: str
    expires_at: str


class TaskShown(TypedDict):
    id: str
    title: str
    status: str
    claims: list[ClaimHeld]


class TasksShown(TypedDict):
    tasks: list[TaskShown]


class FindingPosted(TypedDict):
    finding_id: str


class FindingShown(TypedDict):
    id: str
    agent: str
    summary: str
    knowledge_id: str | None
    created_at: str


class FindingsShown(TypedDict):
    findings: list[FindingShown]
