"""What operations do with citations: anchor them when written, carry them along, and show how they stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.fold import Citation
from decapod_py.foundation.errors import DecapodError
from decapod_py.operations.knowledge.discretion import allowed_before

if TYPE_CHECKING:
    from decapod_py.domain.authored import Authored
    from decapod_py.domain.entry import Entry
    from decapod_py.views.anchoring import Resolver
    from decapod_py.views.state import State
    from decapod_py.views.watch import Checked
    from decapod_py.workspace import Workspace

_ANCHORED = ("file:", "commit:")


def anchored(workspace: Workspace, authored: Authored, resolver: Resolver | None = None) -> Authored:
    """The same, with every citation resolved and anchored; refuses what does not exist, unless policy allows it."""
    if not any(provenance.startswith(_ANCHORED) for provenance in authored.provenances):
        return authored._replace(anchors=(), cited=())
    resolver = resolver or resolver_of(workspace)
    strict = workspace.policy.resolve
    return with_citations(authored, [_resolved(resolver, one, strict) for one in authored.provenances])


def resolver_of(workspace: Workspace, *, advises: bool = True) -> Resolver:
    from decapod_py.views.anchoring import Resolver

    return Resolver(workspace.root, workspace.repository, advises=advises)


def resolved_where_possible(resolver: Resolver, authored: Authored) -> Authored:
    """For an import: what comes from elsewhere may cite what is not here, and is unanchored then."""
    if not any(provenance.startswith(_ANCHORED) for provenance in authored.provenances):
        return authored
    return with_citations(authored, [_resolved(resolver, one, strict=False) for one in authored.provenances])


def _resolved(resolver: Resolver, provenance: str, strict: bool) -> Citation:
    try:
        return resolver.anchored(provenance)
    except DecapodError:
        if strict:
            raise
        return Citation(provenance, None, None)


def with_citations(authored: Authored, citations: Iterable[Citation]) -> Authored:
    found = list({citation.provenance: citation for citation in citations}.values())
    some = any(citation.anchor for citation in found)
    return authored._replace(
        provenances=tuple(citation.provenance for citation in found),
        anchors=tuple(citation.anchor for citation in found) if some else (),
        cited=tuple(citation.cited for citation in found) if some else (),
    )


def carried(state: State, entry: Entry, authored: Authored) -> Authored:
    """A version that says what an earlier one did keeps its anchors: nobody looked at what they cite."""
    authored = authored._replace(allowed_secret=allowed_before(state, entry))
    return with_citations(authored, state.citations(entry)) if authored.anchors else authored


def anchored_again(workspace: Workspace, state: State, entry: Entry, authored: Authored) -> Authored:
    """An edit looks at what it cites: each citation is anchored where it stands now; what is gone stays as it was."""
    found = {one.provenance: one for one in workspace.watch(state).check([entry], files_only=True)}
    resolver = resolver_of(workspace)
    return with_citations(
        authored, [_again(resolver, citation, found.get(citation.provenance)) for citation in state.citations(entry)]
    )


def _again(resolver: Resolver, citation: Citation, checked: Checked | None) -> Citation:
    if checked is None:
        return citation
    try:
        return resolver.anchored_at(checked.now) if checked.now else resolver.anchored(citation.provenance)
    except DecapodError:
        return citation


class Shown(NamedTuple):
    """What a reader is told about an entry besides what it says."""

    drift: str | None
    standing: str
    citations: list[Checked]


def look_at(workspace: Workspace, state: State, entries: list[Entry]) -> dict[str, Shown]:
    """Drift and standing of the entries that are about to be shown."""
    from decapod_py.views.watch import drift_of

    checked: dict[str, list[Checked]] = {entry.id: [] for entry in entries}
    if any(provenance.startswith("file:") for entry in entries for provenance in entry.provenances):
        for one in workspace.watch(state).check(entries, files_only=True):
            checked[one.entry_id].append(one)
    standings = workspace.standings(state)
    return {entry.id: Shown(drift_of(checked[entry.id]), standings.of(entry), checked[entry.id]) for entry in entries}
