"""Links between entries, as people write them: `[[target]]`, `[[target|text]]`, `[[target#heading]]`, `![[target]]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple
from unicodedata import normalize

from decapod_py.domain.naming import is_named_for
from decapod_py.foundation.ids import is_ulid


class Link(NamedTuple):
    """One link in a text."""

    target: str  # empty: a heading of the same text
    heading: str | None
    text: str | None
    line: int  # of the text, from 1
    embed: bool = False

    @property
    def written(self) -> str:
        heading = f"#{self.heading}" if self.heading else ""
        return f"[[{self.target}{heading}]]"


class Named(NamedTuple):
    """An entry by everything that a link may call it."""

    id: str
    path: str | None  # of its Markdown, below the knowledge folder; nothing where it has no file
    aliases: tuple[str, ...] = ()
    in_use: bool = True


class Ambiguous(NamedTuple):
    """A target that more than one entry answers to: nobody can say which is meant."""

    ids: tuple[str, ...]


Resolved = str | Ambiguous | None


# A target has neither brackets nor a line end; in a table the bar before the text is written \|. That the pattern
# begins with plain text makes the search through long texts five times as fast.
_LINK = re.compile(r"\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
# In a quote or a list, too; the rest of the line is the name of a language.
_FENCE = re.compile(r"([ \t>]*+)(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+(`{3,}+(?=[^`]*$)|~{3,}+)")
_BACKTICKS = re.compile("``*")  # begins with plain text, too
_BLANK_LINE = re.compile(r"\n[ \t>]*\n")
# What an editor embeds besides notes: no entry was ever meant.
_ATTACHMENT = re.compile(
    r"\.(?:avif|bmp|gif|jpe?g|png|svg|webp|flac|m4a|mp3|ogg|wav|3gp|mkv|mov|mp4|ogv|webm|pdf|canvas|base)$",
    re.IGNORECASE,
)


def parse_links(text: str) -> list[Link]:
    """The links of a text in their order. What stands in code is no link."""
    if "[[" not in text:
        return []
    shown = _without_code(text) if "`" in text or "~~~" in text else text
    links: list[Link] = []
    line, counted = 1, 0
    for match in _LINK.finditer(shown):
        line += shown.count("\n", counted, match.start())
        counted = match.start()
        target, heading, label = map(_trimmed, match.groups())
        before = shown[counted - 1 : counted]
        if before != "\\" and (target or heading):
            links.append(Link(target or "", heading, label, line, embed=before == "!"))
    return links


def names_an_attachment(link: Link) -> bool:
    """Whether a link is to an image, a recording or the like, which is a file and no entry."""
    return _ATTACHMENT.search(link.target) is not None


def advice(candidates: tuple[str, ...]) -> str:
    """What to do about a link that cannot be followed."""
    if candidates:
        return f"link to the whole path or the id of the one that is meant, such as [[{candidates[0]}]]"
    return "mend the target, add the entry, or give an entry this alias; in backticks it is no link"


def _trimmed(part: str | None) -> str | None:
    return (part.strip().removesuffix("\\").rstrip() or None) if part else None


def _without_code(text: str) -> str:
    """The same text with blanks where code stands, so that every line keeps its number."""
    parts: list[str] = []
    prose: list[str] = []
    fence = ""
    quoted = False
    for line in text.split("\n"):
        if fence and quoted and not line.lstrip().startswith(">"):
            fence = ""  # the quote that held it has ended
        if fence:
            prose.append("")
            if _closes(line.strip(" \t>" if quoted else " \t"), fence):
                fence = ""
            continue
        opening = _FENCE.match(line)
        if opening:
            if prose:
                parts.append(_without_spans("\n".join(prose)))
            fence, quoted, prose = opening[2], ">" in opening[1], [""]
        else:
            prose.append(line)
    return "\n".join([*parts, _without_spans("\n".join(prose))])


def _closes(line: str, fence: str) -> bool:
    return len(line) >= len(fence) and not line.strip(fence[0])


def _without_spans(text: str) -> str:
    """Blanks for inline code. A span ends with as many backticks as it began with, and within its paragraph."""
    if "`" not in text:
        return text
    pieces: list[str] = []
    start = 0
    for gap in _BLANK_LINE.finditer(text):
        pieces.append(_paragraph_without_spans(text[start : gap.start()]) + gap[0])
        start = gap.end()
    return "".join([*pieces, _paragraph_without_spans(text[start:])])


def _paragraph_without_spans(text: str) -> str:
    runs = [match.span() for match in _BACKTICKS.finditer(text)]
    closing: dict[int, int] = {}  # a run and the next one that is as long
    latest: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        if length in latest:
            closing[number] = latest[length]
        latest[length] = number
    pieces: list[str] = []
    done = number = 0
    while number < len(runs):
        first = runs[number][0]
        if number in closing and not text.endswith("\\", 0, first):
            last = runs[closing[number]][1]
            pieces += [text[done:first], re.sub(r"[^\n]", " ", text[first:last])]
            done, number = last, closing[number]
        number += 1
    return "".join([*pieces, text[done:]])


class Names:
    """What entries are called, for links to find them by. The order in which entries came makes no difference.

    First match wins: the exact path, a file name, an id, an alias. Where several entries answer to a name those in
    use are meant, and several of these are ambiguous. Only a target that nothing is called is looked for again
    whatever its case.
    """

    def __init__(self, entries: Iterable[Named]) -> None:
        self._entries = list(entries)
        self._in_use = {entry.id for entry in self._entries if entry.in_use}

    def resolve(self, target: str) -> Resolved:
        """The id of the entry that is meant."""
        target = _composed(target.strip())
        found = self._as_written.find(target) or self._in_any_case.find(target.casefold())
        meant = found & self._in_use or found
        if len(meant) > 1:
            return Ambiguous(tuple(sorted(meant)))
        return next(iter(meant), None)

    @cached_property
    def _as_written(self) -> _Table:
        return _Table(self._entries, _composed)

    @cached_property
    def _in_any_case(self) -> _Table:
        return _Table(self._entries, lambda name: _composed(name).casefold())


class _Table:
    """The names of entries in one spelling, rule by rule."""

    def __init__(self, entries: Iterable[Named], spelled: Callable[[str], str]) -> None:
        self._spelled = spelled
        self._files: _Bearers = {}  # the paths as they are, digest and all
        self._paths: _Bearers = {}
        self._names: _Bearers = {}
        self._ids: _Bearers = {}
        self._aliases: _Bearers = {}
        for entry in entries:
            self._add(entry)

    def _add(self, entry: Named) -> None:
        _bears(self._ids, self._spelled(entry.id), entry.id)
        for alias in entry.aliases:
            _bears(self._aliases, self._spelled(alias.strip()), entry.id)
        if entry.path is None:
            return
        file = self._spelled(_without_ending(entry.path))
        path = self._spelled(_without_digest(entry.path, entry.id))
        _bears(self._files, file, entry.id)
        _bears(self._paths, path, entry.id)
        _bears(self._names, path.rpartition("/")[2], entry.id)
        if file != path:
            _bears(self._names, file.rpartition("/")[2], entry.id)

    def find(self, target: str) -> frozenset[str]:
        file = _without_ending(target)
        rules = (self._files, file), (self._paths, file), (self._names, file), (self._ids, target)
        for bearers, name in (*rules, (self._aliases, target)):
            if name in bearers:
                return bearers[name]
        return frozenset()


def keys_of(entry: Named) -> set[str]:
    """What an entry is noted under, so that `keys_to_look_under` finds all that a target may mean without the rest.

    Whatever looks like a digest is left out, and a ULID, which is nothing else's name: that saves a note for each.
    """
    keys = {_key(alias) for alias in entry.aliases}
    if not is_ulid(entry.id):
        keys.add(_key(entry.id))
    if entry.path is not None:
        keys.add(_DIGEST.sub("", _key(_without_ending(entry.path))))
    return keys


def keys_to_look_under(target: str) -> set[str]:
    """What every entry is noted under that a target may mean, but for one with this id."""
    keys = {_key(target), _key(_without_ending(target.strip()))}
    return keys | {_DIGEST.sub("", key) for key in keys}


def keys_mentioned(targets: Iterable[str]) -> set[str]:
    """What a text is noted under that links to these targets."""
    return {key for target in targets for key in (_key(target), _key(_without_ending(target.strip())))}


def keys_that_mention(entry: Named) -> set[str]:
    """What every text is noted under that may mean this entry."""
    names = [entry.id, *entry.aliases]
    if entry.path is not None:
        names += [_without_ending(entry.path), _without_digest(entry.path, entry.id)]
    return {_key(name) for name in names}


_DIGEST = re.compile(r"-[0-9a-f]{6,64}$")


def _key(name: str) -> str:
    """The last part of a name, whatever its case: a link may leave the folders out."""
    return _composed(name.strip()).casefold().rpartition("/")[2]


_Bearers = dict[str, frozenset[str]]  # a name, and the ids of the entries that bear it


def _bears(bearers: _Bearers, name: str, entry_id: str) -> None:
    bearers[name] = bearers.get(name, frozenset()) | {entry_id}


def _without_ending(path: str) -> str:
    return path[:-3] if path[-3:].lower() == ".md" else path


def _without_digest(path: str, entry_id: str) -> str:
    """The path that a reader sees: the digest that ends a file name of ours only keeps files apart."""
    folder, slash, name = path.rpartition("/")
    if is_named_for(name, entry_id):
        name = name.rpartition("-")[0]
    return _without_ending(folder + slash + name)


def _composed(text: str) -> str:
    """One spelling for names that are compared: some systems write an accent as a character of its own."""
    return text if text.isascii() else normalize("NFC", text)
