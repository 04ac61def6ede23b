"""Watches citations for drift: what stands now where an entry points, and whether it is what was cited.

Looking is cheap: a citation is looked at again only when its file has another stamp than the last time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.anchors import (
    LARGEST_TEXT,
    Anchor,
    Cited,
    decoded,
    digest_of,
    digest_of_bytes,
    split_lines,
)
from decapod_py.domain.provenance import FileCitation
from decapod_py.foundation.canonical import canonical
from decapod_py.storage import git
from decapod_py.storage.trees import Objects, WorkingTree
from decapod_py.views.anchoring import unreachable
from decapod_py.views.renames import Renames

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.domain.drift import FileText, Sighting
    from decapod_py.domain.entry import Entry
    from decapod_py.domain.fold import Citation
    from decapod_py.storage.trees import Tree
    from decapod_py.views.state import State

WATCHED = ("file:", "commit:", "event:")


class Checked(NamedTuple):
    """How one citation of an entry stands."""

    entry_id: str
    place: int  # among the entry's provenances
    provenance: str
    state: str
    now: FileCitation | None = None  # where it is found
    text: str | None = None  # what stands there, when it was looked at just now and differs
    why: str | None = None  # what is in the way, of an unresolvable one


class _Standing(NamedTuple):
    """What is remembered of a look at one anchor."""

    state: str
    path: str | None
    first: int | None
    last: int | None


class Watch:
    """Looks at the citations of entries in one tree."""

    def __init__(self, state: State, tree: Tree, root: str, repository: git.Repository | None, *, staged: bool = False):
        self.fresh: list[tuple[bytes, str, str, str | None, int | None, int | None]] = []
        self._state = state
        self._tree = tree
        self._root = root
        self._repository = repository
        self._renames = Renames(root, repository, tree, staged=staged)
        self._texts: dict[str, tuple[FileText | None, str | None]] = {}
        self._cited: dict[str, list[Cited | None]] = {}
        self._position: str | None = None

    def check(self, entries: Iterable[Entry], *, files_only: bool = False) -> list[Checked]:
        """Every citation of these entries; those that point at nothing that can be watched are left out.

        `files_only` asks git nothing while the cited files are there: for readers, who want to know before they act.
        """
        found: list[Checked] = []
        commits: list[tuple[Entry, int]] = []
        for entry in entries:
            anchors = entry.anchors or (None,) * len(entry.provenances)
            for place, (provenance, anchor) in enumerate(zip(entry.provenances, anchors, strict=True)):
                if provenance.startswith("file:"):
                    found.append(self._file(entry, place, anchor))
                elif provenance.startswith("event:") and not files_only:
                    state = "ok" if self._state.has_event(provenance.removeprefix("event:")) else "gone"
                    found.append(Checked(entry.id, place, provenance, state))
                elif provenance.startswith("commit:") and not files_only:
                    commits.append((entry, place))
        return found + self._commits(commits)

    def _file(self, entry: Entry, place: int, anchor: Anchor | None) -> Checked:
        provenance = entry.provenances[place]
        if anchor is None:
            return Checked(entry.id, place, provenance, "unanchored")
        key = sha256(canonical(list(anchor))).digest()[:16]
        stamp = self._stamp(anchor.path)
        standing = self._remembered(key, stamp)
        text = why = None
        if standing is None:
            standing, text, why = self._look(entry, place, anchor)
            if self._may_remember(anchor.path, standing):
                self.fresh.append((key, stamp, *standing))
        now = None
        if standing.path is not None:
            name = anchor.name if standing.state in ("ok", "reformatted", "changed") else None
            now = FileCitation(standing.path, standing.first, standing.last, name)
        return Checked(entry.id, place, provenance, standing.state, now, text, why)

    def _stamp(self, path: str) -> str:
        """A file that is not there may have been renamed: that is as good as git's position."""
        return self._tree.stamp(path) or f"absent {self._where_git_is()}"

    def _where_git_is(self) -> str:
        if self._position is None:
            self._position = sha256(git.position(self._repository).encode()).hexdigest()[:16]
        return self._position

    def _remembered(self, key: bytes, stamp: str) -> _Standing | None:
        row = self._state.connection.execute(
            "SELECT state, path, first, last FROM citation_checks WHERE anchor = ? AND stamp = ?", (key, stamp)
        ).fetchone()
        return _Standing(*row) if row else None

    def _may_remember(self, path: str, standing: _Standing) -> bool:
        """Not what stands elsewhere, which may change unseen, nor a file that was written this very moment."""
        if standing.state == "unresolvable" or (standing.path is not None and standing.path != path):
            return False
        return not self._tree.stamp(path) or self._tree.settled(path, time.time_ns())

    def _look(self, entry: Entry, place: int, anchor: Anchor) -> tuple[_Standing, str | None, str | None]:
        found = self._sighted(entry, place, anchor, anchor.path)
        if isinstance(found, str) and found != "missing":
            return _Standing("unresolvable", None, None, None), None, found
        if not isinstance(found, str) and found.state != "gone":
            return _Standing(found.state, anchor.path, found.first, found.last), found.now, None
        for path in self._renames.of(anchor):
            elsewhere = self._sighted(entry, place, anchor, path)
            if not isinstance(elsewhere, str) and elsewhere.state != "gone":
                state = "moved" if elsewhere.state == "ok" else elsewhere.state
                return _Standing(state, path, elsewhere.first, elsewhere.last), elsewhere.now, None
        if isinstance(found, str) and self._renames.is_out_of_sight(anchor.path):
            return _Standing("unresolvable", None, None, None), None, "it is in a submodule that is not checked out"
        return _Standing("gone", None, None, None), None, None

    def _sighted(self, entry: Entry, place: int, anchor: Anchor, path: str) -> Sighting | str:
        """What is found of an anchor in a file, or what is in the way."""
        from decapod_py.domain.drift import Sighting, look

        text, obstacle = self._text(path)
        if obstacle in ("missing", "folder"):
            return "missing"
        if obstacle is not None:
            return f"{path} {obstacle}"
        if anchor.binary or text is None:
            data = self._tree.read(path).data or b""
            return Sighting("ok" if digest_of_bytes(data) == anchor.digest else "changed", None, None, None)
        return look(anchor, self._cited_of(entry)[place], path, text)

    def _text(self, path: str) -> tuple[FileText | None, str | None]:
        """The text of a file, nothing for a binary one; or what is in the way. Many citations may be in one file."""
        from decapod_py.domain.drift import FileText

        if path not in self._texts:
            if len(self._texts) >= 64:
                self._texts.clear()
            file = self._tree.read(path)
            text = None if file.data is None or len(file.data) > LARGEST_TEXT else decoded(file.data)
            said = {"outside": "leads out of the repository", "unreadable": "cannot be read"}
            obstacle = said.get(file.obstacle or "", file.obstacle)
            self._texts[path] = (FileText(text) if text is not None else None, obstacle)
        return self._texts[path]

    def _cited_of(self, entry: Entry) -> list[Cited | None]:
        if entry.id not in self._cited:
            if len(self._cited) >= 1_000:
                self._cited.clear()
            self._cited[entry.id] = [citation.cited for citation in self._state.citations(entry)]
        return self._cited[entry.id]

    def _commits(self, wanted: list[tuple[Entry, int]]) -> list[Checked]:
        """All commits in two questions to git."""
        if not wanted:
            return []
        names = sorted({entry.provenances[place].removeprefix("commit:") for entry, place in wanted})
        states = self._commit_states(names)
        found = []
        for entry, place in wanted:
            provenance = entry.provenances[place]
            state = states[provenance.removeprefix("commit:")]
            why = "the history here is shallow, or there is no git" if state == "unresolvable" else None
            found.append(Checked(entry.id, place, provenance, state, why=why))
        return found

    def _commit_states(self, names: list[str]) -> dict[str, str]:
        if self._repository is None:
            return dict.fromkeys(names, "unresolvable")
        answers = git.ask(self._root, "cat-file", "--batch-check", stdin="\n".join(names) + "\n").splitlines()
        here = {name for name, answer in zip(names, answers, strict=True) if " commit " in answer}
        lost = unreachable(self._root, sorted(here)) if here else set()
        absent = "unresolvable" if git.is_shallow(self._repository) else "gone"
        return {name: "ok" if name in here and name not in lost else absent for name in names}


def difference(root: str, repository: git.Repository | None, citation: Citation, checked: Checked) -> str | None:
    """Then and now as a unified diff: from what was kept, or from the blob where the text was too long to keep."""
    from decapod_py.domain.drift import unified

    if checked.now is None:
        return None
    text = checked.text if checked.text is not None else _lines_now(root, checked.now)
    then = _text_then(repository, citation)
    if text is None or then is None or citation.anchor is None:
        return None
    return unified(then, text, checked.now.path, citation.anchor.first or 1, checked.now.first or 1)


def _lines_now(root: str, now: FileCitation) -> str | None:
    data = WorkingTree(root).read(now.path).data
    text = None if data is None else decoded(data)
    if text is None or now.first is None:
        return text
    return "\n".join(split_lines(text)[now.first - 1 : now.last])


def _text_then(repository: git.Repository | None, citation: Citation) -> str | None:
    anchor, cited = citation.anchor, citation.cited
    if anchor is None:
        return None
    if cited is not None and digest_of(cited.head) == anchor.digest:
        return cited.head
    data = None
    if repository is not None and anchor.blob:
        objects = Objects(repository.worktree)
        data = objects.read(anchor.blob)
        objects.close()
    text = None if data is None else decoded(data)
    if text is None:
        return cited.head if cited else None
    return text if anchor.first is None else "\n".join(split_lines(text)[anchor.first - 1 : anchor.last])


def drift_of(checked: Iterable[Checked]) -> str | None:
    """One word for an entry: the worst of its citations, or nothing where none can be watched."""
    from decapod_py.domain.drift import worst

    return worst(one.state for one in checked)


def remember(connection: Connection, fresh: list[tuple[bytes, str, str, str | None, int | None, int | None]]) -> None:
    connection.executemany("INSERT OR REPLACE INTO citation_checks VALUES (?, ?, ?, ?, ?, ?)", fresh)
