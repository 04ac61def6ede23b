"""What `sync` is about to do: every Markdown file that somebody touched, and what it means for which entry."""

from __future__ import annotations

import os
from functools import cached_property
from stat import S_ISLNK, S_ISREG
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from decapod_py.domain.authored import Authored, authored_of
from decapod_py.domain.entry import Entry, is_procedural
from decapod_py.domain.naming import check_entry_id, is_safe_path
from decapod_py.foundation.errors import DecapodError, Refused
from decapod_py.foundation.ids import is_ulid
from decapod_py.operations.knowledge.citing import carried
from decapod_py.operations.knowledge.incoming.rows import checked_extra
from decapod_py.storage.front_matter import Damaged
from decapod_py.views import hand_edits, pages
from decapod_py.views.file_history import FileHistory
from decapod_py.views.hand_edits import Arrival, HandEdit, Limits, Said
from decapod_py.views.markdown import classify
from decapod_py.workspace import FOLDER

if TYPE_CHECKING:
    from decapod_py.operations.shapes import FileProblem
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace

_MANY = 10  # files gone at once that may be a mistake


class Edit(NamedTuple):
    """A file that says something else than its entry, or stands somewhere else."""

    entry: Entry
    path: str
    edit: HandEdit

    @property
    def moves(self) -> bool:
        return self.path != self.entry.path

    @property
    def revives(self) -> bool:
        """Whether it brings back the file of an entry that was taken away."""
        return not self.entry.filed


class Addition(NamedTuple):
    """A file that no entry has."""

    path: str
    entry_id: str | None
    authored: Authored
    filled: list[str]
    arrival: Arrival


class Plan(NamedTuple):
    edits: list[Edit]
    additions: list[Addition]
    removals: list[Entry]
    stale: list[tuple[str, str]]  # path and entry: only to be written anew
    stamps: dict[str, str]  # of the files, from before they were read
    problems: list[FileProblem]
    history: FileHistory

    def report(self, path: str, problem: DecapodError | Damaged) -> None:
        line = problem.line if isinstance(problem, Damaged) else None
        place = f"{FOLDER}/knowledge/{path}"
        self.problems.append({"file": place, "line": line, "code": problem.code, "message": problem.message})


def plan_of(workspace: Workspace, state: State, allow_deletions: bool, actor: str | None) -> Plan:
    """What is to be done; nothing is written yet."""
    planner = _Planner(workspace, state, actor)
    planner.look_at_files()
    planner.look_for_removals(allow_deletions)
    refuse_overwriting(planner.plan, planner.owners)
    return planner.plan


def refuse_overwriting(plan: Plan, owners: dict[str, str]) -> None:
    """Takes back the moves onto a file of another entry that does not move away: it would have none then."""
    while True:
        left = {edit.entry.path for edit in plan.edits if edit.moves}
        over = [
            edit
            for edit in plan.edits
            if (edit.moves or edit.revives) and edit.path in owners and edit.path not in left
        ]
        if not over:
            return
        for edit in over:
            message = f"the file of {edit.entry.id} was moved over the one of {owners[edit.path]}: give it another name"
            plan.report(edit.path, Refused("overwritten", message))
        plan.edits[:] = [edit for edit in plan.edits if edit not in over]


class _Look(NamedTuple):
    """One file that was touched."""

    data: bytes
    said: Said
    named: Entry | None  # the entry that it says it is


class _Planner:
    def __init__(self, workspace: Workspace, state: State, actor: str | None) -> None:
        self._workspace = workspace
        self._actor = actor
        self.owners = pages.owners(state)
        self._state = state
        self._folder = workspace.pages(state.connection)
        self._found = pages.on_disk(workspace.knowledge)
        self._hidden = pages.outside_sparse_checkout(self._folder)
        self._history = FileHistory(workspace.root, workspace.repository, f"{FOLDER}/knowledge")
        self._limits = Limits(workspace.policy.schemes, workspace.policy.lifetimes["default"], workspace.clock())
        self._seen: set[str] = set()  # entries whose file was found, wherever
        self._superseded: set[str | None] = set()  # ids that come superseded
        self.plan = Plan([], [], [], [], self._found, [], self._history)

    def look_at_files(self) -> None:
        known = dict(
            self._state.connection.execute("SELECT path, stamp FROM markdown_files WHERE state = 'same'").fetchall()
        )
        looks: dict[str, _Look] = {}
        for path in [path for path, stamp in sorted(self._found.items()) if known.get(path) != stamp]:
            try:
                looks[path] = self._look(path)
            except (FileNotFoundError, NotADirectoryError):
                continue  # an editor is at it: what comes of that is for the next time
            except (Damaged, DecapodError) as problem:
                self.plan.report(path, problem)
        self._superseded = {look.said.id for look in looks.values() if look.said.fields.get("status") == "superseded"}
        claims = self._claims(looks) if looks else {}
        for path, look in looks.items():
            try:
                self._plan_file(path, look, claims)
            except (Damaged, DecapodError) as problem:
                self.plan.report(path, problem)

    def _look(self, path: str) -> _Look:
        found = os.lstat(self._folder.file(path))
        if S_ISLNK(found.st_mode):
            raise Refused("link", "the file is a link; nothing is read or written through it")
        if not S_ISREG(found.st_mode):
            raise Refused("no-file", "it is no file that can be read")
        if found.st_size > pages.LARGEST_FILE:
            raise Refused("too-long", f"the file has {found.st_size} bytes; an entry is never as long")
        data = pages.bytes_of(self._folder, path)
        said = hand_edits.read(data)
        if said.extra:
            checked_extra(said.extra)
        return _Look(data, said, self._state.entry(said.id) if said.id else None)

    def _claims(self, looks: dict[str, _Look]) -> dict[str, set[str]]:
        """The files of each entry: those that say they are its, and where it should be if that says nothing else."""
        claims: dict[str, set[str]] = {}
        for path in self._found.keys() | self._hidden:
            look = looks.get(path)
            claimed = look.named.id if look and look.named else self.owners.get(path)
            if claimed is not None:
                claims.setdefault(claimed, set()).add(path)
        return claims

    def _plan_file(self, path: str, look: _Look, claims: dict[str, set[str]]) -> None:
        entry = self._entry_of(path, look)
        if entry is None:
            self._check_path(path)
            self.plan.additions.append(self._addition(path, look.said))
            return
        self._seen.add(entry.id)
        others = claims[entry.id] - {path}
        if others and path != entry.path:
            raise Refused("duplicate-id", f"{min(others)} and {path} both say that they are {entry.id}")
        standing = classify(look.data, entry, lambda: pages.recorded_states(self._state, entry.id))
        if entry.diverged:
            raise Refused("diverged", f"{entry.id} has several head versions: settle it first")
        if standing == "conflicted":
            raise Damaged("conflict-markers", "a merge left conflict markers in the file", 1)
        if standing in ("same", "stale") and path == entry.path and entry.filed:
            if standing == "stale":
                self.plan.stale.append((path, entry.id))
            return
        if entry.procedural:
            raise Refused("rule-protected", f"{entry.id} is a rule: its text changes through a promotion only")
        if path != entry.path:
            self._check_path(path)
        before = carried(self._state, entry, authored_of(entry))
        edit = HandEdit(before, None, [], False) if entry.filed else hand_edits.returned(entry, before, look.said)
        if standing not in ("same", "stale"):
            edit = hand_edits.edit_of(entry, before, look.said, self._limits)
        self.plan.edits.append(Edit(entry, path, edit))

    def _entry_of(self, path: str, look: _Look) -> Entry | None:
        """The entry that a file is about: the one it names, or else the one whose file it is."""
        owner, named = self.owners.get(path), look.named
        if named is None and owner is not None:
            return self._state.entry(owner)
        if named is None and look.said.id and is_ulid(look.said.id):
            raise Refused("orphaned", f"the file names {look.said.id}, which no event recorded: bring the ledgers back")
        if named is not None and named.status == "deleted":
            raise Refused("deleted", f"the file names {named.id}, which was deleted")
        return named

    def _addition(self, path: str, said: Said) -> Addition:
        stem = os.path.basename(path)[: -len(".md")]
        authored, filled = hand_edits.entry_from(said, stem, self._history.provenance(path), self._limits)
        entry_id = check_entry_id(said.id) if said.id else None
        if entry_id and is_procedural(entry_id):
            raise Refused("needs-promotion", f"{entry_id} is a rule: rules are promoted, not written")
        if entry_id and any(entry_id == other.entry_id for other in self.plan.additions):
            raise Refused("id-taken", f"another new file says that it is {entry_id}, too")
        actor = self._workspace.actor(self._actor or self._history.author(path)) if "author" in said.fields else ""
        arrival = hand_edits.arrival_of(said, actor, self._is_replaceable, self._limits.now)
        if arrival.left_out:
            authored = authored._replace(extra=checked_extra(arrival.extra))
        return Addition(path, entry_id, authored, filled, arrival)

    def _is_replaceable(self, entry_id: str) -> bool:
        """Whether a new file may say that it replaces an entry: rules are taken out of use by people, and by name."""
        entry = self._state.entry(entry_id)
        if entry is None:
            return entry_id in self._superseded and not is_procedural(entry_id)
        return entry.status != "deleted" and not entry.procedural

    def _check_path(self, path: str) -> None:
        if not is_safe_path(path):
            raise Refused("bad-path", "no file of this name can be checked out everywhere")
        twins = self._spellings[_spelled(path)]
        first = min(twins, key=lambda twin: (twin not in self.owners, twin))
        if first != path:
            raise Refused("same-name", f"{first} and {path} are one file on some systems: give it another name")

    @cached_property
    def _spellings(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._found:
            found.setdefault(_spelled(path), []).append(path)
        return found

    def look_for_removals(self, allow_deletions: bool) -> None:
        """A file that is gone counts only if git agrees that it is deleted: a sparse checkout has none."""
        missing = [
            path for path, entry_id in self.owners.items() if path not in self._found and entry_id not in self._seen
        ]
        gone = [path for path in sorted(missing) if path not in self._hidden and self._history.deleted(path)]
        entries = [entry for path in gone if (entry := self._state.entry(self.owners[path])) and entry.path == path]
        for rule in [entry for entry in entries if entry.procedural]:
            message = f"{rule.id} is a rule: deprecate it to take its file away"
            self.plan.report(rule.path, Refused("rule-protected", message))
        removals = [entry for entry in entries if not entry.procedural]
        if removals and not allow_deletions and self._looks_like_a_mistake(len(removals)):
            message = (
                f"{len(removals)} of {len(self.owners)} files are gone at once: bring them back, "
                "or --allow-deletions deprecates their entries"
            )
            self.plan.report(removals[0].path, Refused("many-deletions", message))
        else:
            self.plan.removals.extend(removals)

    def _looks_like_a_mistake(self, removals: int) -> bool:
        """Many files gone, or all of them, or the folder itself: more often a slip or a lost disk than a wish."""
        return removals > _MANY or (not self._found and (removals > 1 or not os.path.isdir(self._folder.knowledge)))


def _spelled(path: str) -> str:
    """A path as file systems know it that keep no case, or write accents in one way."""
    return normalize("NFC", normalize("NFC", path).casefold())
