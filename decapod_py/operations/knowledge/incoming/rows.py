"""A row of an import: one entry to be, whatever it was read from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from decapod_py.domain.authored import Authored, with_lifetime
from decapod_py.domain.naming import check_entry_id, is_safe_path
from decapod_py.domain.text import check_content, check_label
from decapod_py.foundation.clock import format_time, parse_time
from decapod_py.foundation.errors import DecapodError, Misused
from decapod_py.operations.knowledge.add import read_authored
from decapod_py.storage.front_matter import Damaged, parse, unknown_lines
from decapod_py.views.markdown import KEYS

if TYPE_CHECKING:
    from decapod_py.workspace import Workspace

STATUSES = ("active", "deprecated", "stale", "superseded")
_TTL_POLICIES = ("ephemeral", "decay", "persistent")
_TEXTS = frozenset(
    {"id", "title", "content", "merge_key", "scope", "claim_id", "status", "ttl_policy", "expires_ts", "created_at"}
    | {"source", "extra", "path"}
)
_LISTS = frozenset({"provenances", "tags", "supersedes", "aliases"})
_DERIVED = frozenset({"supersedes_id", "author", "contributors", "updated_at", "version"})  # exported, and not taken in


class Source(NamedTuple):
    """What an import was pointed at."""

    name: str  # as it was given
    place: str  # where that is
    format: str | None  # that somebody said it has
    left_out: dict[str, int]  # what was seen and not read, by kind; filled while reading
    called: str | None = None  # what somebody calls its folder


class Row(NamedTuple):
    """One entry to be, its form checked."""

    file: str
    line: int | None
    format: str
    entry_id: str | None
    authored: Authored
    status: str
    supersedes: tuple[str, ...]
    created_at: str | None
    path: str | None = None  # of its Markdown, as its file was called
    # What its id follows from: it says so itself, its name in a folder, or its place in this repository.
    identity: Literal["own", "name", "place"] = "own"


class Unread(NamedTuple):
    """What could not be read as an entry, and why."""

    file: str
    line: int | None
    format: str
    code: str
    message: str


Rows = Iterator[Row | Unread]
T = TypeVar("T")


def attempted(file: str, line: int | None, form: str, read: Callable[[], T]) -> T | Unread:
    """What was read, or why it was not: a row that is bad never hides the next."""
    try:
        return read()
    except Damaged as damage:
        return Unread(file, damage.line, form, damage.code, damage.message)
    except DecapodError as problem:
        return Unread(file, line, form, problem.code, problem.message)


def row_from_fields(workspace: Workspace, file: str, line: int | None, form: str, fields: dict[str, Any]) -> Row:
    """A row from named fields, as JSON lines and databases have them."""
    _check_fields(fields)
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
    if fields.keys() & {"aliases", "source", "extra"}:
        authored = _with_seldom_fields(authored, fields)
    entry_id = fields.get("id")
    return Row(
        file=file,
        line=line,
        format=form,
        entry_id=check_entry_id(entry_id) if entry_id is not None else None,
        authored=authored,
        status=fields.get("status") or "active",
        supersedes=tuple(fields.get("supersedes") or ()),
        created_at=not_after(fields.get("created_at"), now),
        path=_checked_path(fields.get("path")),
    )


def _with_seldom_fields(authored: Authored, fields: dict[str, Any]) -> Authored:
    aliases = dict.fromkeys(check_label(alias, "alias") for alias in fields.get("aliases") or [])
    source, extra = fields.get("source"), fields.get("extra")
    return authored._replace(
        aliases=tuple(aliases),
        source=check_label(source, "source") if source else None,
        extra=checked_extra(extra) if extra else "",
    )


def checked_extra(extra: str) -> str:
    """Front matter of somebody's own: lines that can stand below ours without saying anything in our place."""
    data = f"---\nid: x\n{extra}\n---\n".encode()
    try:
        parse(data)
        own = unknown_lines(data, KEYS) == extra
    except Damaged as damage:
        raise Misused("bad-field", f"extra is no front matter: {damage.message}") from None
    if not own:
        raise Misused("bad-field", "extra says something that has a field of its own")
    return check_content(extra)


def not_after(created_at: str | None, now: int) -> str | None:
    """When an entry was made, in our form: nothing is made in time to come."""
    return format_time(min(parse_time(created_at), now)) if created_at else None


def _checked_path(path: str | None) -> str | None:
    if path is not None and not is_safe_path(path):
        raise Misused("bad-path", f"no file can be called {path!r} wherever the repository is checked out")
    return path


def _check_fields(fields: dict[str, Any]) -> None:
    """The keys and types that fields may have."""
    for name in ("title", "content"):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise Misused("missing-field", f"{name} is missing or empty")
    for name, value in fields.items():
        _check_field(name, value)


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
    if name == "status" and value not in STATUSES:
        raise Misused("bad-field", f"the status {value!r} is none of {', '.join(STATUSES)}")
    if name == "ttl_policy" and value not in _TTL_POLICIES:
        raise Misused("bad-field", f"the ttl_policy {value!r} is none of {', '.join(_TTL_POLICIES)}")


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
