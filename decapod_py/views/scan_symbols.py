"""Symbols that documents name: whether any file still has the word, and if not, whether one once defined it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from decapod_py.domain.definitions import definition_of, renamed_in
from decapod_py.domain.documents import is_sample, is_vendored
from decapod_py.domain.named import Mention, is_distinctive
from decapod_py.storage import git
from decapod_py.views.bygone import Bygone, Hunk, Removal, Wanted, changed_hunks
from decapod_py.views.scan_paths import report_path
from decapod_py.views.scan_report import SECONDS_FOR_CONTENTS, Named, Report

_LONGEST_LINE = 500  # of code that is looked at for a definition
_WORD = re.compile(r"\w+", re.ASCII)
_NO_CODE = (
    "*.md",
    "*.mdx",
    "*.rst",
    "*.markdown",
    "*.adoc",
    "*.txt",
    "*.svg",
    "*.csv",
    "*.min.js",
    "*.lock",
    "*lock.json",
    ".decapod/*",
    "*/.decapod/*",
)
_CODE = (":(top)", *(f":(top,exclude){pattern}" for pattern in (*_NO_CODE, "*lock.yaml")))


class Definition(NamedTuple):
    """Where a symbol was defined, and the commit that took the definition away."""

    path: str
    since: Removal | None
    now: str | None


def unknown_symbols(report: Report, named: list[Named]) -> list[Named]:
    """Those with a part that stands in no file now; the others are good."""
    wanted = {word for one in named for word in telling_parts(one.mention)}
    if not wanted:
        return []
    found = report.present.words(wanted)
    if found is None:
        report.notes.append("the repository is too large to look for symbols; they were not judged")
        return []
    unknown = []
    for one in named:
        if found.issuperset(telling_parts(one.mention)):
            report.accept(one)
        else:
            unknown.append(one)
    return unknown


def want_modules(wanted: Wanted, unknown: list[Named]) -> None:
    for one in unknown:
        wanted.add((), modules_of(one.mention))


def judge_symbols(report: Report, unknown: list[Named], bygone: Bygone) -> None:
    """Reports symbols whose module is gone, or whose definition is."""
    rest = []
    for one in unknown:
        found = ((name, gone) for name in modules_of(one.mention) if (gone := bygone.ending(name)))
        name, gone = next(found, ("", None))
        if gone and not is_sample(gone.path) and not is_vendored(gone.path):
            report_path(report, one, gone.path.removesuffix(name).rstrip("/"), gone)
        else:
            rest.append(one)
    words = {word for one in rest for word in telling_parts(one.mention)}
    defined = _removed_definitions(report, words - (report.present.words(words) or set()))
    known = report.present.words({found.now for found in defined.values() if found.now}) or set()
    for one in rest:
        word = next((word for word in telling_parts(one.mention) if word in defined), "")
        if word:
            path, since, now = defined[word]
            message = f"{word} in {path} was renamed to {now}"
            if now not in known:
                message, now = f"{word} is defined nowhere any more; it was in {path}", None
            report.broken(one, message, since, now)


def _removed_definitions(report: Report, words: set[str]) -> dict[str, Definition]:
    found: dict[str, Definition] = {}
    if not words:
        return found
    try:
        for hunk in changed_hunks(report.root, _CODE, SECONDS_FOR_CONTENTS, words):
            if is_sample(hunk.path) or is_vendored(hunk.path):
                continue
            for line, word in _defined(hunk, words):
                found.setdefault(word, Definition(hunk.path, hunk.since, renamed_in(line, word, hunk.added)))
            if len(found) == len(words):
                break
    except git.GitFailed as problem:
        report.note_cut("symbols", problem)
    return found


def _defined(hunk: Hunk, words: set[str]) -> Iterator[tuple[str, str]]:
    """The lines of a change that took away a definition, each with the symbol it defined."""
    for line in hunk.removed:
        for word in words.intersection(_WORD.findall(line[:_LONGEST_LINE])):
            if definition_of(word).search(line[:_LONGEST_LINE]):
                yield line, word


def telling_parts(mention: Mention) -> list[str]:
    """The parts of a symbol by which it can be known: its own name, and the classes it is in."""
    *owners, own = mention.names
    return [*(owner for owner in owners if is_distinctive(owner) or owner[:1].isupper()), own]


def modules_of(mention: Mention) -> list[str]:
    """The files of a dotted Python name: of a module, or of the module that a function is in."""
    *owners, own = mention.names
    if not owners or "::" in mention.text or not all(owner.islower() for owner in owners):
        return []
    folder = "/".join(owners)
    return [f"{folder}/{own}.py", f"{folder}.py"] if "/" in folder else [f"{folder}/{own}.py"]
