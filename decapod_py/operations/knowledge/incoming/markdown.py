"""Markdown that people and other tools wrote: folders, Obsidian vaults, decision records, agents' instructions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from decapod_py.domain.entry import is_procedural
from decapod_py.domain.foreign import adr, agent_files, basic_memory
from decapod_py.domain.naming import check_entry_id, is_safe_path
from decapod_py.domain.text import LONGEST_LABEL, check_label, check_tags, visible
from decapod_py.foundation.errors import DecapodError, Misused, Refused
from decapod_py.foundation.ids import is_ulid, ulid_of
from decapod_py.operations.knowledge.incoming.originals import Originals
from decapod_py.operations.knowledge.incoming.rows import (
    STATUSES,
    Row,
    Rows,
    Source,
    Unread,
    attempted,
    checked_extra,
    not_after,
)
from decapod_py.operations.knowledge.incoming.successions import Records, with_successions
from decapod_py.storage.folders import markdown_below, read_regular
from decapod_py.views import hand_edits
from decapod_py.views.hand_edits import Limits, Said

if TYPE_CHECKING:
    from decapod_py.workspace import Workspace

_LARGEST_FILE = 16 * 1024 * 1024
_LONGEST_STATUS = 40
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_EXPORTED = frozenset({"id", "provenance", "author", "created_at"})
_MOMENTS = ("created", "date")  # where others write when a note was made


class Reading(NamedTuple):
    """What all files of one import share."""

    originals: Originals
    limits: Limits
    format: str | None  # that somebody said the files have
    records: Records  # what decision records say of each other; filled while reading


class File(NamedTuple):
    """One file that is imported."""

    shown: str  # in reports
    path: str  # below what is imported
    text: str
    said: Said


class Form(NamedTuple):
    """One way to write Markdown: how a file of it is known, and what its entries are."""

    recognises: Callable[[str, Said], bool]
    rows: Callable[[Reading, File], list[Row | Unread]]


def rows(workspace: Workspace, source: Source) -> Rows:
    """An entry for each file, or for each heading of one that agents obey."""
    folder, paths = _paths(source)
    limits = Limits(workspace.policy.schemes, workspace.policy.lifetimes["default"], workspace.clock())
    reading = Reading(Originals(workspace, folder, source.called), limits, source.format, {})
    found: list[Row | Unread] = []
    for number, path in enumerate(paths, 1):
        found += _rows_of(reading, folder, path)
        if not number % 100:
            workspace.progress("reading", number, len(paths))
    return iter(with_successions(found, reading.records))


def _paths(source: Source) -> tuple[str, list[str]]:
    if not os.path.isdir(source.place):
        if not os.path.isfile(source.place):
            raise Misused("no-file", f"{source.name!r} cannot be read: no such file")
        folder, name = os.path.split(os.path.realpath(source.place))
        return folder, [name]
    try:
        paths, left_out = markdown_below(source.place)
    except OSError as problem:
        raise Misused("no-file", f"{source.name!r} cannot be read: {problem.strerror}") from None
    if not paths:
        raise Misused("no-file", f"{source.name!r} holds no Markdown", "name a folder that does, or a file")
    source.left_out.update(left_out)
    return source.place, paths


def _rows_of(reading: Reading, folder: str, path: str) -> list[Row | Unread]:
    """The entries of one file, or why it has none."""
    shown = visible(path)
    form = reading.format or "markdown"
    found = attempted(shown, None, form, lambda: _read(reading, os.path.join(folder, path), shown, path))
    return [found] if isinstance(found, Unread) else found


def _read(reading: Reading, place: str, shown: str, path: str) -> list[Row | Unread]:
    data = _bytes(place)
    said = hand_edits.read(data)
    form = reading.format or _form(reading.originals.name(path), said)
    text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    return FORMS[form].rows(reading, File(shown, path, text, said))


def _form(name: str, said: Said) -> str:
    # What we exported is what it is, whatever it was before it came to us.
    if said.fields.keys() >= _EXPORTED:
        return "markdown"
    return next(form for form, known in FORMS.items() if known.recognises(name, said))


def _bytes(place: str) -> bytes:
    try:
        data = read_regular(place, _LARGEST_FILE)
    except OSError as problem:
        raise Refused("no-file", f"the file cannot be read: {problem.strerror}") from None
    if data is None:
        raise Refused("too-long", f"the file has more than {_LARGEST_FILE} bytes, or is none that can be read")
    return data


def _plain(reading: Reading, file: File) -> list[Row | Unread]:
    return [_note(reading, file, "markdown")]


def _observed(reading: Reading, file: File) -> list[Row | Unread]:
    """A note of basic-memory: its text whole, and what its observations are about as tags."""
    row = _note(reading, file, "basic-memory")
    names = [name for name in basic_memory.names(file.said.fields) if name != _stem(file.path)]
    return [_with_labels(row, basic_memory.observed_tags(file.said.body), names)]


def _decision(reading: Reading, file: File) -> list[Row | Unread]:
    record = adr.read(file.said.fields, file.said.body)
    said = file.said._replace(fields={**file.said.fields, "status": record.status})
    row = _with_labels(_note(reading, file._replace(said=said), "adr"), record.tags, ())
    if row.created_at is None:
        row = row._replace(created_at=_moment(record.date, reading.limits.now))
    assert row.entry_id
    reading.records[row.entry_id] = (reading.originals.name(file.path), record)
    return [row]


def _sections(reading: Reading, file: File) -> list[Row | Unread]:
    """An entry for each heading, which is what it cites."""
    found = [
        attempted(file.shown, section.first, "instructions", lambda: _section(reading, file, section))  # noqa: B023
        for section in agent_files.sections(file.text, file.shown)
    ]
    if not found:
        raise Refused("empty", "the file says nothing of its own")
    return list(found)


def _section(reading: Reading, file: File, section: agent_files.Section) -> Row:
    lines = f"#L{section.first}-L{section.last}"
    provenance = reading.originals.provenance(file.path, f"#{section.slug}" if section.slug else lines)
    title = section.title or os.path.basename(file.path)
    authored, _ = hand_edits.entry_from(Said({"title": title}, section.text, ""), title, provenance, reading.limits)
    entry_id = ulid_of(f"{reading.originals.name(file.path)}#{section.name}")
    return Row(file.shown, section.first, "instructions", entry_id, authored, "active", (), None)


# The first that knows a file reads it.
FORMS = {
    "instructions": Form(lambda name, said: agent_files.recognises(name), _sections),
    "adr": Form(lambda name, said: adr.recognises(name, said.fields, said.body), _decision),
    "basic-memory": Form(lambda name, said: basic_memory.recognises(said.fields), _observed),
    "markdown": Form(lambda name, said: True, _plain),
}


def _note(reading: Reading, file: File, form: str) -> Row:
    """A whole file as one entry: what its front matter says as `sync` reads it, and what others write there."""
    fields = file.said.fields
    provenance = reading.originals.provenance(file.path)
    authored, _ = hand_edits.entry_from(file.said, _stem(file.path), provenance, reading.limits)
    if authored.extra:
        checked_extra(authored.extra)
    own_id = _lasting_id(file.said)
    status, tags = _status(fields)
    path = _path(file.path)
    names = [] if is_safe_path(path) else [_stem(path)]
    names += [path[:-3]] if is_procedural(path) else []  # only rules are there: it gets another folder
    names += [file.said.id] if file.said.id and not own_id else []
    row = Row(
        file=file.shown,
        line=None,
        format=form,
        entry_id=own_id or ulid_of(reading.originals.name(file.path)),
        authored=authored,
        status=status,
        supersedes=_supersedes(fields),
        created_at=_created(fields, reading.limits.now),
        path=path,
        identity="own" if own_id else "place" if reading.originals.inside else "name",
    )
    return _with_labels(row, tags, names)


def _with_labels(row: Row, tags: list[str] | tuple[str, ...], names: list[str] | tuple[str, ...]) -> Row:
    """The same with more tags, and with more names that links may use."""
    if not tags and not names:
        return row
    kept = [check_label(name, "alias") for name in names if len(name) <= LONGEST_LABEL]
    authored = row.authored._replace(
        tags=tuple(check_tags([*row.authored.tags, *tags])),
        aliases=tuple(dict.fromkeys([*row.authored.aliases, *kept])),
    )
    return row._replace(authored=authored)


def _lasting_id(said: Said) -> str | None:
    """The id that a file gives itself, if it means the same everywhere: a short one of a vault's own may clash."""
    named = said.id
    if named and (is_ulid(named) or _UUID.fullmatch(named) or said.fields.get("provenance")):
        return check_entry_id(named)
    return None


def _status(fields: dict[str, Any]) -> tuple[str, list[str]]:
    """One of our statuses; a word that is none of them is kept as a tag."""
    word = fields.get("status")
    if not isinstance(word, str) or not word.strip() or len(word) > _LONGEST_STATUS:
        return "active", []
    known = word.strip().lower()
    return (known, []) if known in STATUSES else ("active", [f"status/{known}"])


def _supersedes(fields: dict[str, Any]) -> tuple[str, ...]:
    written = fields.get("supersedes")
    listed = written if isinstance(written, list) else [written]
    return tuple(str(named).strip() for named in listed if isinstance(named, (str, int)) and str(named).strip())


def _created(fields: dict[str, Any], now: int) -> str | None:
    """When a note was made: as we write it, which must be right, or as others do, if it can be read."""
    ours = fields.get("created_at")
    if isinstance(ours, str):
        return not_after(ours, now)
    return next((moment for name in _MOMENTS if (moment := _moment(fields.get(name), now))), None)


def _moment(written: Any, now: int) -> str | None:
    text = written.strip() if isinstance(written, str) else ""
    for spelled in (text, f"{text}Z"):  # many leave the zone out
        try:
            return not_after(spelled, now) if text else None
        except DecapodError:
            continue
    return None


def _path(path: str) -> str:
    """The path that an entry's own Markdown gets: the one that links within the folder use."""
    path = path if path.isascii() else normalize("NFC", path)
    return path if path.lower().endswith(".md") else f"{path.rpartition('.')[0]}.md"


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]
