"""`decapod knowledge get`, `list`, `history`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from decapod_py.domain.event import Event, text_of
from decapod_py.domain.fold import OUTCOMES, VERSIONS, redacted_by, texts, was
from decapod_py.domain.words import searchable, tag_key, tags_key
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

_FAR = 2**62  # more than SQLite counts to is no more than this
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
    if moment is not None:
        return _list_past(state, moment, since, request)
    where, values = _conditions(request, now, since)
    page = state.entries(
        where, (*values, request.limit, min(request.offset, _FAR)), order="updated DESC, id LIMIT ? OFFSET ?"
    )
    shown = [show_entry(entry, now, state.feedback(entry.id)) for entry in page]
    return {"total": state.count("entries", where, values), "count": len(shown), "entries": shown}


def _conditions(request: ListEntries, now: int, since: int | None) -> tuple[str, list[Any]]:
    """The filters as SQL, so that a list costs what it shows."""
    wanted: list[tuple[str, Any]] = []
    if request.status != "any":
        wanted.append(
            ("CASE WHEN status = 'active' AND expires <= ? THEN 'stale' ELSE status END = ?", [now, request.status])
        )
    for column, value in (("scope", request.scope), ("merge_key", request.merge_key), ("author", request.author)):
        if value is not None:
            wanted.append((f"{column} = ?", [value]))
    if since is not None:
        wanted.append(("updated >= ?", [since]))
    if request.diverged:
        wanted.append(("json_array_length(heads) > 1", []))
    for tag in request.tags:
        wanted.append(("number IN (SELECT rowid FROM entry_words WHERE instr(tags, ?))", [searchable(tag_key(tag))]))
    where = " AND ".join(["status != 'deleted'", *(condition for condition, _ in wanted)])
    return where, [value for _, values in wanted for value in values]


def _list_past(state: State, moment: int, since: int | None, request: ListEntries) -> Listed:
    from decapod_py.views.past import entries_as_of, feedback_as_of

    matching = [entry for entry in entries_as_of(state, moment) if _matches(entry, request, moment, since)]
    matching.sort(key=lambda entry: (-entry.updated, entry.id))
    feedback = feedback_as_of(state, moment)
    page = matching[request.offset : request.offset + request.limit]
    shown = [show_entry(entry, moment, feedback.get(entry.id, _NO_FEEDBACK)) for entry in page]
    return {"total": len(matching), "count": len(shown), "entries": shown}


def _matches(entry: Entry, request: ListEntries, now: int, since: int | None) -> bool:
    tags = tags_key(entry.tags)
    return (
        entry.status != "deleted"
        and request.status in ("any", entry.status_at(now))
        and all(tag_key(tag) in tags for tag in request.tags)
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
    redacted = redacted_by(events)
    for event in events:
        if event["event_id"] in redacted:
            event.pop("text", None)  # an old line that reappeared may still have it
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
    return {"decay.run": "stale", "event.redacted": None}.get(event["type"], "superseded")
