"""`decapod knowledge drift` and `reaffirm`: whether what entries cite is still what they cited."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from decapod_py.domain.anchors import anchor_fields, cited_fields
from decapod_py.domain.fold import EVENTS, Citation
from decapod_py.foundation.errors import Call, DecapodError, Misused, Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.citing import resolver_of
from decapod_py.operations.knowledge.discretion import recorded_reason
from decapod_py.operations.knowledge.entries import find_living_entry, show_citation
from decapod_py.writer import Draft

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.operations.requests import Drift, Reaffirm
    from decapod_py.operations.shapes import Drifted, DriftedCitation, Reaffirmed
    from decapod_py.views.anchoring import Resolver
    from decapod_py.views.ignored_revisions import IgnoredRevisions
    from decapod_py.views.state import State
    from decapod_py.views.watch import Checked, Watch
    from decapod_py.workspace import Workspace
    from decapod_py.writer import Writer

WRONG = ("changed", "gone", "unresolvable")
_MENDED = ("moved", "reformatted")
# What may drift. Entries that cite people and pages alone need not be looked into.
_WATCHED = " OR ".join(f"""provenances LIKE '%"{scheme}:%'""" for scheme in ("file", "commit", "event"))
Renewed = dict[str, list[Citation]]  # by entry


@operation(writes=True, idempotent=True)
def drift(workspace: Workspace, request: Drift) -> Drifted:
    """Say of every citation whether it still is what was cited: ok, moved, reformatted, changed, gone.

    Exit 1 when any is changed, gone or unresolvable. --fix anchors anew what only moved or was reformatted.
    """
    from decapod_py.domain.drift import STATES

    fixed: list[str] = []
    event_id = None
    if request.fix:
        fixed, event_id = _fix(workspace, request)
    state = workspace.state()
    entries = selected(workspace, state, request.ids, request.since, request.path)
    watch = workspace.watch(state)
    checked = watch.check(entries)
    checked.sort(key=lambda one: (STATES.index(one.state), one.entry_id, one.place))
    by_id = {entry.id: entry for entry in entries}
    shown = [_shown(watch, by_id[one.entry_id], one) for one in checked[: request.limit]]
    states = [one.state for one in checked]
    return {
        "ok": not any(found in WRONG for found in states),
        "checked": len(checked),
        "summary": {name: states.count(name) for name in STATES[::-1] if name in states},
        "citations": shown,
        "omitted": len(checked) - len(shown),
        "fixed": fixed,
        "event_id": event_id,
    }


def selected(
    workspace: Workspace, state: State, ids: Iterable[str], since: str | None, path: str | None
) -> list[Entry]:
    """The entries that are meant, by id and by what they cite; without ids those in use."""
    entries = list({entry.id: entry for given in ids if (entry := find_living_entry(state, given))}.values())
    if not entries:
        entries = list(state.entries(f"status = 'active' AND ({_WATCHED})"))
    if since is not None:
        from decapod_py.views.change import is_touched, touched_since

        touched = touched_since(workspace.root, workspace.repository, since)
        entries = [entry for entry in entries if any(is_touched(cited, touched) for cited in _cited_paths(entry))]
    if path is not None:
        from decapod_py.domain.globs import matches_glob

        entries = [entry for entry in entries if any(matches_glob(cited, path) for cited in _cited_paths(entry))]
    return entries


def _cited_paths(entry: Entry) -> set[str]:
    from decapod_py.views.projection import cited_paths

    return cited_paths(entry)


def _shown(watch: Watch, entry: Entry, one: Checked) -> DriftedCitation:
    difference = watch.difference(entry, one) if one.state == "changed" else None
    return {"id": entry.id, "title": entry.title, **show_citation(one), "diff": difference}


def _fix(workspace: Workspace, request: Drift) -> tuple[list[str], str | None]:
    from decapod_py.views.ignored_revisions import IgnoredRevisions

    with workspace.writing() as writer:
        entries = {
            entry.id: entry for entry in selected(workspace, writer.state, request.ids, request.since, request.path)
        }
        watch = workspace.watch(writer.state)
        ignored = IgnoredRevisions(workspace.root, workspace.repository)
        resolver = resolver_of(workspace)
        renewed: Renewed = {}
        for one in watch.check(entries.values()):
            if one.state in _MENDED or _is_explained(watch, ignored, entries[one.entry_id], one):
                citations = _anchored_now(resolver, one)
                if one.now and watch.holds_still(one.now.path):  # else the next run mends it
                    renewed.setdefault(one.entry_id, []).extend(citations)
        event_id = _renew(writer, workspace.actor(request.actor), "entry.reanchored", renewed, None)
    return sorted(renewed), event_id


def _is_explained(watch: Watch, ignored: IgnoredRevisions, entry: Entry, one: Checked) -> bool:
    """Whether a citation was changed by a commit that everybody was told to look past."""
    text = watch.text(one.now.path) if one.state == "changed" and one.now else None
    return bool(text and one.now and ignored.explain(watch.citation(entry, one.place), one.now.path, text))


def _anchored_now(resolver: Resolver, one: Checked) -> list[Citation]:
    """The citation anchored where it stands now; what is written in the entry stays as it is."""
    if one.now is not None:
        return [resolver.anchored_at(one.now)._replace(provenance=one.provenance)]
    try:
        return [resolver.anchored(one.provenance)]  # it never was: an import may cite what is elsewhere
    except DecapodError:
        return []


def _renew(writer: Writer, actor: str, kind: str, renewed: Renewed, reason: str | None) -> str | None:
    """One event, however many entries it names: their Markdown stays as it is."""
    if not renewed:
        return None
    entries = [entry for entry_id in sorted(renewed) if (entry := writer.state.entry(entry_id))]
    fields: dict[str, Any] = {
        "entry_ids": [entry.id for entry in entries],
        "was": writer.was(*entries),
        "anchors": {
            entry_id: [{**(anchor_fields(one.anchor) or {}), "provenance": one.provenance} for one in citations]
            for entry_id, citations in renewed.items()
        },
    }
    text: dict[str, Any] = {
        "anchors": {entry_id: [cited_fields(one.cited) for one in citations] for entry_id, citations in renewed.items()}
    }
    if reason:
        text["reason"] = reason
    return str(writer.append(actor, Draft(EVENTS, kind, fields, text))["event_id"])


@operation(writes=True)
def reaffirm(workspace: Workspace, request: Reaffirm) -> Reaffirmed:
    """Record that somebody looked and the entries still hold: their citations are anchored as they stand now.

    Name entries, or all that cite what changed since a commit or what a path matches.
    """
    if not request.ids and request.since is None and request.path is None:
        raise Misused("nothing-named", "no entry is named", "give ids, or --since REF, or --path GLOB")
    actor = workspace.actor(request.actor)
    reason = recorded_reason(workspace, request.reason)
    with workspace.writing() as writer:
        entries = selected(workspace, writer.state, request.ids, request.since, request.path)
        checked: dict[str, list[Checked]] = {entry.id: [] for entry in entries}
        watch = workspace.watch(writer.state)
        for one in watch.check(entries):
            if one.provenance.startswith("file:"):
                checked[one.entry_id].append(one)
        if not request.ids:
            checked = {named: found for named, found in checked.items() if any(one.state != "ok" for one in found)}
        _refuse_gone(checked)
        _refuse_rules(workspace, writer.state, checked)
        resolver = resolver_of(workspace)
        renewed = {
            entry_id: [citation for one in found for citation in _anchored_now(resolver, one)]
            for entry_id, found in checked.items()
        }
        _refuse_rewritten(watch, checked)
        event_id = _renew(writer, actor, "entry.reaffirmed", renewed, reason)
    return {"reaffirmed": sorted(renewed), "event_id": event_id}


def _refuse_gone(checked: dict[str, list[Checked]]) -> None:
    gone = [one for found in checked.values() for one in found if one.state in ("gone", "unresolvable")]
    if gone:
        raise Refused(
            "citation-gone",
            f"entry {gone[0].entry_id} cites {gone[0].provenance}, which is {gone[0].state}"
            + (f", and {len(gone) - 1} more" if len(gone) > 1 else ""),
            Call("knowledge.edit", {"id": gone[0].entry_id, "provenance": ["REF"]}),
        )


def _refuse_rewritten(watch: Watch, checked: dict[str, list[Checked]]) -> None:
    """What stands there by now was not looked at, and its lines may be others."""
    for one in [one for found in checked.values() for one in found if one.now]:
        assert one.now
        if not watch.holds_still(one.now.path):
            raise Refused("file-changed", f"{one.now.path} was written while it was looked at", "do the same again")


def _refuse_rules(workspace: Workspace, state: State, checked: dict[str, list[Checked]]) -> None:
    """Whether a rule still holds is for people to say."""
    rules = [entry_id for entry_id in checked if (entry := state.entry(entry_id)) and entry.procedural]
    if workspace.agent and rules:
        raise Refused("rule-protected", f"{rules[0]} is a rule: people reaffirm rules, agents do not")


def summary_line(workspace: Workspace) -> str | None:
    """One line about entries that drifted, for a hook; nothing when all is well."""
    state = workspace.state()
    checked = workspace.watch(state).check(state.entries("status = 'active'"), files_only=True)
    drifted = {one.entry_id for one in checked if one.state in WRONG}
    if not drifted:
        return None
    count = f"{len(drifted)} entries cite" if len(drifted) > 1 else "1 entry cites"
    return f"{count} what has changed: decapod knowledge drift"
