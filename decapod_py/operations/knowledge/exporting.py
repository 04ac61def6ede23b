"""`decapod knowledge export`: entries as JSON lines, or as a folder of Markdown; import reads both."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from decapod_py.domain.naming import markdown_path, path_as_named
from decapod_py.foundation.clock import format_time
from decapod_py.foundation.errors import Refused
from decapod_py.foundation.files import write_whole
from decapod_py.operations.catalogue import operation
from decapod_py.operations.knowledge.entries import confidence
from decapod_py.workspace import FOLDER

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.operations.requests import Export
    from decapod_py.operations.shapes import Exported
    from decapod_py.workspace import Workspace


@operation(tool=False)
def export(workspace: Workspace, request: Export) -> Exported:
    """Write entries out: JSON lines, or a folder of Markdown for any editor and Obsidian. Import reads both."""
    _refuse_own_folder(workspace, request.output)
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


def _refuse_own_folder(workspace: Workspace, output: str | None) -> None:
    """An export is no knowledge: among the ledgers it is damage, and among the Markdown every entry would be twice."""
    own = os.path.join(os.path.realpath(workspace.root), FOLDER)
    try:
        target = os.path.realpath(os.path.join(workspace.directory, output or "."))
    except ValueError as problem:
        raise _cannot_write(output or "", problem) from None
    if output is not None and os.path.commonpath([own, target]) == own:
        raise Refused("own-folder", f"{output!r} is inside {FOLDER}, which is for knowledge itself", "write elsewhere")


def _cannot_write(output: str, problem: OSError | ValueError) -> Refused:
    return Refused("cannot-write", f"{output!r} cannot be written: {getattr(problem, 'strerror', None) or problem}")


def _export_markdown(workspace: Workspace, entries: Iterator[Entry], output: str | None) -> Exported:
    from decapod_py.views.markdown import render_entry

    output = output or "knowledge-export"
    folder = os.path.join(workspace.directory, output)
    if os.path.isdir(folder) and os.listdir(folder):
        raise Refused("not-empty", f"{output} is not empty: nothing there is overwritten", "name a new folder")
    written: set[str] = set()  # as systems see them to which case makes no difference
    try:
        os.makedirs(folder, exist_ok=True)
        for entry in entries:
            # Two branches may have given one path to two entries.
            path = path_as_named(entry.path, entry.id, lambda path: path.casefold() in written)
            write_whole(os.path.join(folder, path), render_entry(entry), scratch=folder, durable=False)
            written.add(path.casefold())
    except (OSError, ValueError) as problem:
        raise _cannot_write(output, problem) from None
    return {"format": "markdown", "count": len(written), "output": output}


def _exported(entry: Entry) -> dict[str, Any]:
    fields = {
        "id": entry.id,
        "title": entry.title,
        "content": entry.content,
        "provenance": entry.provenance,
        "provenances": list(entry.provenances),
        "status": entry.status,
        "tags": list(entry.tags),
        "aliases": list(entry.aliases),
        "scope": entry.scope,
        "merge_key": entry.merge_key,
        "claim_id": entry.claim_id,
        "source": entry.source,
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
        "path": _chosen_path(entry),
        "extra": entry.extra or None,
    }
    return {name: value for name, value in fields.items() if value not in (None, [])}


def _chosen_path(entry: Entry) -> str | None:
    """Where somebody put an entry's file; nothing where we did, for then it finds its place again."""
    return None if entry.path == markdown_path(entry.id, entry.title, lambda path: False) else entry.path
