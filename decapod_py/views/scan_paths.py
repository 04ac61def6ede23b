"""Paths that documents name: whether they lead somewhere, and if not, whether they once did."""

from __future__ import annotations

import posixpath
import unicodedata

from decapod_py.domain.anchors import decoded, split_lines
from decapod_py.domain.documents import is_sample, is_vendored, may_be_the_readers
from decapod_py.domain.named import Mention
from decapod_py.storage import git
from decapod_py.storage.trees import Objects
from decapod_py.views.bygone import Bygone, Gone, Wanted, earlier_blobs
from decapod_py.views.scan_report import SECONDS_FOR_CONTENTS, TAKE_IT_OUT, Named, Report

_MOST_BLOBS = 2_000  # earlier contents of files read to count their lines


def places_of(one: Named) -> list[tuple[str, str]]:
    """Where a path may be meant, nearest first: from the document's folder, from each above it, from the top."""
    folders = [""]
    for part in posixpath.dirname(one.document).split("/"):
        folders.insert(0, posixpath.join(folders[0], part))
    found = []
    for name in one.mention.names:
        for folder in [""] if name.startswith("/") else folders:
            place = posixpath.normpath(posixpath.join(folder, _composed(name).lstrip("/")))
            if not place.startswith("..") and place != ".":
                found.append((folder, place))
    return list(dict.fromkeys(found))


def missing_paths(report: Report, named: list[Named]) -> list[Named]:
    """Those that lead nowhere; the others are good, or end inside a submodule, where nobody here can say."""
    missing = []
    for one in named:
        places = [place for _, place in places_of(one)]
        if report.present.is_in_module(places):
            continue
        found = report.present.resolve(places, one.mention.names)
        if found is None:
            missing.append(one)
        elif not _is_beyond(report, one.mention, found):
            report.accept(one, found)
    return _without_foreign_trees(named, missing)


def _without_foreign_trees(named: list[Named], missing: list[Named]) -> list[Named]:
    """A drawn tree of which most is not here is a picture of another project."""
    total, absent = dict[tuple[str, int], int](), dict[tuple[str, int], int]()
    for ones, count in ((named, total), (missing, absent)):
        for one in ones:
            if one.mention.tree:
                key = (one.document, one.mention.tree)
                count[key] = count.get(key, 0) + 1
    foreign = {key for key, number in absent.items() if number * 2 > total[key]}
    return [one for one in missing if (one.document, one.mention.tree) not in foreign]


def want_paths(wanted: Wanted, missing: list[Named]) -> None:
    for one in missing:
        names = [_composed(name) for name in one.mention.names if not name.startswith((".", "/"))]
        wanted.add((place for _, place in places_of(one)), names)


def judge_paths(report: Report, missing: list[Named], bygone: Bygone) -> None:
    """Reports what once was there, unless git ignores it now: that is made on each machine."""
    lost = [(one, *found) for one in missing if (found := _lost(one, bygone))]
    ignored = _ignored(report.root, {gone.path for _, _, gone in lost})
    for one, folder, gone in lost:
        if gone.path not in ignored:
            report_path(report, one, folder, gone)


def report_path(report: Report, one: Named, folder: str, gone: Gone) -> None:
    """Says what became of a path, and what the document should write instead."""
    other = report.present.same_name(gone.path)
    if gone.now:
        message, fix = f"{gone.path} was renamed to {gone.now}", f"write {_written(one, folder, gone.now)}"
    elif other:
        message, fix = f"{gone.path} was deleted", f"if {other} took its place, write {_written(one, folder, other)}"
    else:
        message, fix = f"{gone.path} was deleted", TAKE_IT_OUT
    report.broken(one, message, gone.since, gone.now, fix)


def _lost(one: Named, bygone: Bygone) -> tuple[str, Gone] | None:
    """The folder a mention is seen from, and the removed path that it means."""
    if any(may_be_the_readers(name, one.document) for name in one.mention.names):
        return None
    for folder, place in places_of(one):
        gone = bygone.at(place)
        if gone:
            return folder, gone
    for name in map(_composed, one.mention.names):
        gone = bygone.ending(name)
        # A file of the same name that stood for somebody else's says nothing.
        if gone and not is_sample(gone.path) and not is_vendored(gone.path):
            return gone.path[: -len(name)].rstrip("/"), gone
    return None


def _written(one: Named, folder: str, path: str) -> str:
    """A path as the document would write it: a link from its own folder, a name from where the old one counted."""
    if one.mention.link:
        return posixpath.relpath(path, posixpath.dirname(one.document) or ".")
    seen = path.removeprefix(f"{folder}/") if folder else path
    if one.mention.kind == "symbol" or " -m " in one.mention.text:
        return seen.removesuffix(".py").removesuffix("/__main__").removesuffix("/__init__").replace("/", ".")
    return seen


def _ignored(root: str, paths: set[str]) -> set[str]:
    if not paths:
        return set()
    asked = "".join(f"{path}\0{path}/\0" for path in sorted(paths))
    try:
        answer = git.ask(root, "check-ignore", "-z", "--stdin", accept=(0, 1), stdin=asked)
    except git.GitFailed:
        return set()
    return {path.rstrip("/") for path in answer.split("\0")}


def judge_lines(report: Report, named: list[Named]) -> None:
    """Reports lines beyond the end of their file, where the file once was so long."""
    beyond: dict[str, list[Named]] = {}
    for one in named:
        path = report.present.resolve([place for _, place in places_of(one)], one.mention.names)
        if path and _is_beyond(report, one.mention, path):
            beyond.setdefault(path, []).append(one)
    if not beyond:
        return
    objects = Objects(report.root)
    try:
        blobs = earlier_blobs(report.root, sorted(beyond), SECONDS_FOR_CONTENTS)
        for (since, path, blob), _ in zip(blobs, range(_MOST_BLOBS), strict=False):
            then, now = _count_lines(objects.read(blob)), report.present.line_count(path)
            for one in [one for one in beyond.get(path, []) if (one.mention.at or 0) <= then]:
                beyond[path].remove(one)
                message = f"{path} has {now} lines now; it had {then}"
                report.broken(one, message, since, None, "name the lines that are meant")
    except git.GitFailed as problem:
        report.note_cut("lines", problem)
    finally:
        objects.close()


def _is_beyond(report: Report, mention: Mention, path: str) -> bool:
    count = None if mention.at is None else report.present.line_count(path)
    return mention.at is not None and count is not None and mention.at > count


def _count_lines(data: bytes | None) -> int:
    text = None if data is None else decoded(data)
    return 0 if text is None else len(split_lines(text))


def _composed(name: str) -> str:
    return name if name.isascii() else unicodedata.normalize("NFC", name)
