"""What somebody wrote into a Markdown file, as what an author decides: taken in, or refused field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from decapod_py.domain.authored import Authored, decimal, with_lifetime
from decapod_py.domain.entry import ROOT_SCOPE, Entry
from decapod_py.domain.provenance import check_provenance
from decapod_py.domain.text import LONGEST_TITLE, check_content, check_label, check_tags, check_title
from decapod_py.foundation.clock import format_time, parse_time
from decapod_py.foundation.errors import Misused
from decapod_py.storage.front_matter import field_lines, parse, unknown_lines
from decapod_py.views.markdown import KEYS, entry_fields

# Who and when an entry is, is not for a text editor to say.
IDENTITY = ("id", "author", "contributors", "created_at", "updated_at", "supersedes")
_BY_HAND = ("active", "deprecated")
_ON_ARRIVAL = (*_BY_HAND, "stale", "superseded")
_TTL_POLICIES = ("ephemeral", "decay", "persistent")


class Said(NamedTuple):
    """A file, read."""

    fields: dict[str, Any]
    body: str
    extra: str

    @property
    def id(self) -> str | None:
        named = self.fields.get("id")
        if isinstance(named, bool) or not isinstance(named, (str, int)):
            return None
        return str(named).strip() or None


class HandEdit(NamedTuple):
    authored: Authored
    status: str | None  # that the file sets, if it is another than before
    restored: list[str]  # fields that were changed and are not taken in
    provenance_changed: bool


class Arrival(NamedTuple):
    """What a new file says about its life before it came here."""

    status: str
    created_at: str | None
    supersedes: tuple[str, ...]
    left_out: list[str]  # fields that are not taken in
    extra: str  # what those said, under names of their own


class Limits(NamedTuple):
    """What a policy and a moment decide about what may be written."""

    schemes: dict[str, str]
    lifetimes: dict[str, int]
    now: int


def read(data: bytes) -> Said:
    """Raises Damaged for what is no front matter and a body."""
    fields, body = parse(data)
    return Said(fields, body, unknown_lines(data, KEYS))


def edit_of(entry: Entry, before: Authored, said: Said, limits: Limits) -> HandEdit:
    """What a changed file says about its entry. A field that was left out is cleared, but for those that must be."""
    was = dict(entry_fields(entry))
    restored = [key for key in IDENTITY if _differs(said.fields.get(key), was.get(key))]
    fields = {**said.fields}
    provenances = _texts(fields, "provenance")
    status = _text(fields, "status") or was.get("status")
    if status != was.get("status") and status not in _BY_HAND:
        restored.append("status")
        status = was.get("status")
    authored = before._replace(
        title=check_title(_text(fields, "title") or entry.title),
        content=check_content(said.body),
        provenances=_provenances(provenances, limits) or before.provenances,
        extra=said.extra,
        **_labels(fields),
    )
    authored = _with_life(authored, before, fields, limits)
    return HandEdit(
        authored,
        str(status) if status != was.get("status") else None,
        restored,
        authored.provenances != before.provenances,
    )


def returned(entry: Entry, before: Authored, said: Said) -> HandEdit:
    """A file that came back as it was: its entry is what it was before the file was taken away."""
    status = said.fields.get("status")
    revived = status if entry.status == "deprecated" and status == "active" else None
    return HandEdit(before, revived, [], False)


def arrival_of(said: Said, actor: str, replaceable: Callable[[str], bool], now: int) -> Arrival:
    """The part of a new file that speaks of the time before: kept where it can be, else noted beside the rest.

    The ledger says who recorded an entry and when; what the file says about that is its author's own front matter.
    """
    status = said.fields.get("status")
    created = _moment_until(said.fields.get("created_at"), now)
    named = [str(one).strip() for one in _listed(said.fields.get("supersedes"))]
    supersedes = tuple(dict.fromkeys(one for one in named if one != said.id and replaceable(one)))
    kept = {
        "status": status in _ON_ARRIVAL,
        "created_at": created is not None,
        "supersedes": len(supersedes) == len(set(named)),
        "author": said.fields.get("author") == actor,
    }
    left_out = [
        key
        for key in ("status", *IDENTITY[1:])
        if said.fields.get(key) not in (None, "", [], {}) and not kept.get(key, False)
    ]
    lines = [line for key in left_out for line in _noted(said, key)]
    return Arrival(
        str(status) if kept["status"] else "active",
        None if created is None else format_time(created),
        supersedes,
        left_out,
        "\n".join([*([said.extra] if said.extra else []), *lines]),
    )


def _noted(said: Said, key: str) -> list[str]:
    """A field under a name that has no meaning here, unless the file has that already."""
    name, value = f"original_{key}", said.fields[key]
    if name in said.fields:
        return []
    texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in _listed(value)]
    return field_lines(name, texts if isinstance(value, list) else texts[0])


def _listed(value: Any) -> list[Any]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if item is not None]


def _moment_until(written: Any, now: int) -> int | None:
    """A moment that can be read and has been."""
    for spelled in (written, f"{written}Z"):  # many leave the zone out
        try:
            moment = parse_time(spelled) if isinstance(written, str) else now + 1
        except Misused:
            continue
        return moment if moment <= now else None
    return None


def entry_from(said: Said, stem: str, provenance: str, limits: Limits) -> tuple[Authored, list[str]]:
    """A new file as an entry, and the fields that had to be filled in."""
    filled = [key for key in ("title", "provenance") if not said.fields.get(key)]
    filled = filled if said.id else ["id", *filled]
    title = _text(said.fields, "title") or _heading(said.body) or stem.replace("-", " ").replace("_", " ")
    title = check_title(title[:LONGEST_TITLE])
    provenances = _provenances(_texts(said.fields, "provenance"), limits) or (provenance,)
    authored = Authored(
        title=title,
        content=check_content(said.body) or title,
        provenances=provenances,
        extra=said.extra,
        **_labels(said.fields),
    )
    return _with_life(authored, None, said.fields, limits), filled


def _labels(fields: dict[str, Any]) -> dict[str, Any]:
    """The short fields, each in its one form."""
    return {
        "tags": tuple(check_tags([tag.lstrip("#") for tag in _texts(fields, "tags")])),
        "aliases": tuple(dict.fromkeys(check_label(alias, "alias") for alias in _texts(fields, "aliases"))),
        "scope": _label(fields, "scope") or ROOT_SCOPE,
        "merge_key": _label(fields, "merge_key"),
        "claim_id": _label(fields, "claim_id"),
        "source": _label(fields, "source"),
        "confidence": _confidence(fields),
    }


def _with_life(authored: Authored, before: Authored | None, fields: dict[str, Any], limits: Limits) -> Authored:
    policy = _text(fields, "ttl_policy") or ("decay" if fields.get("expires_ts") else "persistent")
    if policy not in _TTL_POLICIES:
        raise Misused("bad-field", f"ttl_policy must be one of {', '.join(_TTL_POLICIES)}")
    expires = _text(fields, "expires_ts")
    if before and policy == before.ttl_policy and expires == _written_expiry(before):
        return authored._replace(
            ttl_policy=policy, expires=before.expires, expires_by_default=before.expires_by_default
        )
    return with_lifetime(authored, policy, expires, limits.now, limits.lifetimes)


def _written_expiry(before: Authored) -> str | None:
    if before.expires is None or before.expires_by_default:
        return None
    return format_time(before.expires)


def _provenances(written: list[str], limits: Limits) -> tuple[str, ...]:
    return tuple(dict.fromkeys(check_provenance(reference, limits.schemes) for reference in written))


def _heading(body: str) -> str | None:
    found = re.search(r"^#{1,6}[ \t]+(\S.*?)[ \t]*#*$", body, re.MULTILINE)
    return found[1] if found else None


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is None or isinstance(value, (list, dict, bool)):
        if value is None:
            return None
        raise Misused("bad-field", f"{name} must be a text")
    return str(value).strip() or None


def _texts(fields: dict[str, Any], name: str) -> list[str]:
    """A list of texts; one text alone, or several with commas between as Obsidian has it for tags, is a list too."""
    value = fields.get(name)
    if value is None:
        return []
    if isinstance(value, str) and name in ("tags", "aliases"):
        value = value.split(",")
    items = _listed(value)
    if not all(isinstance(item, (str, int, float)) and not isinstance(item, bool) for item in items):
        raise Misused("bad-field", f"{name} must be a list of texts")
    return [str(item).strip() for item in items if str(item).strip()]


def _label(fields: dict[str, Any], name: str) -> str | None:
    text = _text(fields, name)
    return check_label(text, name.replace("_", " ")) if text else None


def _confidence(fields: dict[str, Any]) -> str | None:
    value = fields.get("confidence")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise Misused("bad-field", "confidence must be a number between 0 and 1")
    return decimal(float(value))


def _differs(written: Any, was: Any) -> bool:
    """Whether a field says something else than before; one that was left out says nothing."""
    return written not in (None, "", []) and written != was and [written] != was
