"""What each Lithos tool may be asked: its arguments, bounds and defaults."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from decapod_py.surfaces.mcp.adapting import AdaptedRequest

Agent = Annotated[str, Field(description="Your agent identifier")]
ItemId = Annotated[str, Field(description="Id of a knowledge item")]
TaskId = Annotated[str, Field(description="Task id")]
Aspect = Annotated[str, Field(description="The part of the task you work on")]
Minutes = Annotated[int, Field(ge=1, le=480, description="How long, from now")]
Tags = Annotated[tuple[str, ...], Field(description="Only with all of these tags")]
Since = Annotated[str | None, Field(description="ISO 8601")]


class Nothing(AdaptedRequest):
    pass


class Write(AdaptedRequest):
    title: Annotated[str, Field(description="Title of the item")]
    content: Annotated[str, Field(description="Markdown, without front matter")]
    agent: Agent
    tags: Annotated[list[str] | None, Field(description="On an update: left out keeps, [] clears")] = None
    confidence: Annotated[float | None, Field(ge=0, le=1, description="0 to 1 (default: 1.0)")] = None
    path: Annotated[str | None, Field(description="Subfolder, such as procedures")] = None
    id: Annotated[str | None, Field(description="Update this item; left out, a new one is made")] = None
    source_task: Annotated[
        str | None, Field(description="Task id, or where it comes from: file:PATH#L3-L9, url:, commit:, or a note")
    ] = None
    expected_version: Annotated[
        str | None, Field(description="Refuse the update unless metadata.version is still this")
    ] = None


class Read(AdaptedRequest):
    id: Annotated[str | None, Field(description="Id of a knowledge item")] = None
    path: Annotated[str | None, Field(description="Its file, as write and search give it")] = None
    max_length: Annotated[
        int | None, Field(ge=1, description="Cut at a paragraph or sentence before so many characters")
    ] = None


class Delete(AdaptedRequest):
    id: ItemId
    agent: Annotated[str | None, Field(description="Who deletes it")] = None


class Search(AdaptedRequest):
    query: Annotated[str, Field(description='Words; "a phrase" and prefix* narrow')]
    limit: Annotated[int, Field(ge=1, le=1_000)] = 10
    tags: Tags = ()
    author: Annotated[str | None, Field(description="Only by this first author")] = None
    path_prefix: str | None = None


class Semantic(AdaptedRequest):
    query: Annotated[str, Field(description="A question in plain words")]
    limit: Annotated[int, Field(ge=1, le=1_000)] = 10
    threshold: Annotated[float, Field(ge=0, le=1, description="Least similarity")] = 0.3
    tags: Tags = ()


class ListItems(AdaptedRequest):
    path_prefix: str | None = None
    tags: Tags = ()
    author: str | None = None
    since: Since = None
    limit: Annotated[int, Field(ge=1, le=10_000)] = 50
    offset: Annotated[int, Field(ge=0)] = 0


class Links(AdaptedRequest):
    id: ItemId
    direction: Literal["outgoing", "incoming", "both"] = "both"
    depth: Annotated[int, Field(ge=1, le=3)] = 1


class AgentRegister(AdaptedRequest):
    id: Agent
    name: Annotated[str | None, Field(description="Display name")] = None
    type: Annotated[str | None, Field(description="agent-zero, openclaw, claude-code, custom, or any word")] = None
    metadata: Annotated[dict[str, Any] | None, Field(description="Capabilities, version, anything")] = None


class AgentInfo(AdaptedRequest):
    id: Annotated[str, Field(description="Agent identifier")]


class AgentList(AdaptedRequest):
    type: str | None = None
    active_since: Since = None


class TaskCreate(AdaptedRequest):
    title: str
    agent: Agent
    description: str | None = None
    tags: tuple[str, ...] = ()


class TaskClaim(AdaptedRequest):
    task_id: TaskId
    aspect: Aspect
    agent: Agent
    ttl_minutes: Minutes = 60


class TaskRelease(AdaptedRequest):
    task_id: TaskId
    aspect: Aspect
    agent: Agent


class TaskComplete(AdaptedRequest):
    task_id: TaskId
    agent: Agent


class TaskStatus(AdaptedRequest):
    task_id: Annotated[str | None, Field(description="Left out: all active tasks")] = None


class FindingPost(AdaptedRequest):
    task_id: TaskId
    agent: Agent
    summary: Annotated[str, Field(description="What was found, briefly")]
    knowledge_id: Annotated[str | None, Field(description="The item that says more")] = None


class FindingList(AdaptedRequest):
    task_id: TaskId
    since: Since = None
