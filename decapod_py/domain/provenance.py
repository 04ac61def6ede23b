"""Provenance: where an entry comes from, in a form that can be checked."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from decapod_py.domain.patterns import matches
from decapod_py.domain.policy import SCHEMES
from decapod_py.domain.text import has_control_characters
from decapod_py.foundation.errors import DecapodError, Misused

_LONGEST = 2_000
_FORMS = "file:PATH, file:PATH#L3-L9, file:PATH.py#NAME, url:ADDRESS, cmd:COMMAND, commit:HASH, event:ID or person:NAME"
_NAMES = {  # the kinds of file that have names, and what such a name looks like
    (".py", ".pyi"): r"[^\W\d]\w*(\.[^\W\d]\w*)*",
    (".md", ".markdown"): r"\S(.*\S)?",
}


class FileCitation(NamedTuple):
    """A `file:` provenance, taken apart: a whole file, some lines of it, or a symbol or heading in it."""

    path: str
    first: int | None = None
    last: int | None = None
    name: str | None = None

    def __str__(self) -> str:
        if self.name is not None:
            return f"file:{self.path}#{self.name}"
        if self.first is None:
            return f"file:{self.path}"
        return f"file:{self.path}#L{self.first}" + (f"-L{self.last}" if self.last != self.first else "")


def check_provenance(text: str, schemes: dict[str, str]) -> str:
    """The provenance as it is stored. Refuses what has no form; whether it exists is another question."""
    text = text.strip(" ")
    if has_control_characters(text):
        raise _wrong(text, "it holds a line break or a control character")
    if len(text) > _LONGEST:
        raise _wrong(text[:40] + "…", f"it is longer than {_LONGEST} characters")
    scheme, colon, rest = text.partition(":")
    scheme = scheme.lower()
    if not colon or scheme not in schemes:
        raise _wrong(text, f"its scheme is none of {', '.join(schemes)}", f"begin with one of {': '.join(schemes)}:")
    if scheme == "commit":
        rest = rest.lower()
    if not _fits(scheme, schemes[scheme], rest):
        raise _wrong(text, f"what follows {scheme}: does not match {schemes[scheme]}")
    return str(parse_file_citation(rest)) if scheme == "file" else f"{scheme}:{rest}"


def _fits(scheme: str, pattern: str, rest: str) -> bool:
    if pattern == SCHEMES.get(scheme):  # our own take no time, and loading what can limit it does
        return re.fullmatch(pattern, rest) is not None
    return matches(pattern, rest, f"the provenance scheme {scheme!r}", f"[provenance.schemes] {scheme}")


def parse_file_citation(text: str) -> FileCitation:
    """`PATH`, `PATH#L3-L9` or `PATH#NAME`: a path inside the repository, a range that runs forwards."""
    path, _, fragment = text.partition("#")
    lines = re.fullmatch(r"L(\d{1,9})(?:-L(\d{1,9}))?", fragment, re.ASCII) if fragment else None
    named = bool(fragment) and not lines and _may_be_named(path, fragment)
    if fragment and not lines and not named:
        raise _wrong(
            f"file:{text}",
            "what follows # is no range of lines such as L3-L9, and no Python symbol or Markdown heading",
        )
    path = check_path(path)
    if not lines:
        return FileCitation(path, name=fragment or None)
    first = int(lines[1])
    last = int(lines[2] or first)
    if first < 1:
        raise _wrong(f"file:{text}", "lines are counted from 1")
    if last < first:
        raise _wrong(f"file:{text}", f"the range runs backwards, from line {first} to {last}")
    return FileCitation(path, first, last)


def _may_be_named(path: str, fragment: str) -> bool:
    if re.match(r"L\d", fragment):
        return False  # lines that were written wrong
    return any(path.lower().endswith(kinds) and re.fullmatch(form, fragment) for kinds, form in _NAMES.items())


def check_path(path: str) -> str:
    """A path below the repository's top, in one spelling."""
    tidy = posixpath.normpath(path)
    if not path.strip() or path != path.strip() or tidy != tidy.strip():
        raise _wrong(f"file:{path}", "the path is empty or begins or ends with a blank")
    if tidy.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", tidy) or "\\" in path:
        raise _wrong(f"file:{path}", "the path must be relative to the repository's top, with forward slashes")
    if ".." in path.split("/"):
        raise _wrong(f"file:{path}", "the path leaves the repository")
    if tidy == ".":
        raise _wrong(f"file:{path}", "the path names no file")
    return tidy


def short_form(text: str) -> tuple[str, str]:
    """`src/a.py:3-9` as a path and a fragment, `src/a.py` and `#L3-L9`."""
    if "#" in text:
        path, _, fragment = text.partition("#")
        return path, f"#{fragment}"
    match = re.fullmatch(r"(.+?):(\d+)(?:-(\d+))?", text, re.ASCII | re.DOTALL)
    if not match:
        return text, ""
    return match[1], f"#L{match[2]}" + (f"-L{match[3]}" if match[3] else "")


def _wrong(text: str, why: str, hint: str = f"write {_FORMS}") -> DecapodError:
    from decapod_py.domain.text import visible

    return Misused("bad-provenance", f"{visible(text)!r} is no provenance: {why}", hint)
