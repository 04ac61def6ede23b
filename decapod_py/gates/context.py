"""What gates look at: the state, the change under review if there is one, and the tree that is cited."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from decapod_py.domain.globs import matches_glob
from decapod_py.domain.policy import LEVELS
from decapod_py.gates.finding import Finding
from decapod_py.views.change import file_of
from decapod_py.views.projection import cited_paths
from decapod_py.workspace import CONFIG, parse_policy

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.domain.policy import Policy
    from decapod_py.storage.trees import Tree
    from decapod_py.views.change import Change, Staged
    from decapod_py.views.state import Placed, State
    from decapod_py.views.watch import Watch
    from decapod_py.workspace import Workspace


class Skipped(Exception):
    """A gate could not be asked. That is not a pass, and the reason is told."""


class Context:
    """One run of the gates."""

    def __init__(
        self,
        workspace: Workspace,
        state: State,
        *,
        change: Change | None = None,
        path: str | None = None,
        staged: Staged | None = None,
        run_proofs: bool = False,
    ) -> None:
        self.workspace = workspace
        self.state = state  # of what is staged: that of the staged ledgers
        self.change = change  # with --base: only what a change brings is looked at
        self.path = path
        self.staged = staged  # what the next commit has, not the working tree
        self.run_proofs = run_proofs
        self.now = workspace.clock()

    @cached_property
    def policy(self) -> Policy:
        """What config.toml says, but a branch cannot loosen it for itself: with --base the base has its say, too."""
        mine = parse_policy(self.reviewed(CONFIG) or b"") if self.staged else self.workspace.policy
        base = self._policy_of_the_base()
        if base is None:
            return mine
        return mine._replace(
            approvers=base.approvers or mine.approvers,
            self_approval=base.self_approval and mine.self_approval,
            gates={gate: min(level, base.gates[gate], key=LEVELS.index) for gate, level in mine.gates.items()},
        )

    def _policy_of_the_base(self) -> Policy | None:
        if self.change is None or self.staged:
            return None
        return self.workspace.policy_at(self.change.base)

    @cached_property
    def tree(self) -> Tree:
        """The files under review: of the working tree, or those that the next commit has."""
        return self.workspace.staged_tree(self.staged.index_file) if self.staged else self.workspace.working_tree()

    def reviewed(self, path: str) -> bytes | None:
        """What a file under review says."""
        return self.tree.read(path).data

    @cached_property
    def watch(self) -> Watch:
        if self.staged:
            return self.workspace.staged_watch(self.state, self.tree)
        return self.workspace.watch(self.state)

    def entries(self) -> Iterable[Entry]:
        """The entries in use that are under review: all of them, or with --base those that the change brings."""
        if self.change is None:
            return self.state.entries("status = 'active'")
        return self.active(self.change.entry_ids)

    def active(self, entry_ids: Iterable[str]) -> list[Entry]:
        """Those of these entries that are in use."""
        found = (self.state.entry(entry_id) for entry_id in entry_ids)
        return [entry for entry in found if entry and entry.status == "active"]

    def events(self) -> Iterable[Placed]:
        """The events under review: all of them, or with --base those that the change brings."""
        return self.state.placed_events() if self.change is None else self.change.brought

    def concerns(self, finding: Finding) -> bool:
        """Whether a finding is about what --path names: its file, or what its entry cites."""
        if self.path is None:
            return True
        paths = {finding.file} if finding.file else set()
        if finding.entry and not any(path and not path.startswith(".decapod/") for path in paths):
            entry = self.state.entry(finding.entry)
            paths |= cited_paths(entry) if entry else set()
        return any(matches_glob(path, self.path) for path in paths if path)

    def line_of(self, segment: str, offset: int) -> int:
        """The line at an offset of a segment."""
        with open(os.path.join(self.state.ledgers, segment), "rb") as file:
            return file.read(offset).count(b"\n") + 1

    def finding(self, code: str, message: str, fix: str, **place: str | int | None) -> Finding:
        """A finding whose gate and level the run fills in."""
        return Finding("", code, "", message, fix, **place)  # type: ignore[arg-type]

    def finding_at(
        self, segment: str, offset: int, code: str, message: str, fix: str, entry: str | None = None
    ) -> Finding:
        """A finding about the event that stands there."""
        line = self.line_of(segment, offset)
        return self.finding(code, message, fix, entry=entry, file=file_of(segment), line=line)
