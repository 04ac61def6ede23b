"""`decapod knowledge import` and `export`: bulk in and out, one JSON object a line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain.authored import Authored, authored_of, with_lifetime
from decapod_py.domain.entry import is_procedural
from decapod_py.domain.naming import check_entry_id, markdown_path
from decapod_py.foundation.clock import format_time, parse_time
from decapod_py.foundation.errors import DecapodError, Misused, Refused
from decapod_py.foundation.files import write_whole
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.add import decide, draft_of, read_authored
from decapod_py.operations.knowledge.citing import resolved_where_possible, resolver_of
from decapod_py.operations.knowledge.discretion import without_secrets
from decapod_py.operations.knowledge.entries import confidence, refuse_held_key
from decapod_py.views import firewall

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.operations.requests import Export, Import
    from decapod_py.operations.shapes import Exported, Imported
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace
    from decapod_py.writer import Draft, Writer

_BATCH = 2_000  # entries that share one fsync and one transaction; others get their turn in between
_STATUSES = ("active", "deprecated", "stale", "superseded")
_TTL_POLICIES = ("ephemeral", "decay", "persistent")
_TEXTS = (
    "id",
    "title",
    "content",
    "merge_key",
    "scope",
    "claim_id",
    "status",
    "ttl_policy",
    "expires_ts",
    "created_at",
)
_LISTS = ("provenances", "tags", "supersedes")
_DERIVED = frozenset(("supersedes_id", "author", "contributors", "updated_at", "version"))  # exported, and not taken in


class Row(NamedTuple):
    """One line of an import, its form checked."""

    number: int
    entry_id: str | None
    authored: Authored
    status: str
    supersedes: tuple[str, ...]
    created_at: str | None


@operation(writes=True, tool=False)
def import_(workspace: Workspace, request: Import) -> Imported:
    """Add many entries from JSON lines, as export writes them.

    A line needs title, content and provenance. Nothing is imported while any line is bad, unless --keep-going. A line
    whose id is here with the same content counts as unchanged, so an interrupted import can be run again.
    """
    result: Imported = {"ok": True, "dry_run": request.dry_run, "read": 0, "added": 0, "unchanged": 0, "bad": []}
    actor = workspace.actor(request.actor)
    with _opened(workspace, request.file) as file:
        rows, superseded = _check(workspace, request, file, result)
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


def _opened(workspace: Workspace, name: str) -> IO[bytes]:
    if name == "-":
        return sys.stdin.buffer
    try:
        return open(os.path.join(workspace.directory, name), "rb")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise Misused("no-file", f"{name!r} cannot be read: {reason}") from None


def _check(
    workspace: Workspace, request: Import, file: IO[bytes], result: Imported
) -> tuple[list[Row], frozenset[str]]:
    """Looks at every line and reports each bad one; returns the good ones and which ids come superseded."""
    state = workspace.state()
    ids: set[str] = set()
    keys: set[tuple[str, str]] = set()
    promotions: set[str] = set()
    superseded: set[str] = set()
    resolver = resolver_of(workspace, advises=False)
    good: list[Row] = []
    for number, line in _lines(file):
        result["read"] += 1
        try:
            row = _row(workspace, number, line)
            _refuse_twice(row, ids, keys)
            if _is_unchanged(state, row):
                result["unchanged"] += 1
            elif row.entry_id and is_procedural(row.entry_id):
                _refuse_unpromoted(workspace, state, row, promotions)
            elif row.entry_id and row.status == "superseded":
                superseded.add(row.entry_id)
            authored = resolved_where_possible(resolver, row.authored)
            good.append(row._replace(authored=without_secrets(workspace, authored, request.allow_secret)))
        except DecapodError as problem:
            result["bad"].append({"line": number, "code": problem.code, "message": problem.message})
        if not number % 500:
            workspace.progress("checking", number, None)
    return good, frozenset(superseded)


def _write(workspace: Workspace, actor: str, rows: list[Row], superseded: frozenset[str], result: Imported) -> None:
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        with workspace.writing() as writer:
            drafts: list[Draft] = []
            paths: set[str] = set()  # of drafts that the state does not have yet
            for row in batch:
                try:
                    if _is_unchanged(writer.state, row):
                        result["unchanged"] += 1
                    else:
                        drafts.append(_draft(workspace, writer, row, superseded, paths))
                except DecapodError as problem:  # somebody was faster since the lines were checked
                    result["bad"].append({"line": row.number, "code": problem.code, "message": problem.message})
            if drafts:
                writer.append_many(actor, drafts)
        result["added"] += len(drafts)
        workspace.progress("importing", start + len(batch), len(rows))


def _draft(workspace: Workspace, writer: Writer, row: Row, superseded: frozenset[str], paths: set[str]) -> Draft:
    decision = decide(writer, workspace, row.authored, row.entry_id, "reject", row.status)
    draft = draft_of(writer, decision, row.status)
    if decision.path in paths:
        draft.fields["path"] = markdown_path(
            decision.entry_id,
            decision.authored.title,
            lambda path: path in paths or writer.state.path_is_taken(path),
        )
    paths.add(draft.fields["path"])
    if row.created_at:
        draft.fields["created_at"] = row.created_at
    # Only entries that come superseded in the same file: an import never takes one of ours out of use.
    replaced = [entry_id for entry_id in row.supersedes if entry_id in superseded]
    if replaced:
        draft.fields["supersedes"] = replaced
    return draft


def _is_unchanged(state: State, row: Row) -> bool:
    """Whether the line says what is here already. Refuses an id or a key that something else has."""
    known = state.entry(row.entry_id) if row.entry_id else None
    if known:
        # When it expires, and what its citations said, is not what a line says.
        here = authored_of(known)._replace(
            expires=row.authored.expires,
            expires_by_default=row.authored.expires_by_default,
            anchors=row.authored.anchors,
            cited=row.authored.cited,
            allowed_secret=row.authored.allowed_secret,
        )
        if here == row.authored:
            return True
        raise Refused("id-taken", f"the id {known.id} is taken by an entry with other content")
    if row.status == "active":
        refuse_held_key(state, row.authored.merge_key, row.authored.scope, "")
    return False


def _refuse_unpromoted(workspace: Workspace, state: State, row: Row, promotions: set[str]) -> None:
    """A rule passes the firewall before anything is written, and no promotion serves two lines of a file."""
    promotion = firewall.promotion_for(state, workspace.policy, row.entry_id or "", row.authored.provenances)
    firewall.refuse_other_text(state, promotion, row.authored.title, row.authored.content)
    if promotion.id in promotions:
        raise Refused("promotion-used", f"promotion {promotion.id} stands in the file twice; it is good for one use")
    promotions.add(promotion.id)


def _refuse_twice(row: Row, ids: set[str], keys: set[tuple[str, str]]) -> None:
    if row.entry_id:
        if row.entry_id in ids:
            raise Refused("id-taken", f"the id {row.entry_id} stands in the file twice")
        ids.add(row.entry_id)
    if row.authored.merge_key and row.status == "active":
        key = (row.authored.merge_key, row.authored.scope)
        if key in keys:
            raise Refused("key-held", f"the merge key {key[0]!r} in scope {key[1]!r} stands in the file twice")
        keys.add(key)


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            yield number, line


def _row(workspace: Workspace, number: int, line: bytes) -> Row:
    fields = _fields(line)
    references = fields.get("provenances") or fields.get("provenance") or []
    request = SimpleNamespace(
        note=None,
        title=fields["title"],
        text=fields["content"],
        provenance=[references] if isinstance(references, str) else references,
        sources=[],
        tags=fields.get("tags") or [],
        scope=fields.get("scope"),
        merge_key=fields.get("merge_key"),
        claim_id=fields.get("claim_id"),
        confidence=fields.get("confidence"),
    )
    authored = read_authored(workspace, request)  # type: ignore[arg-type]
    now = workspace.clock()
    authored = with_lifetime(
        authored, fields.get("ttl_policy"), fields.get("expires_ts"), now, workspace.policy.lifetimes["default"]
    )
    created_at = fields.get("created_at")
    entry_id = fields.get("id")
    return Row(
        number=number,
        entry_id=check_entry_id(entry_id) if entry_id is not None else None,
        authored=authored,
        status=fields.get("status") or "active",
        supersedes=tuple(fields.get("supersedes") or ()),
        created_at=format_time(min(parse_time(created_at), now)) if created_at else None,
    )


def _fields(line: bytes) -> dict[str, Any]:
    """The keys and types a line may have."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise Misused("not-json", f"not JSON: {problem}") from None
    if not isinstance(fields, dict):
        raise Misused("not-json", "not a JSON object")
    for name in ("title", "content"):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise Misused("missing-field", f"{name} is missing or empty")
    for name, value in fields.items():
        _check_field(name, value)
    return fields


def _check_field(name: str, value: Any) -> None:
    if value is None or name in _DERIVED:
        return
    if name in _TEXTS:
        right = isinstance(value, str)
    elif name in _LISTS:
        right = _is_list_of_texts(value)
    elif name == "provenance":
        right = isinstance(value, str) or _is_list_of_texts(value)
    elif name == "confidence":
        right = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    else:
        raise Misused("unknown-field", f"the field {name!r} is not known")
    if not right:
        raise Misused("bad-field", f"{name} has a value of the wrong type")
    if name == "status" and value not in _STATUSES:
        raise Misused("bad-field", f"the status {value!r} is none of {', '.join(_STATUSES)}")
    if name == "ttl_policy" and value not in _TTL_POLICIES:
        raise Misused("bad-field", f"the ttl_policy {value!r} is none of {', '.join(_TTL_POLICIES)}")


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


@operation(tool=False)
def export(workspace: Workspace, request: Export) -> Exported:
    """Write entries out: JSON lines that import reads, or a folder of Markdown."""
    state = workspace.state()
    now = workspace.clock()
    entries = (
        entry for entry in state.entries("status != 'deleted'") if request.status in ("any", entry.status_at(now))
    )
    if request.format == "markdown":
        return _export_markdown(workspace, entries, request.output)
    lines = [json.dumps(_exported(entry), ensure_ascii=False) for entry in entries]
    if request.output is None:
        return {"format": "jsonl", "count": len(lines), "output": None, "lines": lines}
    target = os.path.join(workspace.directory, request.output)
    try:
        data = "".join(f"{line}\n" for line in lines).encode()
        write_whole(target, data, scratch=os.path.dirname(target) or ".")
    except (OSError, ValueError) as problem:
        raise _cannot_write(request.output, problem) from None
    return {"format": "jsonl", "count": len(lines), "output": request.output}


def _cannot_write(output: str, problem: OSError | ValueError) -> Refused:
    return Refused("cannot-write", f"{output!r} cannot be written: {getattr(problem, 'strerror', None) or problem}")


def _export_markdown(workspace: Workspace, entries: Iterator[Entry], output: str | None) -> Exported:
    from decapod_py.views.markdown import render_entry

    output = output or "knowledge-export"
    folder = os.path.join(workspace.directory, output)
    if os.path.isdir(folder) and os.listdir(folder):
        raise Refused("not-empty", f"{output} is not empty: nothing there is overwritten", "name a new folder")
    count = 0
    try:
        os.makedirs(folder, exist_ok=True)
        for entry in entries:
            write_whole(os.path.join(folder, entry.path), render_entry(entry), scratch=folder, durable=False)
            count += 1
    except (OSError, ValueError) as problem:
        raise _cannot_write(output, problem) from None
    return {"format": "markdown", "count": count, "output": output}


def _exported(entry: Entry) -> dict[str, Any]:
    fields = {
        "id": entry.id,
        "title": entry.title,
        "content": entry.content,
        "provenance": entry.provenance,
        "provenances": list(entry.provenances),
        "status": entry.status,
        "tags": list(entry.tags),
        "scope": entry.scope,
        "merge_key": entry.merge_key,
        "claim_id": entry.claim_id,
        "ttl_policy": entry.ttl_policy,
        # A lifetime that nobody chose stays the policy's, wherever the entry goes.
        "expires_ts": None if entry.expires is None or entry.expires_by_default else format_time(entry.expires),
        "confidence": confidence(entry),
        "supersedes": list(entry.supersedes),
        "author": entry.author,
        "contributors": list(entry.contributors),
        "created_at": format_time(entry.created),
        "updated_at": format_time(entry.updated),
        "version": entry.version,
    }
    return {name: value for name, value in fields.items() if value not in (None, [])}
