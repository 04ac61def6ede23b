"""An event: one flat JSON object a line, sealed by a hash that any version of the program can check."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from decapod_py.foundation.canonical import canonical, digest
from decapod_py.foundation.clock import LATEST
from decapod_py.foundation.errors import Refused
from decapod_py.foundation.ids import is_ulid, ulid

FORMAT = 1
Event = dict[str, Any]

_DEEPEST = 20
_OUTSIDE_THE_HASH = ("hash", "sig", "text")
_LAST_ID = ulid(LATEST, b"\xff" * 10)
_COMMON_TEXT = ("event_id", "ts", "type", "ledger", "actor", "hash", "text_sha256")


class BadLine(Exception):
    """A line that is no event: it is reported and never folded."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class NewerFormat(BadLine):
    """An event written by a program that knows more than this one."""

    def __init__(self, version: int) -> None:
        super().__init__("newer-format", f"the event has format {version}; this program reads up to {FORMAT}")
        self.version = version


def refuse_newer_format(version: int) -> None:
    if version > FORMAT:
        raise Refused(
            "newer-data",
            f"this repository's knowledge has format {version}; this program reads up to {FORMAT}",
            "upgrade the package decapod-py",
        )


def seal(fields: Event, text: dict[str, Any], salt: str, shift: int = 0) -> Event:
    """Completes an event: the salted text, its digest and the hash over everything else.

    `shift` says where the content begins within git's blocks; see `_filler`.
    """
    event = dict(fields)
    salted = {**text, "salt": salt}
    if "content" in text:
        salted["_"] = _filler(event, salted, shift)
    event["text_sha256"] = digest(salted)
    event["hash"] = digest(event)
    event["text"] = salted
    return event


_BLOCK = 64


def _filler(event: Event, text: dict[str, Any], shift: int) -> str:
    """Zeros that move the content to another place within git's blocks.

    git takes a deleted file for renamed when a new one shares half of its 64-byte blocks, and a rename can conflict.
    Blocks are counted from the beginning of a line, so a Markdown file and the segments that hold its text, or two
    versions of one text, share blocks only where they begin at the same place: a file at 0, each version at another.
    """
    before = {name: value for name, value in event.items() if name < "text"}
    begin = len(canonical({**before, "hash": "0" * 64})) + len(',"text":{"_":"","content":"') - 1
    wanted = 1 + shift % (_BLOCK - 1)
    if (wanted + _before_longest_line(text["content"])) % _BLOCK == 0:
        wanted = 1 + wanted % (_BLOCK - 1)
    return "0" * ((wanted - begin) % _BLOCK)


def _before_longest_line(content: str) -> int:
    """How many bytes of the encoded content stand before its longest line, which is a block of its own in Markdown."""
    if "\n" not in content:
        return 0
    longest = max(content.split("\n"), key=len)
    return len(canonical(content[: content.index(longest)])) - 2


def to_line(event: Event) -> bytes:
    return canonical(event) + b"\n"


def from_line(line: bytes) -> Event:
    """Reads one line and checks all that a line can prove by itself."""
    try:
        event = _decode(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as problem:
        raise BadLine("not-json", f"not a JSON object in UTF-8: {problem}") from None
    if not isinstance(event, dict):
        raise BadLine("not-json", "not a JSON object")
    version = event.get("v")
    if type(version) is int and version > FORMAT:
        raise NewerFormat(version)
    _check_common_fields(event)
    # Brackets are counted first: a line with few of them cannot be deep.
    if line.count(b"{") + line.count(b"[") > _DEEPEST and _depth(event) > _DEEPEST:
        # How deep Python can go depends on who calls: what is an event must not.
        raise BadLine("too-deep", f"event {event['event_id']} is nested more than {_DEEPEST} deep")
    _check_seal(event, line)
    return event


def _depth(value: Any) -> int:
    """How deep a value is nested, counted only as far as it matters."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        depth += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
    return depth


def _check_common_fields(event: Event) -> None:
    if type(event.get("v")) is not int or event["v"] != FORMAT:
        raise BadLine("bad-field", "the field v is missing or no format of ours")
    for name in _COMMON_TEXT:
        if not isinstance(event.get(name), str):
            raise BadLine("bad-field", f"the field {name} is missing or no text")
    if not is_ulid(event["event_id"]) or event["event_id"] > _LAST_ID:
        raise BadLine("bad-field", f"the event id {event['event_id']!r} is no ULID of a time we can write")
    prev = event.get("prev")
    if not isinstance(prev, list) or not all(isinstance(parent, str) for parent in prev):
        raise BadLine("bad-field", "the field prev is no list of hashes")
    if "text" in event and not isinstance(event["text"], dict):
        raise BadLine("bad-field", "the field text is no object")


def _check_seal(event: Event, line: bytes) -> None:
    try:
        if canonical(event) != line.rstrip(b"\r\n"):
            raise BadLine("not-canonical", "the line is not in canonical form")
        hashed = canonical({name: value for name, value in event.items() if name not in _OUTSIDE_THE_HASH})
        text_digest = digest(event["text"]) if "text" in event else event["text_sha256"]
    except (ValueError, RecursionError) as problem:
        raise BadLine("not-canonical", f"the line has no canonical form: {problem}") from None
    if sha256(hashed).hexdigest() != event["hash"]:
        raise BadLine("hash-mismatch", f"event {event['event_id']} was altered: its hash does not match")
    if text_digest != event["text_sha256"]:
        raise BadLine("text-mismatch", f"the text of event {event['event_id']} was altered: its digest does not match")


def _refuse_float(literal: str) -> Any:
    raise ValueError(f"the number {literal} is not an integer")


_decode = json.JSONDecoder(parse_float=_refuse_float, parse_constant=_refuse_float).decode


def order(event: Event) -> tuple[str, str]:
    """The one order of events everywhere."""
    return event["event_id"], event["hash"]


def text_of(event: Event, name: str) -> str | None:
    """A free text of the event; nothing once it was redacted."""
    text = event.get("text")
    found = text.get(name) if isinstance(text, dict) else None
    return found if isinstance(found, str) else None
