"""What documents say about their repository, held against what it has now and what it once had.

A mention is *good* when it leads somewhere, *broken* when it leads nowhere but once did in this history, and neither
when it never did: then it may be an example, a file of the reader's or another project's.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from decapod_py.domain.anchors import decoded, split_lines
from decapod_py.domain.definitions import (
    MAKEFILES,
    definition_of,
    is_common_target,
    make_targets,
    npm_scripts,
    renamed_in,
)
from decapod_py.domain.documents import is_sample, is_vendored, is_withdrawn
from decapod_py.domain.mentions import mentions_in
from decapod_py.domain.named import Mention, is_distinctive
from decapod_py.foundation.progress import Progress
from decapod_py.storage import git
from decapod_py.storage.trees import Objects
from decapod_py.views.bygone import Bygone, Gone, Hunk, Removal, Wanted, changed_hunks, earlier_blobs, removed_paths
from decapod_py.views.present import Present

_SECONDS_FOR_PATHS, _SECONDS_FOR_CONTENTS = 300.0, 30.0
_MOST_SYMBOLS = 300  # looked for in the contents of history
_MOST_BLOBS = 2_000  # earlier contents of files read to count their lines
_LARGEST_DOCUMENT = 20_000_000  # bytes
_NO_PROSE = (
    ":(top)",
    *(f":(top,exclude)*{ending}" for ending in (".md", ".mdx", ".rst", ".markdown", ".adoc", ".svg")),
)
_LONGEST_LINE = 500  # of code that is looked at for a definition
_ADDED = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_OUT = "name what took its place, or take it out"


class Named(NamedTuple):
    """A mention, and the document it stands in."""

    document: str
    mention: Mention


class Reference(NamedTuple):
    """A mention that is good, and the path it leads to if it is one."""

    document: str
    mention: Mention
    path: str | None


class Finding(NamedTuple):
    """A mention of something that is gone."""

    document: str
    mention: Mention
    message: str
    since: Removal | None  # none while the change that took it away is not committed
    now: str | None
    fix: str


class Scan(NamedTuple):
    documents: int
    checked: int
    good: list[Reference]
    findings: list[Finding]
    notes: list[str]  # what could not be judged, and why


def scan(repository: git.Repository, progress: Progress) -> Scan:
    """Reads every document of the working tree and judges what it mentions."""
    return _Scanner(repository, progress).scan()


class _Scanner:
    def __init__(self, repository: git.Repository, progress: Progress) -> None:
        self.root = repository.worktree
        self.progress = progress
        self.present = Present(repository, progress)
        self.has_history = git.head_commit(repository) is not None
        self.good: list[Reference] = []
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        if git.is_shallow(repository):
            self.notes.append("the clone is shallow: what went before its first commit is not found (fetch-depth: 0)")

    def scan(self) -> Scan:
        documents = self.present.documents()
        named = [*self._mentions(documents)]
        paths = [one for one in named if one.mention.kind in ("path", "line", "command") and not self._leads(one)]
        symbols = [one for one in named if one.mention.kind == "symbol"]
        unknown = self._unknown_words(symbols)
        symbols = [one for one in symbols if not self._is_known(one, unknown)]
        if self.has_history:
            bygone = self._bygone(paths, symbols)
            self._judge_paths(paths, bygone)
            self._judge_symbols(symbols, unknown, bygone)
            self._judge_lines([one for one in named if one.mention.kind == "line"])
        self._judge_targets([one for one in named if one.mention.kind == "make-target"])
        self._judge_scripts([one for one in named if one.mention.kind == "npm-script"])
        self.findings.sort(key=lambda finding: (finding.document, finding.mention.line, finding.mention.text))
        return Scan(len(documents), len(named), self.good, self.findings, self.notes)

    def _mentions(self, documents: list[str]) -> Iterator[Named]:
        for number, path in enumerate(documents):
            self.progress("reading documents", number, len(documents))
            text = self.present.text(path)
            if text is None or is_withdrawn(path, text):
                continue
            if len(text) > _LARGEST_DOCUMENT:
                self.notes.append(f"{path} is too large to be read")
                continue
            yield from (Named(path, mention) for mention in mentions_in(text, rst=path.lower().endswith(".rst")))

    def _accept(self, one: Named, path: str | None = None) -> None:
        self.good.append(Reference(one.document, one.mention, path))

    def _report(self, one: Named, message: str, since: Removal | None, now: str | None, fix: str) -> None:
        self.findings.append(Finding(one.document, one.mention, message, since, now, fix))

    # Paths

    def _leads(self, one: Named) -> bool:
        """Whether a path leads somewhere, or into a submodule, where nobody here can say."""
        places = [place for _, place in places_of(one)]
        if self.present.is_in_module(places):
            return True
        found = self.present.resolve(places, one.mention.names)
        if found and not self._is_beyond(one.mention, found):
            self._accept(one, found)
        return found is not None

    def _is_beyond(self, mention: Mention, path: str) -> bool:
        if mention.at is None:
            return False
        count = self.present.line_count(path)
        return count is not None and mention.at > count

    def _bygone(self, paths: list[Named], symbols: list[Named]) -> Bygone:
        wanted = Wanted()
        for one in paths:
            names = [name for name in one.mention.names if not name.startswith((".", "/"))]
            wanted.add((place for _, place in places_of(one)), names)
        for one in symbols:
            wanted.add((), modules_of(one.mention))
        bygone = removed_paths(
            self.root, wanted, self.present.files | self.present.folders, self.progress, _SECONDS_FOR_PATHS
        )
        if bygone.cut:
            self.notes.append(f"the history of paths was not read to its end: {bygone.cut}")
        return bygone

    def _judge_paths(self, missing: list[Named], bygone: Bygone) -> None:
        lost = [(one, *found) for one in missing if (found := _lost(one, bygone))]
        ignored = _ignored(self.root, {gone.path for _, _, gone in lost})
        for one, folder, gone in lost:
            if gone.path not in ignored:
                self._report_path(one, folder, gone)

    def _report_path(self, one: Named, folder: str, gone: Gone) -> None:
        other = None if gone.now else self.present.same_name(gone.path)
        if gone.now:
            message, fix = f"{gone.path} was renamed to {gone.now}", f"write {_written(one, folder, gone.now)}"
        elif other:
            message, fix = (
                f"{gone.path} was deleted",
                f"if {other} took its place, write {_written(one, folder, other)}",
            )
        else:
            message, fix = f"{gone.path} was deleted", _OUT
        self._report(one, message, gone.since, gone.now, fix)

    def _judge_lines(self, named: list[Named]) -> None:
        """Lines beyond the end of their file, where the file once was so long."""
        beyond: dict[str, list[Named]] = {}
        for one in named:
            path = self.present.resolve([place for _, place in places_of(one)], one.mention.names)
            if path and self._is_beyond(one.mention, path):
                beyond.setdefault(path, []).append(one)
        if not beyond:
            return
        objects, read = Objects(self.root), 0
        try:
            for since, path, blob in earlier_blobs(self.root, sorted(beyond), _SECONDS_FOR_CONTENTS):
                read += 1
                if not beyond.get(path) or read > _MOST_BLOBS:
                    continue
                then, now = _count_lines(objects.read(blob)), self.present.line_count(path)
                for one in [one for one in beyond[path] if (one.mention.at or 0) <= then]:
                    beyond[path].remove(one)
                    self._report(
                        one, f"{path} has {now} lines now; it had {then}", since, None, "name the lines that are meant"
                    )
        except git.GitFailed as problem:
            self._note_cut("lines", problem)
        finally:
            objects.close()

    # Symbols

    def _unknown_words(self, named: list[Named]) -> set[str]:
        """The parts of symbols that stand in no file now."""
        wanted = {word for one in named for word in telling_parts(one.mention)}
        if not wanted:
            return set()
        found = self.present.words(wanted)
        if found is None:
            self.notes.append("the repository is too large to look for symbols; they were not judged")
            return set()
        return wanted - found

    def _is_known(self, one: Named, unknown: set[str]) -> bool:
        known = unknown.isdisjoint(telling_parts(one.mention))
        if known:
            self._accept(one)
        return known

    def _judge_symbols(self, missing: list[Named], unknown: set[str], bygone: Bygone) -> None:
        rest = []
        for one in missing:
            gone = next((gone for name in modules_of(one.mention) if (gone := bygone.ending(name))), None)
            if gone and not is_sample(gone.path) and not is_vendored(gone.path):
                self._report_path(one, "", gone)
            else:
                rest.append(one)
        words = sorted({word for one in rest for word in telling_parts(one.mention) if word in unknown})
        if len(words) > _MOST_SYMBOLS:
            self.notes.append(
                f"{len(words) - _MOST_SYMBOLS} of {len(words)} unknown symbols were not looked for in history"
            )
        defined = self._removed_definitions(words[:_MOST_SYMBOLS])
        for one in rest:
            word = next((word for word in telling_parts(one.mention) if word in defined), None)
            if word:
                since, now, path = defined[word]
                message = f"{word} is defined nowhere any more; it was in {path}"
                if now:
                    message = f"{word} in {path} was renamed to {now}"
                self._report(one, message, since, now, f"write {now}" if now else _OUT)

    def _removed_definitions(self, words: list[str]) -> dict[str, tuple[Removal, str | None, str]]:
        """By symbol: the commit that removed its definition, its new name if that is plain, and where it was."""
        found: dict[str, tuple[Removal, str | None, str]] = {}
        if not words:
            return found
        any_word = re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)")
        pattern = f"(^|[^A-Za-z0-9_])({'|'.join(words)})([^A-Za-z0-9_]|$)"
        try:
            for hunk in changed_hunks(self.root, pattern, _NO_PROSE, _SECONDS_FOR_CONTENTS):
                if is_sample(hunk.path) or is_vendored(hunk.path):
                    continue
                for line, word in _defined(hunk, any_word):
                    found.setdefault(word, (hunk.since, renamed_in(line, word, hunk.added), hunk.path))
                if len(found) == len(words):
                    break
        except git.GitFailed as problem:
            self._note_cut("symbols", problem)
        return found

    # Commands

    def _judge_targets(self, named: list[Named]) -> None:
        missing = {}
        for one in named:
            (target,) = one.mention.names
            if target in self.present.targets:
                self._accept(one)
            elif not self._may_be_made(target):
                missing[one] = target
        for one, (hunk, line) in self._removed(missing, MAKEFILES, "", _has_rule, "make targets").items():
            target = missing[one]
            now = renamed_in(line, target, hunk.added)
            message = f"{hunk.path} has no target {target} any more"
            self._report(one, message, hunk.since, now and f"make {now}", f"write make {now}" if now else _OUT)

    def _may_be_made(self, target: str) -> bool:
        if is_common_target(target) and self.present.has_made_makefiles:
            return True
        return self.present.may_have_target(target) or self.present.resolve([target], ()) is not None

    def _judge_scripts(self, named: list[Named]) -> None:
        missing = {}
        for one in named:
            (script,) = one.mention.names
            if script in self.present.scripts:
                self._accept(one)
            elif " run " in one.mention.text or not self.present.names_package(script):
                missing[one] = script
        objects = Objects(self.root)

        def has_script(hunk: Hunk, line: str, script: str) -> bool:
            if f'"{script}"' not in line or is_vendored(hunk.path):
                return False
            return script in npm_scripts((objects.read(hunk.blob) or b"").decode("utf-8", "replace"))

        paths = ("package.json", "*/package.json")
        for one, (hunk, line) in self._removed(missing, paths, '"', has_script, "npm scripts").items():
            script = missing[one]
            now = renamed_in(line, script, hunk.added)
            written = now and one.mention.text.replace(script, now)
            message = f"{hunk.path} has no script {script} any more"
            self._report(one, message, hunk.since, written, f"write {written}" if now else _OUT)
        objects.close()

    def _removed(
        self, missing: dict[Named, str], paths: tuple[str, ...], before: str, belongs: Belongs, what: str
    ) -> dict[Named, tuple[Hunk, str]]:
        """The newest change that took each name out of these files, with the line it took."""
        names = sorted(set(missing.values()))
        found: dict[str, tuple[Hunk, str]] = {}
        if not names or not self.has_history:
            return {}
        pattern = f"{before}({'|'.join(_literal(name) for name in names)})"
        try:
            for hunk in changed_hunks(self.root, pattern, [f":(top){path}" for path in paths], _SECONDS_FOR_CONTENTS):
                for line in hunk.removed:
                    for name in names:
                        if name not in found and name in line and belongs(hunk, line, name):
                            found[name] = (hunk, line)
        except git.GitFailed as problem:
            self._note_cut(what, problem)
        return {one: found[name] for one, name in missing.items() if name in found}

    def _note_cut(self, what: str, problem: git.GitFailed) -> None:
        reason = problem.message or f"it took longer than {_SECONDS_FOR_CONTENTS:.0f} s"
        self.notes.append(f"the history of {what} was not read to its end: {reason}")


Belongs = Callable[[Hunk, str, str], bool]


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


def _lost(one: Named, bygone: Bygone) -> tuple[str, Gone] | None:
    """The removed path that a mention means, and the folder it is seen from."""
    for folder, place in places_of(one):
        gone = bygone.at(place)
        if gone:
            return folder, gone
    for name in one.mention.names:
        gone = bygone.ending(_composed(name))
        # A file of the same name that stood for somebody else's says nothing.
        if gone and not is_sample(gone.path) and not is_vendored(gone.path):
            return gone.path[: -len(name)].rstrip("/"), gone
    return None


def _written(one: Named, folder: str, path: str) -> str:
    """A path as the document would write it: a link from its own folder, a name from where the old one counted."""
    if one.mention.link:
        return posixpath.relpath(path, posixpath.dirname(one.document) or ".")
    return path.removeprefix(f"{folder}/") if folder else path


def _ignored(root: str, paths: set[str]) -> set[str]:
    """Those that git ignores now: they are made on each machine, and documents may well name them."""
    if not paths:
        return set()
    asked = "".join(f"{path}\0{path}/\0" for path in sorted(paths))
    try:
        answer = git.ask(root, "check-ignore", "-z", "--stdin", accept=(0, 1), stdin=asked)
    except git.GitFailed:
        return set()
    return {path.rstrip("/") for path in answer.split("\0")}


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


def _defined(hunk: Hunk, any_word: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The lines of a change that took away a definition, each with the symbol it defined."""
    for line in hunk.removed:
        for word in set(any_word.findall(line[:_LONGEST_LINE])):
            if definition_of(word).search(line[:_LONGEST_LINE]):
                yield line, word


def _has_rule(hunk: Hunk, line: str, target: str) -> bool:
    return target in make_targets(line) and not is_vendored(hunk.path)


def _count_lines(data: bytes | None) -> int:
    text = None if data is None else decoded(data)
    return 0 if text is None else len(split_lines(text))


def _literal(name: str) -> str:
    """The name as a POSIX pattern that matches itself only."""
    return re.sub(r"([][\\.{}()*+?^$|])", r"\\\1", name)


def _composed(name: str) -> str:
    return name if name.isascii() else unicodedata.normalize("NFC", name)


class Change(NamedTuple):
    """What a branch did: the lines it wrote in documents, and its commits."""

    lines: dict[str, list[range]]
    commits: set[str]

    def made(self, finding: Finding) -> bool:
        """Whether the branch wrote this mention, or took away what it names."""
        if finding.since is None or finding.since.commit in self.commits:
            return True
        return any(finding.mention.line in lines for lines in self.lines.get(finding.document, []))


def change_since(root: str, base: str) -> Change:
    """What happened between a commit and the working tree."""
    lines: dict[str, list[range]] = {}
    path = ""
    arguments = ("-c", "core.quotePath=false", "diff", "-U0", "-M", "--no-color", "--no-ext-diff", "--no-textconv")
    for line in git.stream(root, *arguments, "--no-prefix", base, end=b"\n"):
        if line.startswith("+++ "):
            path = _composed(line[4:].rstrip("\t"))
        elif found := _ADDED.match(line):
            begin, count = int(found[1]), int(found[2] or 1)
            lines.setdefault(path, []).append(range(begin, begin + count))
    return Change(lines, set(git.ask(root, "rev-list", f"{base}..HEAD").split()))
