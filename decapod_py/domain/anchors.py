"""An anchor: what a citation said when it was written, so that drift can be seen.

Text is compared without line ends, trailing blanks, common indentation and empty lines. Relative indentation counts: a
dedented statement is another program.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

LARGEST_TEXT = 16 << 20  # bytes; a larger file is known by its digest alone
_MOST_LINES, _MOST_CHARACTERS = 80, 4_000  # of a cited text, kept to find it again and to show what changed
_CONTEXT = 3  # lines before and after, to tell one `return None` from another
_NEAR = 40  # lines among which those are that are not empty
_MOST_CONTEXT = 400  # characters of them
_HEX = frozenset("0123456789abcdef")


class Anchor(NamedTuple):
    """Where a citation pointed and a digest of what stood there. Goes into the hash of its event."""

    path: str
    first: int | None  # lines counted from 1; none for a whole file
    last: int | None
    name: str | None  # a symbol or a heading, as it was cited
    blob: str | None  # as git names the file's content, for whoever wants all of it
    commit: str | None  # where HEAD stood
    digest: str
    lines: int  # that are not empty; 0 for a binary file

    @property
    def whole(self) -> bool:
        return self.first is None

    @property
    def binary(self) -> bool:
        return not self.lines and self.digest.startswith("bytes:")


class Cited(NamedTuple):
    """The cited text itself, bounded. It is free text and lies outside the hash."""

    head: str  # all of it, unless it is long: then its digest is not the anchor's
    before: str
    after: str


def comparable(text: str) -> list[str]:
    """The lines that count, as they are compared."""
    lines = [line.rstrip() for line in split_lines(text)]
    lines = [line for line in lines if line]
    indent = common_indent(lines)
    return [line[indent:] for line in lines]


def common_indent(lines: list[str]) -> int:
    """How many blanks or tabs all of these lines begin with."""
    if not lines:
        return 0
    first, last = min(lines), max(lines)
    shared = 0
    for one, other in zip(first, last, strict=False):
        if one != other or one not in " \t":
            break
        shared += 1
    return shared


def split_lines(text: str) -> list[str]:
    """Lines as an editor counts them: a form feed or a Unicode separator does not end one."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


def digest_of(text: str) -> str:
    return sha256("\n".join(comparable(text)).encode("utf-8", "surrogatepass")).hexdigest()


def digest_of_bytes(data: bytes) -> str:
    return f"bytes:{sha256(data).hexdigest()}"


def decoded(data: bytes) -> str | None:
    """The text of a file; nothing for a binary one. Bytes that are no UTF-8 do not hide the rest."""
    if b"\0" in data[:8_000]:
        return None
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def cited_text(lines: list[str], first: int, last: int) -> Cited:
    """What the lines `first` to `last` say, with a little of what surrounds them."""
    head = [line.rstrip() for line in lines[first - 1 : last]][:_MOST_LINES]
    before = [line.rstrip() for line in lines[max(first - 1 - _NEAR, 0) : first - 1] if line.strip()][-_CONTEXT:]
    after = [line.rstrip() for line in lines[last : last + _NEAR] if line.strip()][:_CONTEXT]
    while len(before) > 1 and len("\n".join(before)) > _MOST_CONTEXT:
        del before[0]  # what is nearest to the citation stays
    return Cited(
        _cut("\n".join(head), _MOST_CHARACTERS),
        _cut("\n".join(before), _MOST_CONTEXT),
        _cut("\n".join(after), _MOST_CONTEXT),
    )


def _cut(text: str, most: int) -> str:
    """Whole lines up to a size; one line longer than that is cut."""
    if len(text) <= most:
        return text
    return text[:most].rpartition("\n")[0] or text[:most]


def anchor_fields(anchor: Anchor | None) -> dict[str, Any] | None:
    """An anchor as its event records it."""
    return None if anchor is None else anchor._asdict()


def anchor_from(fields: Any) -> Anchor | None:
    """An anchor read back. Ledgers come from strangers: whatever is not one counts as none."""
    if not isinstance(fields, dict):
        return None
    path, digest = fields.get("path"), fields.get("digest")
    if not isinstance(path, str) or not isinstance(digest, str):
        return None
    first, last = _line(fields.get("first")), _line(fields.get("last"))
    if first is None or last is None or last < first:
        first = last = None
    lines = fields.get("lines")
    return Anchor(
        path,
        first,
        last,
        _text(fields.get("name")),
        _object_name(fields.get("blob")),
        _object_name(fields.get("commit")),
        digest,
        lines if type(lines) is int and lines >= 0 else 0,
    )


def cited_fields(cited: Cited | None) -> dict[str, str] | None:
    return None if cited is None else cited._asdict()


def cited_from(fields: Any) -> Cited | None:
    if not isinstance(fields, dict) or not isinstance(fields.get("head"), str):
        return None
    return Cited(*(_text(fields.get(name)) or "" for name in Cited._fields))


def _line(value: Any) -> int | None:
    return value if type(value) is int and 1 <= value < 1 << 31 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _object_name(value: Any) -> str | None:
    """What git calls an object by. Anything else could be an option by the time git is asked about it."""
    return value if isinstance(value, str) and len(value) in (40, 64) and _HEX.issuperset(value) else None
