"""`decapod knowledge get`, `list`, `history`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from decapod_py.domain.event import Event, text_of
from decapod_py.domain.excerpts import beginning
from decapod_py.domain.fold import OUTCOMES, VERSIONS, redacted_by, texts, was
from decapod_py.domain.words import searchable, tag_key, tags_key
from decapod_py.foundation.clock import parse_time
from decapod_py.foundation.errors import Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.citing import look_at
from decapod_py.operations.knowledge.entries import find_entry, past_of, show_entry
from decapod_py.views.search import path_prefix

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.operations.requests import GetEntry, History, ListEntries
    from decapod_py.operations.shapes import EntryShape, HistoryItem, HistoryShape, Listed
    from decapod_py.views.past import Past
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace

_FAR = 2**62  # more than SQLite counts to is no more than this
DRIFTED = ("changed", "gone", "unresolvable", "moved", "reformatted")
_NEWEST = "updated DESC, id"
_FEW = 1_000
_NO_FEEDBACK = dict.fromkeys(OUTCOMES, 0)


@operation(core=True)
def get(workspace: Workspace, request: GetEntry) -> EntryShape:
    """Show one entry, now or as it was at an earlier time."""
    state = workspace.state()
    now = workspace.clock()
    past = past_of(workspace, state, request.as_of)
    if past:
        return _get_past(state, past, request)
    entry = find_entry(state, request.id)
    shown = look_at(workspace, state, [entry])[entry.id]
    return show_entry(entry, now, state.feedback(entry.id), request.max_chars, shown)


def _get_past(state: State, past: Past, request: GetEntry) -> EntryShape:
    # By the id as given first: a commit of another branch may know entries that are not here.
    then = past.entry(request.id) or past.entry(find_entry(state, request.id).id)
    if then is None:
        raise Refused("not-found", f"entry {request.id} was not known at {request.as_of}")
    return show_entry(then, past.moment, past.feedback().get(then.id, _NO_FEEDBACK), request.max_chars)


@operation()
def list_(workspace: Workspace, request: ListEntries) -> Listed:
    """List entries, newest first, by status, tag, scope, key, author or time."""
    state = workspace.state()
    now = workspace.clock()
    past = past_of(workspace, state, request.as_of)
    since = parse_time(request.since) if request.since is not None else None
    if past is not None:
        return _list_past(past, since, request)
    where, values = _conditions(request, now, since)
    if request.drifted:
        return _list_drifted(workspace, state, where, values, request)
    page, total = _page(state, where, values, request)
    seen = look_at(workspace, state, page)
    shown = [show_entry(entry, now, state.feedback(entry.id), shown=seen[entry.id]) for entry in page]
    return {"total": total, "count": len(shown), "entries": shown}


def _page(state: State, where: str, values: list[Any], request: ListEntries) -> tuple[list[Entry], int]:
    """The entries to show, and how many match."""
    window = (request.limit, min(request.offset, _FAR))
    # Most filters have no index: where few entries match, one look at all of them finds the page and its total.
    few = state.connection.execute(f"SELECT number FROM entries WHERE {where} LIMIT ?", (*values, _FEW + 1)).fetchall()
    if len(few) <= _FEW:
        where, values = "number IN (SELECT value FROM json_each(?))", [str([number for (number,) in few])]
    page = list(state.entries(where, (*values, *window), f"{_NEWEST} LIMIT ? OFFSET ?"))
    return page, len(few) if len(few) <= _FEW else state.count("entries", where, values)


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
    if request.path_prefix is not None:
        prefix = path_prefix(request.path_prefix)
        wanted.append(("substr(path, 1, length(?)) = ?", [prefix, prefix]))
    if since is not None:
        wanted.append(("updated >= ?", [since]))
    if request.diverged:
        wanted.append(("json_array_length(heads) > 1", []))
    for tag in request.tags:
        wanted.append(("number IN (SELECT rowid FROM entry_words WHERE instr(tags, ?))", [searchable(tag_key(tag))]))
    where = " AND ".join(["status != 'deleted'", *(condition for condition, _ in wanted)])
    return where, [value for _, values in wanted for value in values]


def _list_drifted(workspace: Workspace, state: State, where: str, values: list[Any], request: ListEntries) -> Listed:
    """Whether an entry drifted is in no table: every one that matches is looked at."""
    found = list(state.entries(where, values, order=_NEWEST))
    seen = look_at(workspace, state, found)
    drifted = [entry for entry in found if seen[entry.id].drift in DRIFTED]
    page = drifted[request.offset : request.offset + request.limit]
    now = workspace.clock()
    shown = [show_entry(entry, now, state.feedback(entry.id), shown=seen[entry.id]) for entry in page]
    return {"total": len(drifted), "count": len(shown), "entries": shown}


def _list_past(past: Past, since: int | None, request: ListEntries) -> Listed:
    moment = past.moment
    matching = [entry for entry in past.entries() if _matches(entry, request, moment, since)]
    matching.sort(key=lambda entry: (-entry.updated, entry.id))
    feedback = past.feedback()
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
        and entry.path.startswith(path_prefix(request.path_prefix or ""))
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
        item["content"] = beginning(content, max_chars)
        item["truncated"] = True
    return item


def _status_set(event: Event, entry_id: str) -> str | None:
    if event.get("entry_id") == entry_id:
        status = event.get("status")
        return status if isinstance(status, str) else None
    return {"decay.run": "stale", "event.redacted": None}.get(event["type"], "superseded")
