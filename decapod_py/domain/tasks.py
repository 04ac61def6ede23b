"""Tasks and findings: what agents set out to do, and what came of it.

A task is named by the event that created it, a finding by the event that posted it, so `event:<id>` cites either. How a
task stands is said by the greatest event about it: two branches that complete and cancel one task agree once they meet.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from decapod_py.domain.agents import agent_of
from decapod_py.domain.entry import REDACTED
from decapod_py.domain.event import Event, order, text_of
from decapod_py.domain.fold import recorded, redacted_by, texts
from decapod_py.domain.text import check_content, check_label, name_key
from decapod_py.foundation.errors import Misused

TASKS = "tasks"
CREATED, COMPLETED, CANCELLED, REOPENED = "task.created", "task.completed", "task.cancelled", "task.reopened"
POSTED = "finding.posted"
STATUSES = {CREATED: "open", COMPLETED: "completed", CANCELLED: "cancelled", REOPENED: "open"}
_DECISIONS = frozenset({COMPLETED, CANCELLED, REOPENED})

MINUTE = 60_000
LONGEST_DESCRIPTION = 20_000
LONGEST_SUMMARY = 4_000


class Task(NamedTuple):
    """The folded state of one task."""

    id: str
    title: str
    description: str
    tags: tuple[str, ...]
    agent: str  # who created it
    created: int
    status: str
    decided: str  # the event that says how it stands

    @property
    def standing(self) -> Standing:
        return Standing(self.id, self.status, self.decided)


class Standing(NamedTuple):
    """How a task stands, and the event that says so: of two, the one with the greater event holds."""

    task_id: str
    status: str
    decided: str

    @property
    def is_open(self) -> bool:
        return self.status == "open"


class Finding(NamedTuple):
    """Something found while working on a task."""

    id: str
    task_id: str
    agent: str
    summary: str
    knowledge_id: str | None
    recorded: int


class Claim(NamedTuple):
    """A lease: one agent works on one aspect of a task until it expires."""

    task_id: str
    aspect: str
    agent: str
    claimed: int
    expires: int

    def holds(self, now: int) -> bool:
        """Up to its last millisecond, and not in the one it expires at."""
        return now < self.expires


def later(one: Standing, other: Standing | None) -> Standing:
    return one if other is None or one.decided >= other.decided else other


def tasks_of(event: Event) -> list[str]:
    """The tasks this event acts on."""
    kind = event["type"]
    if kind == CREATED:
        return [event["event_id"]]
    if kind in _DECISIONS:
        named = event.get("task_id")
        return [named] if isinstance(named, str) else []
    return list(dict.fromkeys(texts(event, "redacts"))) if kind == "event.redacted" else []


def findings_of(event: Event) -> list[str]:
    """The findings this event acts on."""
    if event["type"] == POSTED:
        return [event["event_id"]]
    return list(dict.fromkeys(texts(event, "redacts"))) if event["type"] == "event.redacted" else []


def fold_task(task_id: str, events: Iterable[Event]) -> Task | None:
    """The state of one task, or nothing while the event that creates it is not here."""
    ordered = sorted((event for event in events if event["ledger"] == TASKS), key=order)
    created = next((event for event in ordered if event["type"] == CREATED and event["event_id"] == task_id), None)
    if created is None:
        return None
    redacted = redacted_by(ordered)
    decisions = [event for event in ordered if event["type"] in _DECISIONS and event.get("task_id") == task_id]
    deciding = max([created, *decisions], key=order)
    return Task(
        id=task_id,
        title=_said(created, "title", redacted) or "",
        description=_said(created, "description", redacted) or "",
        tags=tuple(texts(created, "tags")),
        agent=agent_of(created),
        created=recorded(created),
        status=STATUSES[deciding["type"]],
        decided=deciding["event_id"],
    )


def fold_finding(finding_id: str, events: Iterable[Event]) -> Finding | None:
    """One finding, or nothing while the event that posts it is not here."""
    ordered = sorted((event for event in events if event["ledger"] == TASKS), key=order)
    posted = next((event for event in ordered if event["type"] == POSTED and event["event_id"] == finding_id), None)
    if posted is None or not isinstance(posted.get("task_id"), str):
        return None
    knowledge_id = posted.get("knowledge_id")
    return Finding(
        id=finding_id,
        task_id=posted["task_id"],
        agent=agent_of(posted),
        summary=_said(posted, "summary", redacted_by(ordered)) or "",
        knowledge_id=knowledge_id if isinstance(knowledge_id, str) else None,
        recorded=recorded(posted),
    )


def _said(event: Event, name: str, redacted: set[str]) -> str | None:
    if event["event_id"] in redacted or "text" not in event:
        return REDACTED
    return text_of(event, name)


def check_aspect(text: str) -> str:
    aspect = check_label(text, "aspect")
    if not aspect_key(aspect):
        raise Misused("empty", "the aspect is empty")
    return aspect


def aspect_key(aspect: str) -> str:
    """Spellings that a reader takes for one aspect are one: `Front end` and `front  END` must not both be held."""
    return name_key(aspect)


def check_description(text: str | None) -> str:
    description = check_content(text or "")
    if len(description) > LONGEST_DESCRIPTION:
        raise _too_long("description", description, LONGEST_DESCRIPTION)
    return description


def check_summary(text: str) -> str:
    summary = check_content(text).strip()
    if not summary:
        raise Misused("empty", "the summary is empty", "say in a sentence what was found")
    if len(summary) > LONGEST_SUMMARY:
        raise _too_long("summary", summary, LONGEST_SUMMARY)
    return summary


def _too_long(name: str, text: str, longest: int) -> Misused:
    return Misused(
        "too-long",
        f"the {name} has {len(text)} characters; at most {longest} are kept",
        "put what is longer into an entry and name its id",
    )
