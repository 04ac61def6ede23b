"""YAML front matter and a body: the bytes of a Markdown file, written one way and read many ways.

Writing is ours, so that one state is one byte string. Reading takes what people and their editors leave behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain.text import tidy

if TYPE_CHECKING:
    from yaml.events import ScalarEvent

Value = str | int | float | list[str]
Fields = dict[str, Any]

_FENCE = "---"
_BYTE_ORDER_MARK = "\ufeff"


class Damaged(Exception):
    """A file that cannot be read as front matter and a body. Lines count from 1."""

    def __init__(self, code: str, message: str, line: int) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line


def render(fields: Iterable[tuple[str, Value]], body: str, extra: str = "") -> bytes:
    """The bytes of a file. Equal fields and bodies give equal bytes; keys are plain words.

    `extra` is front matter that somebody wrote, as `unknown_lines` found it.
    """
    lines = [_FENCE]
    for name, value in fields:
        lines += field_lines(name, value)
    if extra and not any(line.startswith(_FENCE) for line in extra.split("\n")):
        lines.append(extra)
    lines.append(_FENCE)
    body = tidy(body)
    if body:
        lines += ["", body]
    return ("\n".join(lines) + "\n").encode()


def field_lines(name: str, value: Value) -> list[str]:
    """One field of the front matter; its name is a plain word."""
    if not isinstance(value, list):
        return [f"{name}: {_scalar(value)}"]
    return [f"{name}:", *(f"  - {_scalar(item)}" for item in value)] if value else [f"{name}: []"]


def _scalar(value: str | int | float) -> str:
    return _text(value) if isinstance(value, str) else _number(value)


@lru_cache(maxsize=4_000)  # authors, tags and statuses stand in thousands of files
def _text(value: str) -> str:
    plain = _SURELY_TEXT.fullmatch(value) and value.lower() not in _WORDS_WITH_A_MEANING
    return value if plain else f'"{_ESCAPED.sub(_escape, value)}"'


# No version of YAML reads anything but text into these: a letter first, or digits with a letter that is in no number
# and no time (as in a ULID); then nothing that ends a plain scalar or starts a comment. All else is quoted.
_SURELY_TEXT = re.compile(
    r"""
    [^\W\d_] (?: [\w./+()',;=@!?&*%$^~<>|\#-]++ | :(?=[^ ]) | [ ](?=[^\#]) )*+
    | (?= .* [g-np-su-wyG-NP-SU-WY] ) [0-9] [0-9A-Za-z]*
    """,
    re.VERBOSE,
)
_WORDS_WITH_A_MEANING = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])

# What YAML does not allow, what some reader takes for a line end, and what hides or reorders text for a reviewer.
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _SHORT_ESCAPES.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _number(value: int | float) -> str:
    text = repr(value)
    if text.lstrip("-") in ("inf", "nan"):
        return text.replace("inf", ".inf").replace("nan", ".nan")
    if "e" in text and "." not in text:
        return text.replace("e", ".0e")  # without a dot YAML 1.1 reads 1e-05 as text
    return text


def parse(data: bytes, *, markers_are_text: bool = False) -> tuple[Fields, str]:
    """The fields and the tidy body of a file; a file without front matter is all body.

    Conflict markers are damage, unless the caller knows that the text is about them.
    """
    text = _decoded(data)
    if not markers_are_text:
        _refuse_markers(text)
    if not _opens(text):
        return {}, tidy(text)
    header, body = _split(text)
    return {**_header(header).fields}, tidy(body)


def unknown_lines(data: bytes, known: Iterable[str], *, markers_are_text: bool = False) -> str:
    """The lines of the front matter that belong to other keys than these, as they are written.

    Where keys share lines, as in JSON, each gets a line of its own. Raises Damaged where that would change a value.
    """
    text = _decoded(data)
    if not markers_are_text:
        _refuse_markers(text)
    if not _opens(text):
        return ""
    header, ours = _split(text)[0], frozenset(known)
    extra = _others(header, ours)
    if extra:
        _refuse_changed(header, extra, ours)
    return extra


def _others(header: str, ours: frozenset[str]) -> str:
    found = _header(header)
    return _others_anew(header, found, ours) if found.flow else _others_as_written(header, found, ours)


def _others_anew(header: str, found: _Header, ours: frozenset[str]) -> str:
    """Keys out of braces, a line for each; the remarks above the braces and below them."""
    pairs = [key for key in found.keys if key.name not in ours]
    around = header[: found.start].split("\n") + header[found.end :].split("\n")
    lines = [line.rstrip() for line in around if line.startswith("#")]
    lines += [f"{_text(key.name)}: {_LINE_END.sub(' ', header[key.value : key.end])}".rstrip() for key in pairs]
    return "\n".join(lines)


_LINE_END = re.compile(r"[ \t]*\n[ \t]*")


def _others_as_written(header: str, found: _Header, ours: frozenset[str]) -> str:
    kept: list[str] = []
    remarks: list[str] = []  # they belong to what follows them
    starts = {header.rfind("\n", 0, key.start) + 1: key for key in found.keys}
    indent = header[header.rfind("\n", 0, found.start) + 1 : found.start]
    place, within, keeping = 0, 0, False
    for line in header.split("\n"):
        key = starts.get(place)
        if key:
            keeping, within = key.name not in ours, key.end
        if line.startswith("#") and place >= within:
            remarks.append(line.rstrip())
        elif keeping and (line.strip() or kept):
            kept += [*remarks, line.removeprefix(indent if indent.isspace() else "").rstrip()]
            remarks = []
        elif key:
            remarks = []
        place += len(line) + 1
    return "\n".join([*kept, *remarks]).rstrip("\n")


def _refuse_changed(header: str, extra: str, ours: frozenset[str]) -> None:
    """Whoever reads the lines below ours must find the same keys and values, and the same lines."""
    wanted = {name: value for name, value in _header(header).fields.items() if name not in ours}
    below = f"id: x\n{extra}\n"
    try:
        found = {name: value for name, value in _header(below).fields.items() if name != "id"}
        # By their words: true is not 1, and what is not a number equals nothing.
        same = repr(found) == repr(wanted) and _others(below, ours | {"id"}) == extra
    except Damaged:
        same = False
    if not same or any(line.startswith(_FENCE) for line in extra.split("\n")):
        message = "a key of the front matter cannot be kept as it is written: begin a line with each key"
        raise Damaged("bad-yaml", message, 1)


def _decoded(data: bytes) -> str:
    if not data.strip(b"\0 \t\r\n"):  # some file systems leave zeros behind after a crash
        raise Damaged("empty", "the file is empty", 1)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise Damaged("not-utf8", f"the file is not UTF-8: {problem.reason}", line) from None
    return text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")


def _opens(text: str) -> bool:
    return text.partition("\n")[0].rstrip(" \t") == _FENCE


def _split(text: str) -> tuple[str, str]:
    closing = _CLOSING_FENCE.search(text, text.index("\n")) if "\n" in text else None
    if closing is None:
        raise Damaged("unclosed", "the front matter has no closing ---", 1)
    return text[text.index("\n") + 1 : closing.start() + 1], text[closing.end() :]


_CLOSING_FENCE = re.compile(r"\n---[ \t]*(?:\n|\Z)")


def _refuse_markers(text: str) -> None:
    marker = _MARKER.search(text)
    if marker:
        line = text.count("\n", 0, marker.start()) + 1
        raise Damaged("conflict-markers", "a merge left conflict markers in the file", line)


# A line of seven = alone is a heading; only between the other two is it a marker.
_MARKER = re.compile(r"^(?:<{7}|>{7})(?: |$)", re.MULTILINE)


def conflict_sides(data: bytes) -> tuple[bytes, bytes] | None:
    """Our and their full text of a file with conflict markers; nothing if the markers do not pair up."""
    sides: dict[str, list[bytes]] = {"ours": [], "theirs": []}
    reading = "both"
    for line in data.replace(b"\r\n", b"\n").split(b"\n"):
        turn = _TURNS.get((reading, line[:7])) if len(line) == 7 or line[7:8] == b" " else None
        if turn:
            reading = turn
        elif reading == "both" or reading in sides:
            for side in sides if reading == "both" else (reading,):
                sides[side].append(line)
    if reading != "both" or any(_BYTES_MARKER.search(b"\n".join(side)) for side in sides.values()):
        return None
    return b"\n".join(sides["ours"]), b"\n".join(sides["theirs"])


_BYTES_MARKER = re.compile(_MARKER.pattern.encode(), re.MULTILINE)
_TURNS = {
    ("both", b"<<<<<<<"): "ours",
    ("ours", b"|||||||"): "base",
    ("ours", b"======="): "theirs",
    ("base", b"======="): "theirs",
    ("theirs", b">>>>>>>"): "both",
}


class _Key(NamedTuple):
    """A key at the top, and where it and its value stand."""

    name: str
    start: int
    value: int
    end: int


class _Header(NamedTuple):
    fields: Fields
    keys: list[_Key]
    flow: bool  # in braces
    start: int
    end: int


class _Events:
    """The events of a header, and where the last that is more than the end of some lines ended."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self.end = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        event = next(self._events)
        start, end = event.start_mark.index, event.end_mark.index
        if start < end:
            self.end = end
        return event


@lru_cache(maxsize=1)  # asked for its fields first, and for its lines next
def _header(header: str) -> _Header:
    # Costs more to import than most commands take, and only a file that differs is ever parsed.
    import yaml

    # Events, not nodes: the composer of the C library recurses, and deep nesting kills the process.
    events = yaml.parse(header, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    try:
        return _document(_Events(events))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or getattr(problem, "reason", None) or "it cannot be read"
        line = mark.line + _LINES_ABOVE if mark else 1
        raise Damaged("bad-yaml", f"the front matter is not YAML: {reason}", line) from None


_LINES_ABOVE = 2  # marks count from 0, below the opening fence
_DEEPEST = 20


def _document(events: _Events) -> _Header:
    import yaml

    next(events)  # the stream starts
    if isinstance(next(events), yaml.StreamEndEvent):
        return _Header({}, [], False, 0, 0)
    first = next(events)
    if not isinstance(first, yaml.MappingStartEvent):
        raise _damage(first, "not-a-mapping", "the front matter has no `key: value` lines")
    keys: list[_Key] = []
    fields = _mapping(events, 1, keys)
    end = events.end
    next(events)  # the document ends
    after = next(events)
    if not isinstance(after, yaml.StreamEndEvent):
        raise _damage(after, "bad-yaml", "the front matter goes on after its end")
    return _Header(fields, keys, bool(first.flow_style), _start(first), end)


def _start(event: Any) -> int:
    place: int = event.start_mark.index
    return place


def _damage(event: Any, code: str, message: str) -> Damaged:
    return Damaged(code, message, event.start_mark.line + _LINES_ABOVE)


def _mapping(events: _Events, depth: int, keys: list[_Key] | None = None) -> Fields:
    """A mapping; `keys` is told where each key stands."""
    import yaml

    fields: Fields = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent):
            raise _damage(key, "bad-yaml", "a key of the front matter is not a word")
        if key.value in fields:
            raise _damage(key, "duplicate-key", f"the front matter has the key {key.value!r} twice")
        value = next(events)
        fields[key.value] = _value(value, events, depth)
        if keys is not None:
            start = _start(value)
            keys.append(_Key(key.value, _start(key), start, max(start, events.end)))
    return fields


def _sequence(events: _Events, depth: int) -> list[Any]:
    import yaml

    items = []
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        items.append(_value(event, events, depth))
    return items


def _value(event: Any, events: _Events, depth: int) -> Any:
    import yaml

    if isinstance(event, yaml.ScalarEvent):
        return _scalar_value(event)
    if isinstance(event, yaml.AliasEvent):
        # A few lines of aliases can stand for a billion values, or for themselves.
        raise _damage(event, "bad-yaml", "the front matter uses an alias")
    if depth == _DEEPEST:
        raise _damage(event, "bad-yaml", "the front matter is nested too deeply")
    return _mapping(events, depth + 1) if isinstance(event, yaml.MappingStartEvent) else _sequence(events, depth + 1)


def _scalar_value(event: ScalarEvent) -> str | int | float | bool | None:
    """What a scalar means in YAML 1.2's core, as Obsidian reads it: 12:30, no and 2026-01-01 are texts."""
    text: str = event.value
    if event.style:  # quoted, or a block
        return text
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))
    return text


_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,4000})")  # Python converts no longer ones
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan")
