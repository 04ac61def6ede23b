"""Who brought an approval: what git shows for the commits that added the event to this history."""

from __future__ import annotations

import re
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.fold import PROMOTIONS
from decapod_py.foundation.files import read_bytes
from decapod_py.storage import git, segments
from decapod_py.storage.trees import Objects

if TYPE_CHECKING:
    from decapod_py.domain.event import Event
    from decapod_py.views.state import State

_LEDGER = f".decapod/ledgers/{PROMOTIONS}"
_BLOB = re.compile("[0-9a-f]{40,64}")


class Bringer(NamedTuple):
    """The author of a commit that added an approval, or of the one that is being made."""

    name: str
    address: str
    commit: str | None = None

    def __str__(self) -> str:
        return f"{self.name} <{self.address}>"


class Approvals:
    """Looks the whole ledger of promotions up at once: git is asked as often for one rule as for a thousand."""

    def __init__(self, state: State, root: str, repository: git.Repository | None, *, staged: bool = False) -> None:
        self._state = state
        self._root = root
        self._repository = repository
        self._staged = staged

    def brought_by(self, promotion_id: str) -> list[Bringer]:
        """Whoever brought an event by which this was approved. Nobody, while it is not committed.

        Of what is staged, it is the one who commits.
        """
        found = []
        for event in self._approving(promotion_id):
            brought = self._added.get(event["hash"], [])
            found += brought if brought or not self._staged else self._committing
        return found

    def is_out_of_sight(self, promotion_id: str) -> bool:
        """Whether the commit is one that a shallow clone left out, and another seems to have brought everything."""
        return any(event["hash"] in self._out_of_sight for event in self._approving(promotion_id))

    def signer(self, bringer: Bringer) -> tuple[str, ...]:
        """Name and address behind a good signature of the commit, by a key that git was told to trust."""
        if bringer.commit is None:
            return ()
        try:
            asked = ("log", "--no-walk", "--format=%G?%x00%GS", bringer.commit)
            state, _, signer = self._asked(*asked).strip().partition("\0")
        except git.GitFailed:
            return ()
        return _names_in(signer) if state == "G" else ()

    def _approving(self, promotion_id: str) -> list[Event]:
        """The events by which somebody approved."""
        return [
            event
            for event in self._state.events_of(f"p:{promotion_id}")
            if event["type"] == "promotion.approved"
            or (event["type"] == "promotion.recorded" and event.get("approved_by"))
        ]

    @cached_property
    def _added(self) -> dict[str, list[Bringer]]:
        """By event: who added it. A commit that only packed it, or merged it, took it from somewhere else."""
        return self._history[0]

    @cached_property
    def _out_of_sight(self) -> set[str]:
        return self._history[1]

    @cached_property
    def _history(self) -> tuple[dict[str, list[Bringer]], set[str]]:
        added: dict[str, list[Bringer]] = {}
        out_of_sight: set[str] = set()
        if self._repository is None:
            return added, out_of_sight
        boundary = set((read_bytes(f"{self._repository.common_dir}/shallow") or b"").decode().split())
        objects = Objects(self._repository.worktree)
        try:
            for bringer, removed, put in self._commits():
                events = _events_in(objects, put) - _events_in(objects, removed)
                if bringer.commit in boundary:
                    out_of_sight |= events
                    continue
                for identity in events:
                    added.setdefault(identity, []).append(bringer)
        finally:
            objects.close()
        return added, out_of_sight

    def _commits(self) -> list[tuple[Bringer, list[str], list[str]]]:
        """Every commit that changed the ledger, with the blobs it took away and those it put there.

        Of a merge only what differs from all parents: the rest is what they brought.
        """
        question = ["log", "--full-history", "--format=%x00%H%x00%an%x00%ae", "--raw", "--no-abbrev", "-c"]
        try:
            answer = self._asked(*question, "--no-renames", "--no-color", "HEAD", "--", _LEDGER)
        except git.GitFailed:
            return []  # there is no commit yet
        found: list[tuple[Bringer, list[str], list[str]]] = []
        for line in answer.split("\n"):
            if line.startswith("\0"):
                _, commit, name, address = line.split("\0")
                found.append((Bringer(name, address, commit), [], []))
            elif line.startswith(":"):
                *removed, put = [word for word in line.partition("\t")[0].split(" ") if _BLOB.fullmatch(word)]
                found[-1][1].extend(removed)
                found[-1][2].append(put)
        return found

    @cached_property
    def _committing(self) -> list[Bringer]:
        """Who the next commit will be by: git tells a hook with the environment, --author included."""
        try:
            ident = self._asked("var", "GIT_AUTHOR_IDENT")
        except git.GitFailed:
            return []
        return [Bringer(*_names_in(ident.rpartition(">")[0] + ">"))]

    def _asked(self, *question: str) -> str:
        # No setting may leave the first commit out, or write what a signature looks like between the lines.
        return git.ask(self._root, "-c", "log.showRoot=true", "-c", "log.showSignature=false", *question)


def _names_in(ident: str) -> tuple[str, str]:
    """`Ana <ana@example.com>`; an SSH key goes by an address alone."""
    name, _, address = ident.strip().rstrip(">").rpartition("<")
    return name.strip(), address.strip()


def _events_in(objects: Objects, blobs: list[str]) -> set[str]:
    found: set[str] = set()
    for blob in blobs:
        data = objects.read(blob) if blob.strip("0") else None
        lines = segments.lines_of(f"{PROMOTIONS}/", BytesIO(data or b""))
        found |= {line.event["hash"] for line in lines if line.event}
    return found
