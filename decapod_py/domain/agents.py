"""Agents: who works here, as they say themselves. A name is free and proves nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from decapod_py.domain.event import Event, order, text_of
from decapod_py.domain.fold import recorded, redacted_by
from decapod_py.domain.text import check_label, check_unicode, name_key
from decapod_py.foundation.errors import Misused

AGENTS, REGISTERED = "agents", "agent.registered"
LONGEST_METADATA = 10_000


class Agent(NamedTuple):
    """What an agent was registered with; each field as the latest registration that gives it says."""

    id: str
    name: str | None
    type: str | None
    metadata: str | None  # a JSON object
    registered: int


def agent_of(event: Event) -> str:
    """Who did this, as the event says: the agent it names, or else its actor."""
    named = event.get("agent")
    return named if isinstance(named, str) and named else str(event["actor"])


def fold_agents(events: Iterable[Event]) -> dict[str, Agent]:
    """The registered agents by id. An omitted field keeps what it was, an empty one clears it."""
    ordered = sorted(events, key=order)
    redacted = redacted_by(ordered)
    found: dict[str, Agent] = {}
    for event in ordered:
        if event["ledger"] == AGENTS and event["type"] == REGISTERED:
            known = found.get(agent_of(event)) or Agent(agent_of(event), None, None, None, recorded(event))
            found[known.id] = _updated(known, event, redacted)
    return found


def _updated(known: Agent, event: Event, redacted: set[str]) -> Agent:
    kind = event.get("agent_type")
    hidden = event["event_id"] in redacted
    return known._replace(
        type=_given(kind if isinstance(kind, str) else None, known.type),
        name=_given(None if hidden else text_of(event, "name"), known.name),
        metadata=_given(None if hidden else text_of(event, "metadata"), known.metadata),
    )


def _given(value: str | None, before: str | None) -> str | None:
    return before if value is None else value or None


def check_agent(text: str) -> str:
    """The name as it is recorded. It is compared as it is: two spellings are two agents, and never share a claim."""
    agent = check_label(text, "agent")
    if not name_key(agent):
        raise Misused("empty", "the agent is empty")
    return agent


def check_metadata(text: str) -> str:
    """A JSON object in one form; an empty text clears what was there."""
    if not text.strip():
        return ""
    metadata = _parsed(text)
    if not isinstance(metadata, dict):
        raise Misused("bad-metadata", "the metadata is no JSON object", 'write it like {"version": "2"}')
    try:
        written = json.dumps(metadata, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except ValueError as problem:  # 1e999 is a number to Python's reader, and none to anybody else's
        raise Misused("bad-metadata", f"the metadata cannot be written as JSON: {problem}") from None
    check_unicode(written, "metadata")
    if len(written) > LONGEST_METADATA:
        raise Misused("too-long", f"the metadata has {len(written)} characters; at most {LONGEST_METADATA} are kept")
    return written if metadata else ""


def metadata_of(agent: Agent) -> dict[str, Any]:
    """The metadata as an object. A ledger comes from strangers too: what is none counts as nothing."""
    try:
        found = _parsed(agent.metadata or "{}")
    except Misused:
        return {}
    return found if isinstance(found, dict) else {}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        raise Misused(
            "bad-metadata", f"the metadata is not JSON: {problem}", 'write it like {"version": "2"}'
        ) from None


def _refuse_constant(literal: str) -> Any:
    raise ValueError(f"{literal} is no JSON number")
