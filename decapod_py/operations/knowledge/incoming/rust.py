"""The database of the Rust tool: every field that has a counterpart here."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from decapod_py.domain.provenance import check_provenance
from decapod_py.foundation.errors import Misused
from decapod_py.operations.knowledge.incoming.originals import Originals
from decapod_py.operations.knowledge.incoming.rows import Row, Rows, Source, attempted, row_from_fields
from decapod_py.storage import rust_database

if TYPE_CHECKING:
    from decapod_py.workspace import Workspace

FILE = "knowledge.db"


def rows(workspace: Workspace, source: Source) -> Rows:
    file = os.path.join(source.place, FILE) if os.path.isdir(source.place) else source.place
    originals = Originals(workspace, os.path.dirname(os.path.abspath(file)))
    try:
        found = rust_database.rows(file)
    except rust_database.NotOurs as problem:
        raise Misused("no-file", f"{source.name!r} is no database of the Rust tool: {problem}") from None
    database = originals.provenance(os.path.basename(file))
    for number, columns in enumerate(found, 1):
        yield attempted(source.name, number, "rust", lambda: _row(workspace, source, number, columns, database))  # noqa: B023


def _row(workspace: Workspace, source: Source, number: int, columns: dict[str, Any], database: str) -> Row:
    fields = {name: value for name, value in columns.items() if value not in (None, "")}
    fields["tags"] = _tags(fields.get("tags"))
    fields["provenance"] = _provenance(workspace, fields.get("provenance"), database)
    if superseded := fields.pop("supersedes_id", None):
        fields["supersedes"] = [superseded]
    if fields.get("ttl_policy", "persistent") == "persistent":
        fields.pop("expires_ts", None)  # there it has no meaning; here it would be a contradiction
    return row_from_fields(workspace, source.name, number, "rust", fields)


def _provenance(workspace: Workspace, written: Any, database: str) -> str:
    """Where the entry says that it comes from; where that has no form here, it comes from the database."""
    try:
        return check_provenance(written, workspace.policy.schemes) if isinstance(written, str) else database
    except Misused:
        return database


def _tags(written: Any) -> list[str]:
    """Tags as a JSON list, or with commas between."""
    if not isinstance(written, str):
        return []
    if written.lstrip().startswith("["):
        try:
            listed = json.loads(written)
        except ValueError:
            listed = None
        if isinstance(listed, list):
            return [str(tag) for tag in listed if str(tag).strip()]
    return [tag.strip() for tag in written.split(",") if tag.strip()]
