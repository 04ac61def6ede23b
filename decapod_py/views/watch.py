"""Watches citations for drift: what stands now where an entry points, and whether it is what was cited.

Looking is cheap: a citation is looked at again only when its file has another stamp than the last time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.anchors import (
    LARGEST_TEXT,
    Anchor,
    decoded,
    digest_of,
    digest_of_bytes,
    split_lines,
)
from decapod_py.domain.provenance import FileCitation
from decapod_py.foundation.canonical import canonical
from decapod_py.storage import git
from decapod_py.storage.trees import Objects
from decapod_py.views.anchoring import unreachable
from decapod_py.views.renames import Renames

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.domain.anchors import Cited
    from decapod_py.domain.drift import FileText, Sighting
    from decapod_py.domain.entry import Entry
    from decapod_py.domain.fold import Citation
    from decapod_py.storage.trees import Tree
    from decapod_py.views.state import State

RIGHT = ("ok", "moved", "reformatted")  # states of a text that says what was cited
_RULES = 2  # a higher number makes everybody look again: then other rules say what a citation's state is
_MISSING = "missing"
_OBSTACLES = {"outside": "leads out of the repository", "unreadable": "cannot be read"}


class Checked(NamedTuple):
    """How one citation of an entry stands."""

    entry_id: str
    place: int  # among the entry's provenances
    provenance: str
    state: str
    now: FileCitation | None = None  # where it is found
    text: str | None = None  # what stands there, when it was looked at just now and differs
    why: str | None = None  # what is in the way, of an unresolvable one


class _Look(NamedTuple):
    """What came of looking at one anchor."""

    state: str
    now: FileCitation | None = None
    text: str | None = None
    why: str | None = None
    lasting: bool = True  # whether the stamps tell when another look is due


Memory = tuple[bytes, str, str, str | None, int | None, int | None, str | None]  # a row of `citation_checks`


class Watch:
    """Looks at the citations of entries in one tree. It lives as long as one question.

    What is remembered is about the working tree: it says nothing about what is staged, or was.
    """

    def __init__(
        self,
        state: State,
        tree: Tree,
        root: str,
        repository: git.Repository | None,
        *,
        staged: bool = False,
        remembers: bool = True,
    ):
        self.fresh: list[Memory] = []
        self._remembers = remembers
        self._state = state
        self._tree = tree
        self._root = root
        self._repository = repository
        self._renames = Renames(root, repository, staged=staged)
        self._began = time.time_ns()
        self._stamps: dict[str, str] = {}
        self._blobs: dict[str, FileText | None] = {}
        self._objects = Objects(repository.worktree) if repository else None
        self._texts: dict[str, tuple[FileText | None, str | None]] = {}
        self._citations: dict[str, dict[str, Citation]] = {}

    def check(self, entries: Iterable[Entry], *, files_only: bool = False) -> list[Checked]:
        """Every citation of these entries; those that point at nothing that can be watched are left out.

        `files_only` asks git nothing about what was looked at before: for readers, who want to know before they act.
        """
        found: list[Checked] = []
        files: list[tuple[str, int, Entry, int, Anchor]] = []
        commits: list[tuple[Entry, int]] = []
        for entry in entries:
            anchors = entry.anchors or (None,) * len(entry.provenances)
            for place, (provenance, anchor) in enumerate(zip(entry.provenances, anchors, strict=True)):
                if provenance.startswith("file:"):
                    if anchor is not None:
                        files.append((anchor.path, len(found), entry, place, anchor))
                    found.append(Checked(entry.id, place, provenance, "unanchored"))
                elif provenance.startswith("event:") and not files_only:
                    state = "ok" if self._state.has_event(provenance.removeprefix("event:")) else "gone"
                    found.append(Checked(entry.id, place, provenance, state))
                elif provenance.startswith("commit:") and not files_only:
                    commits.append((entry, place))
        # File by file: then each is read and taken apart once.
        for _, number, entry, place, anchor in sorted(files, key=lambda one: one[:2]):
            found[number] = self._file(entry, place, anchor, files_only)
        return found + self._commits(commits)

    def citation(self, entry: Entry, place: int) -> Citation:
        """One citation with the text it cited, which only the entry's events have."""
        if entry.id not in self._citations:
            if len(self._citations) >= 1_000:
                self._citations.clear()
            found = self._state.citations(entry)
            self._citations[entry.id] = {citation.provenance: citation for citation in found}
        return self._citations[entry.id][entry.provenances[place]]

    def text(self, path: str) -> FileText | None:
        """The text of a file; nothing for a binary one, or where there is none."""
        return self._read(path)[0]

    def holds_still(self, path: str) -> bool:
        """Whether a file is the one that was looked at; an editor may have saved another one since."""
        return self._tree.stamp(path) == self._stamp_of(path)

    def difference(self, entry: Entry, checked: Checked) -> str | None:
        """Then and now as a unified diff; nothing where one of them is not known."""
        from decapod_py.domain.drift import Sighting, diff_of

        citation = self.citation(entry, checked.place)
        if citation.anchor is None or checked.now is None:
            return None
        path, first, last, _ = checked.now
        text = checked.text if checked.text is not None else self._text_at(checked.now)
        return diff_of(citation.anchor, self._cited(citation), path, Sighting(checked.state, first, last, text))

    def _text_at(self, now: FileCitation | None) -> str | None:
        file = self.text(now.path) if now else None
        if now is None or file is None or now.first is None or now.last is None:
            return file.text if file else None
        return file.between(now.first, now.last)

    def _file(self, entry: Entry, place: int, anchor: Anchor, reading: bool) -> Checked:
        key = sha256(canonical([_RULES, *anchor])).digest()[:16]
        found = self._remembered(key, anchor, reading) if self._remembers else None
        if found is None:
            found = self._look(entry, place, anchor)
            if self._may_remember(anchor, found):
                now = found.now or (None, None, None, None)
                self.fresh.append((key, self._stamp(anchor, found.state, now[0]), found.state, *now))
        return Checked(entry.id, place, entry.provenances[place], found.state, found.now, found.text, found.why)

    def _remembered(self, key: bytes, anchor: Anchor, reading: bool) -> _Look | None:
        row = self._state.connection.execute(
            "SELECT stamp, state, path, first, last, name FROM citation_checks WHERE anchor = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        stamp, state, path = row[:3]
        if stamp != self._stamp(anchor, state, path, stamp if reading else ""):
            return None
        return _Look(state, FileCitation(*row[2:]) if path is not None else None)

    def _stamp(self, anchor: Anchor, state: str, path: str | None, known: str = "") -> str:
        """A word that changes whenever a look may find something else.

        A text that stands in its file depends on that alone, another on where git is and on files that git does not
        know. To list those takes a while: who only reads goes by what is known of them.
        """
        here = self._stamp_of(anchor.path)
        if path == anchor.path and not _may_be_elsewhere(anchor, state):
            return here
        there = self._stamp_of(path) if path is not None else ""
        elsewhere = f"{here} {there} {self._position}"
        return known if known.startswith(f"{elsewhere} ") else f"{elsewhere} {self._renames.untracked_stamp}"

    def _stamp_of(self, path: str) -> str:
        """As it was before the file was read: one that is written meanwhile has another one the next time."""
        if path not in self._stamps:
            self._stamps[path] = self._tree.stamp(path)
        return self._stamps[path]

    @cached_property
    def _position(self) -> str:
        return sha256(git.position(self._repository).encode()).hexdigest()[:16]

    def _may_remember(self, anchor: Anchor, found: _Look) -> bool:
        """Not while a file could be written once more without another stamp."""
        paths = {anchor.path, found.now.path if found.now else anchor.path}
        settled = all(self._tree.settled(path, self._began) for path in paths if self._stamp_of(path))
        return found.lasting and settled

    def _look(self, entry: Entry, place: int, anchor: Anchor) -> _Look:
        here = self._sighted(entry, place, anchor, anchor.path)
        if isinstance(here, str) and here != _MISSING:
            return _Look("unresolvable", why=here, lasting=False)
        if isinstance(here, str) and self._renames.is_out_of_sight(anchor.path):
            return _Look("unresolvable", why="it is in a submodule that is not checked out", lasting=False)
        found = _Look("gone") if isinstance(here, str) else _found(anchor, anchor.path, here)
        return self._look_elsewhere(entry, place, anchor, found) if _may_be_elsewhere(anchor, found.state) else found

    def _look_elsewhere(self, entry: Entry, place: int, anchor: Anchor, here: _Look) -> _Look:
        """Under the other names of its file. Where git is sure of one, what was changed counts too."""
        looked_at = 0
        for lead in self._renames.of(anchor):
            there = self._sighted(entry, place, anchor, lead.path)
            if isinstance(there, str):
                continue
            looked_at += 1
            if there.state in RIGHT or (lead.certain and here.state == "gone" and there.state == "changed"):
                found = _found(anchor, lead.path, there)
                return found._replace(state="moved" if found.state == "ok" else found.state, lasting=looked_at == 1)
        return here._replace(lasting=here.state != "gone" or not looked_at)

    def _sighted(self, entry: Entry, place: int, anchor: Anchor, path: str) -> Sighting | str:
        """What is found of an anchor in a file, or what is in the way."""
        from decapod_py.domain.drift import Sighting, look

        self._stamp_of(path)
        text, obstacle = self._read(path)
        if obstacle is not None:
            return f"{path} {_OBSTACLES[obstacle]}" if obstacle in _OBSTACLES else _MISSING
        if anchor.binary or text is None:
            data = self._tree.read(path).data or b""
            return Sighting("ok" if digest_of_bytes(data) == anchor.digest else "changed", None, None, None)
        citation = self.citation(entry, place)
        found = look(anchor, citation.cited, path, text, lambda: self._then(anchor))
        if found.state in ("changed", "gone") and (whole := self._cited(citation)) != citation.cited:
            found = look(anchor, whole, path, text, lambda: self._then(anchor))
        if found.state == "changed" and self._is_a_neighbour(anchor, found, text):
            return Sighting("gone", None, None, None)
        return found

    def _cited(self, citation: Citation) -> Cited | None:
        """What was cited; from git where it was too long to be kept whole."""
        anchor, cited = citation.anchor, citation.cited
        if anchor is None or cited is None or digest_of(cited.head) == anchor.digest:
            return cited
        then = self._then(anchor)
        lines = split_lines(then.text) if then else []
        whole = cited._replace(head="\n".join(lines[(anchor.first or 1) - 1 : anchor.last]))
        return whole if digest_of(whole.head) == anchor.digest else cited

    def _is_a_neighbour(self, anchor: Anchor, found: Sighting, text: FileText) -> bool:
        """Whether what looks like the cited text stood beside it already when it was cited."""
        from decapod_py.domain.drift import stood_outside

        if anchor.first is None or anchor.last is None or found.first is None or found.last is None:
            return False
        then = self._then(anchor)
        return then is not None and stood_outside(
            anchor.path, split_lines(then.text), (anchor.first, anchor.last), text.lines, (found.first, found.last)
        )

    def _then(self, anchor: Anchor) -> FileText | None:
        """The whole file as it was when it was cited, if git has it."""
        from decapod_py.domain.drift import FileText

        if anchor.blob is None or self._objects is None:
            return None
        if anchor.blob not in self._blobs:
            if len(self._blobs) >= 64:
                self._blobs.clear()
            data = self._objects.read(anchor.blob)
            text = None if data is None or len(data) > LARGEST_TEXT else decoded(data)
            self._blobs[anchor.blob] = None if text is None else FileText(text)
        return self._blobs[anchor.blob]

    def _read(self, path: str) -> tuple[FileText | None, str | None]:
        """The text of a file, nothing for a binary one; or what is in the way. Many citations may be in one file."""
        from decapod_py.domain.drift import FileText

        if path not in self._texts:
            if len(self._texts) >= 64:
                self._texts.clear()
            file = self._tree.read(path)
            text = None if file.data is None or len(file.data) > LARGEST_TEXT else decoded(file.data)
            self._texts[path] = (FileText(text) if text is not None else None, file.obstacle)
        return self._texts[path]

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


def _may_be_elsewhere(anchor: Anchor, state: str) -> bool:
    """Of a whole file there is always something left, even where another one has its name now."""
    return state == "gone" or (state == "changed" and anchor.whole)


def _found(anchor: Anchor, path: str, sighting: Sighting) -> _Look:
    """A text that moved within a file is known by its lines alone: its name means something else there, or nothing."""
    if sighting.state == "gone":
        return _Look("gone")
    name = None if sighting.state == "moved" else anchor.name
    return _Look(sighting.state, FileCitation(path, sighting.first, sighting.last, name), sighting.now)


def drift_of(checked: Iterable[Checked]) -> str | None:
    """One word for an entry: the worst of its citations, or nothing where none can be watched."""
    from decapod_py.domain.drift import worst

    return worst(one.state for one in checked)


def remember(connection: Connection, fresh: list[Memory]) -> None:
    connection.executemany("INSERT OR REPLACE INTO citation_checks VALUES (?, ?, ?, ?, ?, ?, ?)", fresh)
