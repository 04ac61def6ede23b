"""`decapod knowledge import`: takes in what people have, all of it or nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.authored import Authored, authored_of
from decapod_py.domain.entry import Entry, is_procedural
from decapod_py.domain.fold import fold_entry, versions_of
from decapod_py.domain.naming import markdown_path, path_as_named
from decapod_py.domain.text import check_label, visible
from decapod_py.foundation.errors import DecapodError, Misused, Refused
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.add import decide, draft_of
from decapod_py.operations.knowledge.citing import resolved_where_possible, resolver_of
from decapod_py.operations.knowledge.discretion import without_secrets
from decapod_py.operations.knowledge.entries import refuse_held_key
from decapod_py.operations.knowledge.incoming import readers
from decapod_py.operations.knowledge.incoming.rows import Row, Source, Unread
from decapod_py.storage.folders import read_regular
from decapod_py.storage.front_matter import Damaged
from decapod_py.views import firewall, hand_edits

if TYPE_CHECKING:
    from decapod_py.operations.requests import Import
    from decapod_py.operations.shapes import FileProblem, Imported
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace
    from decapod_py.writer import Draft, Writer

_MOST_TOLD = 20
_LARGEST_FILE = 16 * 1024 * 1024
_BATCH = 2_000  # entries that share one fsync and one transaction; others get their turn in between


class _Seen(NamedTuple):
    """What the rows so far have taken, and which of them that was."""

    ids: dict[str, Row]
    keys: dict[tuple[str, str], Row]
    promotions: set[str]
    superseded: set[str]  # ids that come superseded, or are here by a decision record that is read again


@operation(writes=True, tool=False)
def import_(workspace: Workspace, request: Import) -> Imported:
    """Take in JSON lines, Markdown, an Obsidian vault, ADRs, CLAUDE.md, basic-memory or the Rust tool's database.

    What it is, is seen by looking, or said with --format. The originals stay as they are and become the provenance.
    Nothing is imported while anything is bad, unless --keep-going. What is here already and says the same counts as
    unchanged, so an import can be run again.
    """
    source = _source(workspace, request)
    result: Imported = {
        "ok": True,
        "dry_run": request.dry_run,
        "read": 0,
        "added": 0,
        "unchanged": 0,
        "formats": {},
        "left_out": source.left_out,
        "bad": [],
    }
    actor = workspace.actor(request.actor)
    rows, superseded = _check(workspace, request, source, result)
    if result["bad"] and not request.keep_going:
        result["ok"] = False
        return result
    if request.dry_run:
        result["added"] = len(rows) - result["unchanged"]
    else:
        result["unchanged"] = 0
        _write(workspace, actor, rows, superseded, result)
    result["ok"] = not result["bad"]
    return result


def _source(workspace: Workspace, request: Import) -> Source:
    if "\0" in request.file:
        raise Misused("no-file", f"{request.file!r} cannot be read: it is no name of a file")
    place = os.path.join(workspace.directory, request.file)
    return Source(request.file, place, request.format, {}, _called(request.name))


def _called(given: str | None) -> str | None:
    name = None if given is None else check_label(given, "name")
    if name and (name in (".", "..") or "/" in name or "\\" in name):
        raise Misused("bad-name", f"{visible(name)!r} is no name of a folder", "give a name without slashes")
    return name


def _check(workspace: Workspace, request: Import, source: Source, result: Imported) -> tuple[list[Row], frozenset[str]]:
    """Looks at every row and reports each bad one; returns the good ones and which ids come superseded."""
    state = workspace.state()
    seen = _Seen({}, {}, set(), set())
    resolver = resolver_of(workspace, advises=False)
    formats = result["formats"]
    good: list[Row] = []
    new: list[Row] = []
    for row in readers.rows(workspace, source):
        result["read"] += 1
        formats[row.format] = formats.get(row.format, 0) + 1
        if isinstance(row, Unread):
            result["bad"].append(_problem(row, row.code, row.message))
            continue
        try:
            if _is_new(workspace, state, row, seen):
                authored = resolved_where_possible(resolver, row.authored)
                names = [row.entry_id, row.path]
                row = row._replace(authored=without_secrets(workspace, authored, request.allow_secret, names))
                new.append(row)
            else:
                result["unchanged"] += 1
            good.append(row)
        except DecapodError as problem:
            result["bad"].append(_problem(row, problem.code, problem.message))
        if not result["read"] % 500:
            workspace.progress("checking", result["read"], None)
    _tell_what_stays(workspace, state, new, seen.superseded)
    return good, frozenset(seen.superseded)


def _problem(row: Row | Unread, code: str, message: str) -> FileProblem:
    return {"file": row.file, "line": row.line, "code": code, "message": message}


def _is_new(workspace: Workspace, state: State, row: Row, seen: _Seen) -> bool:
    """Whether the row says something that is not here. Refuses what may not come in."""
    _refuse_twice(row, seen)
    replaced = row.format == "adr" and row.status == "superseded"
    if replaced and row.identity == "place":
        seen.superseded.add(row.entry_id or "")  # whatever its file says by now, it is the same record
    if _is_unchanged(state, row):
        if replaced and row.identity == "name":
            seen.superseded.add(row.entry_id or "")
        return False
    if row.entry_id and is_procedural(row.entry_id):
        _refuse_unpromoted(workspace, state, row, seen.promotions)
    elif row.entry_id and row.status == "superseded":
        seen.superseded.add(row.entry_id)
    return True


def _tell_what_stays(workspace: Workspace, state: State, rows: list[Row], superseded: set[str]) -> None:
    """An import takes nothing of ours out of use but records that it reads again: what more it asks for is told."""
    asked = [(row, named) for row in rows for named in row.supersedes if named not in superseded]
    kept = [(row, known) for row, named in asked if (known := state.entry(named)) and known.status == "active"]
    for row, known in kept[:_MOST_TOLD]:
        workspace.warnings.append(
            f"{visible(_place(row))} says that it supersedes {known.id}, which an import by itself does not take out "
            f"of use: if it is so, decapod knowledge deprecate {known.id}"
        )
    if len(kept) > _MOST_TOLD:
        workspace.warnings.append(f"{len(kept) - _MOST_TOLD} more say that they supersede entries that stay active")


def _refuse_twice(row: Row, seen: _Seen) -> None:
    if row.entry_id:
        first = seen.ids.setdefault(row.entry_id, row)
        if first is not row:
            raise Refused("id-taken", f"the id {row.entry_id} stands here twice: {_place(first)} has it, too")
    if row.authored.merge_key and row.status == "active":
        key = (row.authored.merge_key, row.authored.scope)
        first = seen.keys.setdefault(key, row)
        if first is not row:
            raise Refused(
                "key-held",
                f"the merge key {key[0]!r} in scope {key[1]!r} stands here twice: {_place(first)} has it, too",
            )


def _place(row: Row) -> str:
    return row.file if row.line is None else f"{row.file}:{row.line}"


def _is_unchanged(state: State, row: Row) -> bool:
    """Whether the row says what is here already. Refuses an id or a key that something else has."""
    known = state.entry(row.entry_id) if row.entry_id else None
    if known:
        if _says(known, row.authored) or _said_before(state, row, known):
            return True
        raise Refused("id-taken", f"the id {known.id} is taken by an entry with other content{_advice(row)}")
    if row.status == "active":
        refuse_held_key(state, row.authored.merge_key, row.authored.scope, "")
    return False


def _advice(row: Row) -> str:
    """What sorts two originals out that are called the same; of one that changed, the entry is to be edited."""
    if row.identity != "name":
        return ""
    return ", which came from a file of this name: edit it, or, if the folder is another one, name it with --name"


def _says(entry: Entry, authored: Authored) -> bool:
    # When it expires, and what its citations said, is not what a row says.
    said = authored_of(entry)._replace(
        expires=authored.expires,
        expires_by_default=authored.expires_by_default,
        anchors=authored.anchors,
        cited=authored.cited,
        allowed_secret=authored.allowed_secret,
    )
    return said == authored


def _said_before(state: State, row: Row, known: Entry) -> bool:
    """Whether an earlier version says it: the original is as it was, and its entry has gone on from there."""
    if row.format == "jsonl":
        return False  # lines have no original: they are what somebody wants to be here
    versions = versions_of(known.id, state.unredacted_events_of(f"e:{known.id}"))
    earlier = [fold_entry(known.id, [version]) for version in versions]
    return any(_says(entry, row.authored) for entry in earlier if entry)


def _refuse_unpromoted(workspace: Workspace, state: State, row: Row, promotions: set[str]) -> None:
    """A rule passes the firewall before anything is written, and no promotion serves two rows of an import."""
    promotion = firewall.promotion_for(state, workspace.policy, row.entry_id or "", row.authored.provenances)
    firewall.refuse_other_text(state, promotion, row.authored.title, row.authored.content)
    if promotion.id in promotions:
        raise Refused("promotion-used", f"promotion {promotion.id} stands here twice; it is good for one use")
    promotions.add(promotion.id)


def _write(workspace: Workspace, actor: str, rows: list[Row], superseded: frozenset[str], result: Imported) -> None:
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        with workspace.writing() as writer:
            drafts: list[Draft] = []
            paths = _Paths(writer.state, workspace.knowledge)
            for row in batch:
                try:
                    if _is_unchanged(writer.state, row):
                        result["unchanged"] += 1
                    else:
                        drafts.append(_draft(workspace, writer, row, superseded, paths))
                except DecapodError as problem:  # somebody was faster since the rows were checked
                    result["bad"].append(_problem(row, problem.code, problem.message))
            if drafts:
                writer.append_many(actor, drafts)
        result["added"] += len(drafts)
        workspace.progress("importing", start + len(batch), len(rows))


def _draft(workspace: Workspace, writer: Writer, row: Row, superseded: frozenset[str], paths: _Paths) -> Draft:
    decision = decide(writer, workspace, row.authored, row.entry_id, "reject", row.status)
    named = [entry_id for entry_id in row.supersedes if entry_id in superseded]
    here = {entry_id: entry for entry_id in named if (entry := writer.state.entry(entry_id))}
    draft = draft_of(writer, decision._replace(replaced=list(here.values())), row.status)
    if row.path:
        draft.fields["path"] = path_as_named(
            row.path,
            decision.entry_id,
            lambda path: paths.in_any_case(path) or paths.is_a_file(path, decision.entry_id),
        )
    elif paths.is_drafted(decision.path):
        draft.fields["path"] = markdown_path(decision.entry_id, decision.authored.title, paths.is_taken)
    paths.add(draft.fields["path"])
    if row.created_at:
        draft.fields["created_at"] = row.created_at
    # Only what comes superseded in the same import, and records that are read again: nothing else of ours.
    if named:
        draft.fields["supersedes"] = named
    return draft


class _Paths:
    """The Markdown paths that are taken: by what the state has, by drafts that it does not have yet, and by files."""

    def __init__(self, state: State, knowledge: str) -> None:
        self._state = state
        self._knowledge = knowledge
        self._drafted: set[str] = set()
        self._folded: set[str] | None = None

    def add(self, path: str) -> None:
        self._drafted.add(path)
        if self._folded is not None:
            self._folded.add(path.casefold())

    def is_drafted(self, path: str) -> bool:
        return path in self._drafted

    def is_taken(self, path: str) -> bool:
        return path in self._drafted or self._state.path_is_taken(path)

    def in_any_case(self, path: str) -> bool:
        """The same question about a name that somebody gave: on some systems case makes no difference."""
        if self._folded is None:
            known = self._state.connection.execute("SELECT path FROM entries")
            self._folded = {path.casefold() for (path,) in known} | {path.casefold() for path in self._drafted}
        return path.casefold() in self._folded

    def is_a_file(self, path: str, entry_id: str) -> bool:
        """Whether a file is there that is not this entry's: somebody made it, and `sync` will take it in."""
        place = os.path.join(self._knowledge, path)
        if not os.path.lexists(place):
            return False
        try:
            return hand_edits.read(read_regular(place, _LARGEST_FILE) or b"").id != entry_id
        except (OSError, Damaged):
            return True
