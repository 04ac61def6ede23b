"""What the knowledge operations share: finding an entry, checking what was asked, showing the answer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from decapod_py.domain.excerpts import beginning
from decapod_py.domain.naming import check_entry_id
from decapod_py.domain.text import has_surrogates, visible
from decapod_py.foundation.clock import format_time, parse_time
from decapod_py.foundation.errors import Call, Misused, Refused
from decapod_py.foundation.ids import is_ulid
from decapod_py.views.change import commit_named

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.operations.knowledge.citing import Shown
    from decapod_py.operations.shapes import Changed, CitationShape, EntryShape
    from decapod_py.views.past import Past
    from decapod_py.views.state import State
    from decapod_py.views.watch import Checked
    from decapod_py.workspace import Workspace

KNOWLEDGE = ".decapod/knowledge/"
_SHORTEST_PREFIX = 4


def find_entry(state: State, given: str) -> Entry:
    """The entry of this id, the one whose Markdown is at this path, or the only one whose ULID begins like this."""
    if given.startswith(KNOWLEDGE):
        return _entry_at(state, given)
    try:
        wanted = check_entry_id(given.strip())
    except Misused:
        # A ledger of somebody else's may hold an id that nobody could give here.
        stranger = None if has_surrogates(given) else state.entry(given)
        if stranger:
            return stranger
        raise
    entry = state.entry(wanted) or state.entry(given)
    if entry:
        return entry
    # Only ids that nobody chose may be shortened: `delete proc` must not find procedural/retries.
    close = [begun for begun in state.entries_beginning(wanted.upper()) if is_ulid(begun)]
    if len(wanted) >= _SHORTEST_PREFIX and len(close) == 1:
        found = state.entry(close[0])
        assert found
        return found
    if len(close) > 1:
        raise Refused("ambiguous-id", f"{given!r} begins more than one id: {', '.join(close)}", "give more of the id")
    raise Refused("not-found", f"there is no entry {given!r}", Call("knowledge.search", {"query": given}))


def _entry_at(state: State, given: str) -> Entry:
    path = given.removeprefix(KNOWLEDGE)
    there = [] if has_surrogates(path) else list(state.entries("path = ?", (path,), order="status = 'deleted', id"))
    if not there:
        raise Refused("not-found", f"no entry has the file {visible(given)!r}", Call("knowledge.list"))
    return there[0]


def find_living_entry(state: State, given: str) -> Entry:
    entry = find_entry(state, given)
    if entry.status == "deleted":
        raise Refused("deleted", f"entry {entry.id} was deleted", Call("knowledge.history", {"id": entry.id}))
    return entry


def refuse_diverged(entry: Entry) -> None:
    if entry.diverged:
        raise Refused(
            "diverged",
            f"entry {entry.id} has {len(entry.heads)} head versions: {', '.join(entry.heads)}",
            Call("knowledge.settle", {"target": entry.id, "keep": entry.version}),
        )


def refuse_held_key(state: State, merge_key: str | None, scope: str, but: str) -> None:
    """At most one active entry holds a key: nothing may make a second one."""
    held = [holder.id for holder in state.holders(merge_key, scope) if holder.id != but] if merge_key else []
    if held:
        raise Refused(
            "key-held",
            f"the merge key {merge_key!r} in scope {scope!r} is held by the active entry {held[0]}",
            Call("knowledge.get", {"id": held[0]}),
            {"holder": held[0]},
        )


def check_provenances(workspace: Workspace, references: list[str], sources: list[str]) -> tuple[str, ...]:
    """All provenance of a request, in its stored form, each once.

    What came by the short way stands first, and is the primary one: the two options have no order between them.
    """
    from decapod_py.domain.provenance import check_provenance

    schemes = workspace.policy.schemes
    written = [*(_from_source(workspace, source, schemes) for source in sources), *references]
    checked = dict.fromkeys(check_provenance(reference, schemes) for reference in written)
    for reference in checked:
        if reference.startswith("file:"):
            _stay_inside(workspace, reference)
    return tuple(checked)


def refuse_unknown_events(workspace: Workspace, state: State, provenances: tuple[str, ...]) -> None:
    """An event that is cited must be in a ledger."""
    for provenance in provenances if workspace.policy.resolve else ():
        if provenance.startswith("event:") and not state.has_event(provenance.removeprefix("event:")):
            raise Refused("no-such-event", f"no ledger has {provenance}", Call("ledger.show"))


def _from_source(workspace: Workspace, source: str, schemes: dict[str, str]) -> str:
    """`--from src/a.py:3-9`, seen from where the command was started, as provenance seen from the top."""
    from decapod_py.domain.provenance import short_form

    if source.partition(":")[0] in schemes:
        return source
    path, fragment = short_form(source)
    if ":" in path and not os.path.exists(os.path.join(workspace.directory, path)):
        raise Misused(
            "bad-provenance", f"{visible(source)!r} is no file and no range of lines", "write PATH, PATH:3 or PATH:3-9"
        )
    here = os.path.relpath(os.path.join(workspace.directory, path), workspace.root)
    if not os.path.exists(os.path.join(workspace.root, here)) and os.path.exists(os.path.join(workspace.root, path)):
        here = path
    return f"file:{here.replace(os.sep, '/')}{fragment}"


def _stay_inside(workspace: Workspace, reference: str) -> None:
    from decapod_py.domain.provenance import parse_file_citation

    top = os.path.realpath(workspace.root)
    path = parse_file_citation(reference.removeprefix("file:")).path
    target = os.path.realpath(os.path.join(top, path))
    if not target.startswith(top + os.sep):
        raise Misused("bad-provenance", f"{reference!r} leaves the repository through a link", "cite the file itself")


def past_of(workspace: Workspace, state: State, text: str | None) -> Past | None:
    """The past that is asked about: a time that must have been, or a commit."""
    if text is None:
        return None
    from decapod_py.views.past import PastCommit, PastTime

    now = workspace.clock()
    try:
        moment = parse_time(text)
    except Misused as no_time:
        try:
            commit = commit_named(workspace.root, workspace.repository, text)
        except Misused as no_commit:
            raise Misused("bad-time", f"{no_time.message}; and {no_commit.message}", no_commit.hint) from None
        assert workspace.repository
        return PastCommit(state, workspace.root, workspace.repository, commit)
    if moment > now:
        raise Misused(
            "future", f"{text} is in the future: nothing is known of it", "leave the time out to ask about now"
        )
    return PastTime(state, moment)


def show_entry(
    entry: Entry, now: int, feedback: dict[str, int], max_chars: int | None = None, shown: Shown | None = None
) -> EntryShape:
    """An entry as it leaves an operation; of the past it is not said how its citations stand now."""
    shape: EntryShape = {
        "id": entry.id,
        "title": entry.title,
        "content": entry.content,
        "provenance": entry.provenance,
        "provenances": list(entry.provenances),
        "status": entry.status,
        "expired": entry.status == "active" and entry.expired(now),
        "tags": list(entry.tags),
        "scope": entry.scope,
        "merge_key": entry.merge_key,
        "claim_id": entry.claim_id,
        "supersedes_id": entry.supersedes[0] if entry.supersedes else None,
        "supersedes": list(entry.supersedes),
        "aliases": list(entry.aliases),
        "source": entry.source,
        "ttl_policy": entry.ttl_policy,
        "expires_ts": None if entry.expires is None else format_time(entry.expires),
        "confidence": confidence(entry),
        "author": entry.author,
        "contributors": list(entry.contributors),
        "created_at": format_time(entry.created),
        "updated_at": format_time(entry.updated),
        "version": entry.version,
        "reaffirmed_at": None if entry.reaffirmed is None else format_time(entry.reaffirmed),
        "drift": shown.drift if shown else None,
        "standing": shown.standing if shown else None,
        "citations": [show_citation(one) for one in shown.citations] if shown else [],
        "diverged": entry.diverged,
        "heads": list(entry.heads),
        "path": shown_path(entry),
        "feedback": feedback,
    }
    if max_chars is not None and len(entry.content) > max_chars:
        shape["content"] = beginning(entry.content, max_chars)
        shape["truncated"] = True
    return shape


def shown_path(entry: Entry) -> str:
    """Where its Markdown is, seen from the top of the working tree."""
    return KNOWLEDGE + entry.path


def show_citation(checked: Checked) -> CitationShape:
    shape: CitationShape = {
        "provenance": checked.provenance,
        "state": checked.state,
        "now": str(checked.now) if checked.now else None,
    }
    if checked.why:
        shape["why"] = checked.why
    return shape


def confidence(entry: Entry) -> float | None:
    try:
        number = float(entry.confidence or "")
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None  # a ledger may say nan


def refuse_other_version(entry: Entry, expected: str | None) -> None:
    """Compare and swap: whoever decided from another version has to look again."""
    if expected is not None and expected != entry.version:
        raise Refused(
            "version-conflict",
            f"entry {entry.id} is at version {entry.version}, not {expected}: somebody changed it",
            Call("knowledge.get", {"id": entry.id}),
            {"current_version": entry.version},
        )


def changed(entry_id: str, action: str, event: dict[str, Any], superseded: list[str] | None = None) -> Changed:
    return {
        "id": entry_id,
        "action": action,
        "event_id": event["event_id"],
        "version": event["event_id"],
        "superseded_ids": superseded or [],
    }
