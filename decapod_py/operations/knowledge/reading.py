"""`decapod knowledge get`, `list`, `history`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from decapod_py.domain.event import Event, text_of
from decapod_py.domain.fold import OUTCOMES, VERSIONS, texts, was
from decapod_py.foundation.clock import parse_time
from decapod_py.foundation.errors import Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.entries import find_entry, parse_past, show_entry

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.operations.requests import GetEntry, History, ListEntries
    from decapod_py.operations.shapes import EntryShape, HistoryItem, HistoryShape, Listed
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace

_NO_FEEDBACK = dict.fromkeys(OUTCOMES, 0)


@operation(core=True)
def get(workspace: Workspace, request: GetEntry) -> EntryShape:
    """Show one entry, now or as it was at an earlier time."""
    state = workspace.state()
    now = workspace.clock()
    moment = parse_past(request.as_of, now)
    entry = find_entry(state, request.id)
    if moment is None:
        return show_entry(entry, now, state.feedback(entry.id), request.max_chars)
    from decapod_py.views.past import entry_as_of, feedback_as_of

    then = entry_as_of(state, entry.id, moment)
    if then is None:
        raise Refused("not-found", f"entry {entry.id} was not known at {request.as_of}")
    return show_entry(then, moment, feedback_as_of(state, moment).get(entry.id, _NO_FEEDBACK), request.max_chars)


@operation()
def list_(workspace: Workspace, request: ListEntries) -> Listed:
    """List entries, newest first, by status, tag, scope, key, author or time."""
    state = workspace.state()
    now = workspace.clock()
    moment = parse_past(request.as_of, now)
    since = parse_time(request.since) if request.since is not None else None
    if moment is None:
        found, feedback = _present(state, now, request, since), state.feedback
    else:
        from decapod_py.views.past import entries_as_of, feedback_as_of

        found = entries_as_of(state, moment)
        past = feedback_as_of(state, moment)
        feedback = lambda entry_id: past.get(entry_id, _NO_FEEDBACK)  # noqa: E731
    matching = [entry for entry in found if _matches(entry, request, moment or now, since)]
    matching.sort(key=lambda entry: entry.id)
    matching.sort(key=lambda entry: entry.updated, reverse=True)
    page = matching[request.offset : request.offset + request.limit]
    return {
        "total": len(matching),
        "count": len(page),
        "entries": [show_entry(entry, moment or now, feedback(entry.id)) for entry in page],
    }


def _present(state: State, now: int, request: ListEntries, since: int | None) -> list[Entry]:
    """Narrows by what the database can tell, so that a list costs what it shows."""
    conditions, arguments = ["status != 'deleted'"], []
    for column, value in (("scope", request.scope), ("merge_key", request.merge_key), ("author", request.author)):
        if value is not None:
            conditions.append(f"{column} = ?")
            arguments.append(value)
    if request.status not in ("any", "stale"):
        conditions.append("status = ?")
        arguments.append(request.status)
    if since is not None:
        conditions.append("updated >= ?")
        arguments.append(since)  # type: ignore[arg-type]
    return list(state.entries(" AND ".join(conditions), arguments))


def _matches(entry: Entry, request: ListEntries, now: int, since: int | None) -> bool:
    status = "stale" if entry.status == "active" and entry.expired(now) else entry.status
    tags = {tag.casefold() for tag in entry.tags}
    return (
        entry.status != "deleted"
        and request.status in ("any", status)
        and all(tag.casefold() in tags for tag in request.tags)
        and request.scope in (None, entry.scope)
        and request.merge_key in (None, entry.merge_key)
        and request.author in (None, entry.author)
        and (since is None or entry.updated >= since)
        and (entry.diverged or not request.diverged)
    )


@operation(core=True)
def history(workspace: Workspace, request: History) -> HistoryShape:
    """Show every version of an entry and every change of its status, who made it and from what."""
    state = workspace.state()
    entry = find_entry(state, request.id)
    events = state.events_of(f"e:{entry.id}")
    shown = events[::-1][: request.limit]
    return {
        "id": entry.id,
        "count": len(shown),
        "omitted": len(events) - len(shown),
        "events": [_item(event, entry, request.max_chars) for event in shown],
    }


def _item(event: Event, entry: Entry, max_chars: int | None) -> HistoryItem:
    version = event["type"] in VERSIONS and event.get("entry_id") == entry.id
    content: Any = text_of(event, "content") if version else None
    item: HistoryItem = {
        "event_id": event["event_id"],
        "ts": event["ts"],
        "type": event["type"],
        "actor": event["actor"],
        "is_version": version,
        "is_head": event["event_id"] in entry.heads,
        "was": was(event, entry.id),
        "status": _status_set(event, entry.id),
        "title": text_of(event, "title") if version else None,
        "content": content,
        "provenances": texts(event, "provenance") if version else [],
        "reason": text_of(event, "reason"),
    }
    if max_chars is not None and content and len(content) > max_chars:
        item["content"] = content[:max_chars]
        item["truncated"] = True
    return item


def _status_set(event: Event, entry_id: str) -> str | None:
    if event.get("entry_id") == entry_id:
        status = event.get("status")
        return status if isinstance(status, str) else None
    return "stale" if event["type"] == "decay.run" else "superseded"
