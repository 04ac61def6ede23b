"""Decision records that replace each other: one says by which it was, or the other which it does."""

from __future__ import annotations

from decapod_py.domain.foreign import adr
from decapod_py.foundation.ids import ulid_of
from decapod_py.operations.knowledge.incoming.rows import Row, Unread

Records = dict[str, tuple[str, adr.Record]]  # by entry: the name of its file, and what that says


def with_successions(rows: list[Row | Unread], records: Records) -> list[Row | Unread]:
    """The same rows, each naming the entries it supersedes, and each that is superseded saying so."""
    supersedes = _successions(records)
    if not supersedes:
        return rows
    superseded = {named for replaced in supersedes.values() for named in replaced}
    return [_linked(row, supersedes, superseded) if isinstance(row, Row) else row for row in rows]


def _linked(row: Row, supersedes: dict[str, list[str]], superseded: set[str]) -> Row:
    named = dict.fromkeys([*row.supersedes, *supersedes.get(row.entry_id or "", [])])
    return row._replace(supersedes=tuple(named), status="superseded" if row.entry_id in superseded else row.status)


def _successions(records: Records) -> dict[str, list[str]]:
    """For each entry the ones it supersedes, whichever of the two said so."""
    by_name, by_number = _names(records)
    found: dict[str, list[str]] = {}

    def target(folder: str, reference: str) -> str | None:
        if reference.isdigit():
            numbered = by_number.get((folder, int(reference)), [])
            return numbered[0] if len(numbered) == 1 else None
        return by_name.get(f"{folder}/{reference}") or by_name.get(f"{folder}/{reference}.md")

    def earlier(folder: str, reference: str) -> str | None:
        """A record that is read now, or the entry that one of this name became, if it was."""
        found = target(folder, reference)
        if found or reference.isdigit():
            return found
        name = reference if reference.lower().endswith((".md", ".markdown")) else f"{reference}.md"
        return ulid_of(f"{folder}/{name}".lstrip("/"))

    for entry_id, (name, record) in records.items():
        folder = name.rpartition("/")[0]
        pairs: list[tuple[str | None, str | None]] = [
            (target(folder, reference), entry_id) for reference in record.superseded_by
        ]
        pairs += [(entry_id, earlier(folder, reference)) for reference in record.supersedes]
        for new, old in pairs:
            if new and old and new != old and old not in found.setdefault(new, []):
                found[new].append(old)
    return found


def _names(records: Records) -> tuple[dict[str, str], dict[tuple[str, int], list[str]]]:
    by_name: dict[str, str] = {}
    by_number: dict[tuple[str, int], list[str]] = {}
    for entry_id, (name, _) in records.items():
        folder, _, file = name.rpartition("/")
        by_name[f"{folder}/{file}"] = entry_id
        number = adr.number_of(file)
        if number is not None:
            by_number.setdefault((folder, number), []).append(entry_id)
    return by_name, by_number
