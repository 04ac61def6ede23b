"""What was here once: asked of git's history in one walk for all that is missing, never once a name.

The walk keeps only what somebody misses, so that a long history costs time and no memory. Names and contents are
separate walks: names need no file to be read.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from decapod_py.domain.named import is_telling
from decapod_py.foundation.progress import Progress
from decapod_py.storage import git

# Whatever the settings of the machine, the answers have one form.
_SETTINGS = (
    "core.quotePath=false",
    "log.showSignature=false",
    "log.follow=false",
    "i18n.logOutputEncoding=UTF-8",
    "diff.interHunkContext=0",
    "diff.relative=false",
)
_QUIET = tuple(part for setting in _SETTINGS for part in ("-c", setting))
_LOG = (*_QUIET, "log", "--no-renames", "--no-notes", "--no-color", "--no-ext-diff", "--no-textconv")
_HEADER = "--format=%x01%H%x1f%cs%x1f%s"
_MARK = b"\x01\x02decapod\x03"  # between commits, where contents are shown: no text holds it
_RENAME_LIMIT = "-l2000"  # files compared with each other; git gives up quietly beyond it
_COMMITS_AT_ONCE = 500  # on one command line
_LONGEST_RENAME_CHAIN = 5
_MOST_ENDINGS = 3  # places of one file name in the past; more than one is ambiguous already
_EVERY = 500  # commits between two words about progress
_NO_WORD = bytes(code if chr(code).isalnum() or code == ord("_") or code > 127 else ord(" ") for code in range(256))
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Removal(NamedTuple):
    """The commit since which something is gone."""

    commit: str
    date: str
    subject: str


class Gone(NamedTuple):
    """A path that was here."""

    path: str
    since: Removal | None  # none while the change is not committed
    now: str | None = None  # its new name, where git sees that it was renamed


class Hunk(NamedTuple):
    """Lines that one change took out of a file, and what it put in their place."""

    since: Removal | None
    path: str
    blob: str  # the file before
    removed: list[str]
    added: list[str]


class Wanted:
    """The paths that documents name and that are not here."""

    def __init__(self) -> None:
        self.exact: set[str] = set()
        self.endings: set[str] = set()  # for a path that is written from some folder in between
        self._names: set[str] = set()

    def add(self, places: Iterable[str], names: Iterable[str]) -> None:
        self.exact.update(places)
        self.endings.update(name for name in names if is_telling(name))

    def close(self) -> None:
        self._names = {posixpath.basename(path) for path in self.exact | self.endings}

    def matches(self, path: str) -> Iterator[tuple[str, str]]:
        """What a removed file answers: its own path or a folder above it, or an ending. Each as (wanted, found)."""
        above = path
        while above:
            folder, _, name = above.rpartition("/")
            if name in self._names and above in self.exact:
                yield above, above
            above = folder
        if path.rpartition("/")[2] in self._names:
            parts = path.split("/")
            for begin in range(1, len(parts)):
                ending = "/".join(parts[begin:])
                if ending in self.endings:
                    yield f"*/{ending}", path


class Bygone:
    """The removed paths that somebody wanted."""

    def __init__(self) -> None:
        self.cut = ""  # why history was not read to its end
        self._gone: dict[str, Gone] = {}
        self._endings: dict[str, set[str]] = {}

    def note(self, wanted: str, path: str, since: Removal | None) -> None:
        """History is walked from the newest commit on: the first removal is the last that happened."""
        self._gone.setdefault(path, Gone(path, since))
        if wanted.startswith("*/"):
            found = self._endings.setdefault(wanted[2:], set())
            if len(found) < _MOST_ENDINGS:
                found.add(path)

    def at(self, path: str) -> Gone | None:
        return self._gone.get(path)

    def ending(self, name: str) -> Gone | None:
        """The one removed file whose path ended so; nothing where there were several."""
        found = self._endings.get(name, set())
        return self._gone[next(iter(found))] if len(found) == 1 else None

    def removals(self) -> set[str]:
        return {gone.since.commit for gone in self._gone.values() if gone.since}

    def new_names(self) -> set[str]:
        return {gone.now for gone in self._gone.values() if gone.now}

    def follow(self, renames: dict[str, dict[str, str]]) -> None:
        """Names each path anew, by the renames of the commit that took it away."""
        for path, gone in self._gone.items():
            by = renames.get(gone.since.commit if gone.since else "", {})
            self._gone[path] = gone._replace(now=_new_name(path, by))

    def rename(self, names: dict[str, str | None]) -> None:
        for path, gone in self._gone.items():
            if gone.now:
                self._gone[path] = gone._replace(now=names[gone.now])


def removed_paths(root: str, wanted: Wanted, present: set[str], progress: Progress, seconds: float) -> Bygone:
    """When the wanted paths went, and what they are called now."""
    bygone = _walk(root, wanted, progress, seconds)
    bygone.rename(_chased(root, bygone.new_names(), present, seconds))
    return bygone


def _walk(root: str, wanted: Wanted, progress: Progress, seconds: float) -> Bygone:
    wanted.close()
    bygone, renames = Bygone(), {"": dict[str, str]()}
    if not wanted.exact and not wanted.endings:
        return bygone
    for path, new in _uncommitted(root):
        renames[""] |= {path: new} if new else {}
        for want, found in wanted.matches(path):
            bygone.note(want, found, None)
    try:
        for since, path in _removals(root, progress, seconds):
            for want, found in wanted.matches(path):
                bygone.note(want, found, since)
    except git.GitFailed as problem:
        bygone.cut = problem.message or "it took too long"
    bygone.follow(renames | _renames_by(root, bygone.removals()))
    return bygone


def _chased(root: str, names: set[str], present: set[str], seconds: float) -> dict[str, str | None]:
    """What became of the new names themselves: a file may be renamed again, and deleted in the end."""
    last: dict[str, str | None] = {name: name for name in names}
    for _ in range(_LONGEST_RENAME_CHAIN):
        missing = {name for name in last.values() if name and name not in present}
        if not missing:
            break
        wanted = Wanted()
        wanted.add(missing, ())
        walked = _walk(root, wanted, lambda *_: None, seconds)
        further = {name: gone.now if (gone := walked.at(name)) else None for name in missing}
        last = {name: further.get(now, now) if now else None for name, now in last.items()}
    return {name: now if now in present else None for name, now in last.items()}


def _uncommitted(root: str) -> Iterator[tuple[str, str | None]]:
    """Paths that HEAD has and the working tree has not, with their new name where that is staged."""
    try:
        answer = git.ask(
            root, *_QUIET, "diff", "--no-ext-diff", "--name-status", "-z", "-M", "--diff-filter=DR", "HEAD"
        )
    except git.GitFailed:  # there is no commit yet
        return
    fields = iter(answer.split("\0"))
    for status in fields:
        if status.startswith("R"):
            yield _composed(next(fields)), _composed(next(fields))
        elif status:
            yield _composed(next(fields)), None


def _removals(root: str, progress: Progress, seconds: float) -> Iterator[tuple[Removal, str]]:
    """Every path that a commit of this history took away, newest first."""
    arguments = ("--diff-filter=D", "--name-status", "-z", _HEADER)
    pieces = map(_text, git.stream(root, *_LOG, *arguments, seconds=seconds))
    since, commits = Removal("", "", ""), 0
    for piece in pieces:
        if piece.startswith("\x01"):
            since, commits = _removal(piece), commits + 1
            if commits % _EVERY == 0:
                progress("reading the history of paths", commits, None)
        elif piece.strip("\n"):
            yield since, _composed(next(pieces))


def _removal(header: str) -> Removal:
    commit, date, subject = header.removeprefix("\x01").split("\x1f", 2)
    return Removal(commit, date, subject)


def _renames_by(root: str, commits: set[str]) -> dict[str, dict[str, str]]:
    """Old and new names in these commits. Similar files are looked for here only, and not in all of history."""
    found: dict[str, dict[str, str]] = {}
    ordered = sorted(commits)
    for begin in range(0, len(ordered), _COMMITS_AT_ONCE):
        some = ordered[begin : begin + _COMMITS_AT_ONCE]
        try:
            found |= _renamed(root, some, "-M")
        except git.GitFailed:  # a clone without its blobs knows only files that stayed as they were
            found |= _renamed(root, some, "-M100%")
    return found


def _renamed(root: str, commits: list[str], similar: str) -> dict[str, dict[str, str]]:
    arguments = ("--no-walk=unsorted", similar, _RENAME_LIMIT, "--name-status", "--diff-filter=R", "-z", _HEADER)
    renames: dict[str, dict[str, str]] = {}
    by: dict[str, str] = {}
    pieces = map(_text, git.stream(root, *_LOG, *arguments, *commits))
    for piece in pieces:
        if piece.startswith("\x01"):
            by = renames.setdefault(_removal(piece).commit, {})
        elif piece.strip("\n"):
            old, new = next(pieces), next(pieces)
            by[_composed(old)] = _composed(new)
    return renames


def _new_name(path: str, renames: dict[str, str]) -> str | None:
    """The new name of a file, or of a folder most of whose files went the same way."""
    if path in renames:
        return renames[path]
    inside = f"{path}/"
    moved = Counter(
        new[: -len(rest)].rstrip("/")
        for old, new in renames.items()
        if old.startswith(inside) and new.endswith(f"/{(rest := old[len(inside) :])}")
    )
    if not moved:
        return None
    folder, times = moved.most_common(1)[0]
    return folder if folder and times * 2 > moved.total() else None


def changed_hunks(
    root: str, paths: Iterable[str], seconds: float, words: Collection[str] | None = None
) -> Iterator[Hunk]:
    """The changes that took lines away, newest first; with `words`, only of commits that name any of them.

    What is not committed comes before all. Git can look for words itself, but takes six times as long for three
    hundred of them.
    """
    shown = ("-p", "-U0", "--full-index", "--diff-filter=MD", "--no-prefix")
    plain = ("--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
    for change in git.stream(root, *_QUIET, "diff", *plain, *shown, "HEAD", "--", *paths, end=_MARK, seconds=seconds):
        yield from _hunks(iter(_text(change).split("\n")), None)
    header = f"--format={_MARK.decode()}%H%x1f%cs%x1f%s"
    wanted = None if words is None else {word.encode() for word in words}
    for commit in git.stream(root, *_LOG, *shown, header, "--", *paths, end=_MARK, seconds=seconds):
        if commit and (wanted is None or not wanted.isdisjoint(words_in(commit))):
            lines = iter(_text(commit).split("\n"))
            yield from _hunks(lines, _removal(next(lines)))


def _hunks(lines: Iterator[str], since: Removal | None) -> Iterator[Hunk]:
    path = blob = ""
    for line in lines:
        if line.startswith("index "):
            blob = line[6:].partition("..")[0]
        elif line.startswith("--- "):
            path = line[4:].rstrip("\t")
        elif found := _HUNK.match(line):
            removed = _take(lines, int(found[1] or 1))
            added = _take(lines, int(found[3] or 1))
            if removed:
                yield Hunk(since, path, blob, removed, added)


def _take(lines: Iterator[str], count: int) -> list[str]:
    """So many lines of a hunk; a remark such as `\\ No newline at end of file` is none of them."""
    taken: list[str] = []
    while len(taken) < count:
        line = next(lines)
        if not line.startswith("\\"):
            taken.append(line[1:])
    return taken


def written_since(root: str, base: str) -> Iterator[tuple[str, range]]:
    """The lines of each file that are new between a commit and the working tree."""
    plain = ("-M", "--no-color", "--no-ext-diff", "--no-textconv", "-U0", "--no-prefix")
    lines = map(_text, git.stream(root, *_QUIET, "diff", *plain, base, end=b"\n"))
    path = ""
    for line in lines:
        if line.startswith("+++ "):
            path = _composed(line[4:].rstrip("\t"))
        elif found := _HUNK.match(line):
            added = int(found[3] or 1)
            _take(lines, int(found[1] or 1) + added)  # a line that looks like a header is none inside a hunk
            yield path, range(int(found[2]), int(found[2]) + added)


def earlier_blobs(root: str, paths: list[str], seconds: float) -> Iterator[tuple[Removal, str, str]]:
    """What each of these files held before each change, newest first: commit, path and blob."""
    arguments = (
        "--raw",
        "-z",
        "--no-abbrev",
        "--diff-filter=MD",
        _HEADER,
        "--",
        *(f":(top,literal){path}" for path in paths),
    )
    pieces = map(_text, git.stream(root, *_LOG, *arguments, seconds=seconds))
    since = Removal("", "", "")
    for piece in pieces:
        if piece.startswith("\x01"):
            since = _removal(piece)
        elif piece.strip("\n"):
            yield since, _composed(next(pieces)), piece.split(" ")[2]


def words_in(data: bytes) -> list[bytes]:
    """The words of any text, fast: letters, digits and underscores, and whatever is not ASCII."""
    return data.translate(_NO_WORD).split()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _composed(path: str) -> str:
    return path if path.isascii() else unicodedata.normalize("NFC", path)
