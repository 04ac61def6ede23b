"""Who brought an approval: what git shows for the commit that first had the event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.storage import git

if TYPE_CHECKING:
    from decapod_py.domain.event import Event
    from decapod_py.views.state import State

_LEDGER = ".decapod/ledgers/knowledge.promotions"
_GOOD_SIGNATURES = ("G", "U")  # good; good, by a key whose owner git was not told to trust


class Approvals:
    def __init__(self, state: State, root: str, repository: git.Repository | None) -> None:
        self._state = state
        self._root = root
        self._repository = repository

    def brought_by(self, promotion_id: str) -> list[str]:
        """Name and address of the author, and of the signature if there is a good one; nothing if it is uncommitted."""
        found = [self._author(event) for event in self._approving(promotion_id)]
        return next((shown for shown in found if shown), [])

    def _approving(self, promotion_id: str) -> list[Event]:
        """The events by which somebody approved."""
        return [
            event
            for event in self._state.events_of(f"p:{promotion_id}")
            if event["type"] == "promotion.approved"
            or (event["type"] == "promotion.recorded" and event.get("approved_by"))
        ]

    def _author(self, event: Event) -> list[str]:
        """Of the first commit that had the line: a later one may only have packed it."""
        if self._repository is None:
            return []
        try:
            listed = git.ask(
                self._root, "log", "--reverse", "-S", event["hash"], "--format=%an%x00%ae%x00%G?%x00%GS", "--", _LEDGER
            )
        except git.GitFailed:
            return []
        if not listed.strip():
            return []
        name, address, signed, signer = listed.splitlines()[0].split("\0")
        return [name, address, *([signer] if signed in _GOOD_SIGNATURES and signer else [])]
