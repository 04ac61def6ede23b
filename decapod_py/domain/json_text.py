"""JSON that people keep, with comments and trailing commas, changed in place: every other byte stays as it is."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\r\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")|(?P<word>[{}\[\],:]|[^\s{}\[\],:"/]+)""",
    re.DOTALL,
)


class BadJson(Exception):
    """The text is no JSON; says where."""


class Member(NamedTuple):
    """One `"name": value` of an object."""

    start: int
    node: Node
    comma: int | None  # where the comma after it is


class Node(NamedTuple):
    """A value and the place it is written at."""

    start: int
    end: int
    value: Any
    members: dict[str, Member] | None  # of an object


class _Token(NamedTuple):
    text: str
    start: int
    end: int


def parse(text: str) -> Node:
    try:
        parser = _Parser(text)
        found = parser.node()
        if parser.next.text:
            raise parser.unexpected()
    except RecursionError:
        raise BadJson("it is nested too deeply") from None
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.next = self._token()

    def _token(self) -> _Token:
        while self.place < len(self.text):
            match = _TOKEN.match(self.text, self.place)
            if match is None:
                raise self._bad(self.place)
            self.place = match.end()
            if not match["blank"]:
                return _Token(match[0], match.start(), match.end())
        return _Token("", self.place, self.place)

    def _bad(self, place: int) -> BadJson:
        line = self.text.count("\n", 0, place) + 1
        return BadJson(f"line {line}, column {place - self.text.rfind(chr(10), 0, place)}")

    def unexpected(self) -> BadJson:
        return self._bad(self.next.start)

    def take(self, *wanted: str) -> _Token:
        found = self.next
        if wanted and found.text not in wanted:
            raise self.unexpected()
        self.next = self._token()
        return found

    def node(self) -> Node:
        if self.next.text == "{":
            return self._object()
        if self.next.text == "[":
            return self._list()
        found = self.next
        value = self._scalar()
        return Node(found.start, found.end, value, None)

    def _scalar(self) -> Any:
        try:
            value = json.loads(self.next.text)
        except ValueError:
            raise self.unexpected() from None
        self.take()
        return value

    def _object(self) -> Node:
        start = self.take("{").start
        members: dict[str, Member] = {}
        while self.next.text != "}":
            place, name = self.next.start, self._name(members)
            self.take(":")
            value = self.node()
            comma = self.take(",").start if self.next.text != "}" else None
            members[name] = Member(place, value, comma)
        values = {name: member.node.value for name, member in members.items()}
        return Node(start, self.take("}").end, values, members)

    def _name(self, taken: dict[str, Member]) -> str:
        place = self.next.start
        if not self.next.text.startswith('"'):
            raise self.unexpected()
        name = str(self._scalar())
        if name in taken:
            raise BadJson(f"{name!r} is there twice") from self._bad(place)
        return name

    def _list(self) -> Node:
        start = self.take("[").start
        values = []
        while self.next.text != "]":
            values.append(self.node().value)
            if self.next.text != "]":
                self.take(",")
        return Node(start, self.take("]").end, values, None)


def with_member(text: str, target: Node, name: str, value: Any) -> str:
    """The text with one more member at the end of an object, laid out like its neighbours."""
    assert target.members is not None
    last = list(target.members.values())[-1] if target.members else None
    if last and "\n" not in text[target.start : target.end]:
        return _insert(text, last.node.end, f', "{name}": {json.dumps(value, ensure_ascii=False)}')
    outside = _indentation(text, target.start)
    indentation = _indentation(text, last.start) if last else outside + _unit(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    written = json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"\n{indentation}")
    trailing = "," if last and last.comma else ""
    member = f"\n{indentation}{json.dumps(name)}: {written}{trailing}".replace("\n", newline)
    close = target.end - 1
    end = len(text[:close].rstrip())  # after the last member and whatever is noted behind it
    tail = text[end:] if "\n" in text[end:close] else newline + outside + text[close:]
    changed = text[:end] + member + tail
    return _insert(changed, last.node.end, ",") if last and not last.comma else changed


def without_member(text: str, target: Node, name: str) -> str:
    """The text without one member of an object and the comma that it needed."""
    assert target.members is not None
    names = list(target.members)
    member = target.members[name]
    start = len(text[: member.start].rstrip())
    if member.comma is not None and len(names) > 1:
        return text[:start] + text[member.comma + 1 :]
    if len(names) > 1:
        comma = target.members[names[names.index(name) - 1]].comma
        assert comma is not None
        return text[:comma] + text[comma + 1 : start] + text[member.node.end :]
    end = member.node.end if member.comma is None else member.comma + 1
    tail = text[end:]
    if text[start - 1] == "{" and tail.lstrip().startswith("}"):
        tail = tail.lstrip()
    return text[:start] + tail


def _insert(text: str, place: int, addition: str) -> str:
    return text[:place] + addition + text[place:]


def _indentation(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """What one level is indented by here."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "
