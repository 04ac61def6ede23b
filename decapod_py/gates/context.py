"""What gates look at: the state, the change under review if there is one, and the tree that is cited."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from decapod_py.domain.fold import fold_entry
from decapod_py.domain.globs import matches_glob
from decapod_py.gates.finding import Finding
from decapod_py.views.projection import cited_paths

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.domain.event import Event
    from decapod_py.domain.policy import Policy
    from decapod_py.views.change import Change, Staged
    from decapod_py.views.state import State
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
        self.state = state
        self.change = change  # with --base: only what a change brings is looked at
        self.path = path
        self.staged = staged  # what the next commit has, not the working tree
        self.run_proofs = run_proofs
        self.now = workspace.clock()

    @property
    def policy(self) -> Policy:
        return self.workspace.policy

    @cached_property
    def watch(self) -> Watch:
        if self.staged:
            return self.workspace.staged_watch(self.state, self.staged.index_file)
        return self.workspace.watch(self.state)

    def entries(self) -> Iterator[Entry]:
        """The entries in use that are under review: all of them, or with --base those that the change brings."""
        for entry in self._candidates():
            if self.path is None or any(matches_glob(path, self.path) for path in (*cited_paths(entry), entry.path)):
                yield entry

    def _candidates(self) -> Iterable[Entry]:
        if self.change is None:
            return self.state.entries("status = 'active'")
        found = (self.state.entry(entry_id) for entry_id in self.change.entry_ids)
        return [entry for entry in found if entry and entry.status == "active"]

    def events(self, ledger: str | None = None) -> Iterator[tuple[Event, str, int]]:
        """The events under review with their places: all of them, or with --base those that the change brings."""
        numbers = None if self.change is None else self.change.numbers
        yield from self.state.placed_events(ledger, numbers)

    def entry(self, entry_id: str) -> Entry | None:
        """An entry as the tree under review has it: of what is staged, only staged events count."""
        if self.staged is None:
            return self.state.entry(entry_id)
        events = [
            event for event, segment in self.state.events_with_segments(f"e:{entry_id}") if segment in self._staged
        ]
        return fold_entry(entry_id, events)

    @cached_property
    def _staged(self) -> set[str]:
        assert self.staged
        return self.workspace.staged_segments(self.staged.index_file)

    def concerns(self, *paths: str) -> bool:
        """Whether --path, if it was given, matches one of these."""
        return self.path is None or any(matches_glob(path, self.path) for path in paths)

    def line_of(self, segment: str, offset: int) -> int:
        """The line at an offset of a segment."""
        with open(os.path.join(self.workspace.ledgers, segment), "rb") as file:
            return file.read(offset).count(b"\n") + 1

    def approvers(self) -> tuple[str, ...]:
        """Who may approve rules. A branch cannot appoint its own: with --base those of the base count."""
        if self.change is None:
            return self.policy.approvers
        return self.workspace.policy_at(self.change.base).approvers or self.policy.approvers

    def finding(self, code: str, message: str, fix: str, **place: str | int | None) -> Finding:
        """A finding whose gate and level the run fills in."""
        return Finding("", code, "", message, fix, **place)  # type: ignore[arg-type]
