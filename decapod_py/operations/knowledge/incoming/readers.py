"""Which reader takes what an import was pointed at: as it was told, or by what stands there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.foundation.errors import Call, Misused
from decapod_py.operations.knowledge.incoming import jsonl
from decapod_py.operations.knowledge.incoming.rows import Rows, Source
from decapod_py.storage import rust_database
from decapod_py.storage.folders import is_markdown

if TYPE_CHECKING:
    from decapod_py.workspace import Workspace


class Reader(NamedTuple):
    """One kind of source: how it is known by looking, and what rows it has."""

    formats: tuple[str, ...]  # that somebody may ask for
    recognises: Callable[[str], bool]
    rows: Callable[[Workspace, Source], Rows]


def rows(workspace: Workspace, source: Source) -> Rows:
    """Everything that stands at a source, row by row."""
    _refuse_our_own(workspace, source)
    reader = next(reader for reader in _READERS if _takes(reader, source))
    if source.called and "markdown" not in reader.formats:
        raise Misused("bad-name", "only Markdown is called after its folder", "leave --name out")
    return reader.rows(workspace, source)


def _takes(reader: Reader, source: Source) -> bool:
    return reader.recognises(source.place) if source.format is None else source.format in reader.formats


def _refuse_our_own(workspace: Workspace, source: Source) -> None:
    """What is here already is not imported, nor is half a disk that this repository happens to be on."""
    if source.name == "-":
        return
    given, ours, top = (os.path.realpath(place) for place in (source.place, workspace.knowledge, workspace.root))
    if _holds(ours, given):
        raise Misused("our-own", f"{source.name!r} is where the entries of this repository are", Call("sync"))
    if given != top and _holds(given, top):
        raise Misused("our-own", f"{source.name!r} holds this repository itself", "name the folder with the Markdown")


def _holds(folder: str, place: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)


def _is_rust_database(place: str) -> bool:
    return rust_database.is_database(place) or rust_database.is_database(os.path.join(place, "knowledge.db"))


def _is_markdown(place: str) -> bool:
    return os.path.isdir(place) or is_markdown(place)


# Imported when they are needed: most imports are of one form.
def _rust(workspace: Workspace, source: Source) -> Rows:
    from decapod_py.operations.knowledge.incoming import rust

    return rust.rows(workspace, source)


def _markdown(workspace: Workspace, source: Source) -> Rows:
    from decapod_py.operations.knowledge.incoming import markdown

    return markdown.rows(workspace, source)


# The first that knows what it is given reads it.
_READERS = (
    Reader(("rust",), _is_rust_database, _rust),
    Reader(("markdown", "adr", "instructions", "basic-memory"), _is_markdown, _markdown),
    Reader(("jsonl",), lambda place: True, jsonl.rows),
)
