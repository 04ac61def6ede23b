"""Standing: `local`, `merged` or `promoted`, computed from git, so that nobody can write it.

An entry is merged when the default branch has the event of the version that shows, and promoted when it is a rule too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from decapod_py.storage import git
from decapod_py.storage.database import remember, remembered
from decapod_py.storage.trees import Objects

if TYPE_CHECKING:
    from sqlite3 import Connection

    from decapod_py.domain.entry import Entry
    from decapod_py.views.state import State

_FOLDER = ".decapod/ledgers"
Merged = dict[str, int]  # bytes of each segment that the default branch has


class Standings:
    """What the default branch has, looked up once a question."""

    def __init__(self, state: State, root: str, repository: git.Repository | None) -> None:
        self.fresh: tuple[str, Merged, set[bytes]] | None = None
        self._connection = state.connection
        self._root = root
        self._repository = repository
        self._tip = git.default_branch(repository)
        self._known = self._tip is not None and self._is_remembered(self._tip)

    def _is_remembered(self, tip: str) -> bool:
        """Not once a segment of the default branch is no longer here: its events stand in another one then."""
        if remembered(self._connection, "merged-tip") != tip:
            return False
        packed = "SELECT 1 FROM merged_segments WHERE path NOT IN (SELECT path FROM segments)"
        return self._connection.execute(packed).fetchone() is None

    def of(self, entry: Entry) -> str:
        if self._tip is None or not self._is_merged(entry.version):
            return "local"
        return "promoted" if entry.procedural else "merged"

    def _is_merged(self, event_id: str) -> bool:
        if not self._known and self.fresh is None:
            self.fresh = self._asked()
        rows = self._connection.execute(
            "SELECT segment, offset + length, hash FROM events WHERE event_id = :id UNION ALL"
            " SELECT c.segment, c.offset + c.length, c.hash FROM event_copies c JOIN events e ON e.hash = c.hash"
            " WHERE e.event_id = :id",
            {"id": event_id},
        )
        return any(end <= self._size(segment) or self._has(identity) for segment, end, identity in rows)

    def _size(self, segment: str) -> int:
        if self.fresh:
            return self.fresh[1].get(segment, -1)
        row = self._connection.execute("SELECT size FROM merged_segments WHERE path = ?", (segment,)).fetchone()
        return row[0] if row else -1

    def _has(self, identity: bytes) -> bool:
        if self.fresh:
            return identity in self.fresh[2]
        row = self._connection.execute("SELECT 1 FROM merged_events WHERE hash = ?", (identity,)).fetchone()
        return row is not None

    def _asked(self) -> tuple[str, Merged, set[bytes]]:
        """The segments of the default branch; of those that are not here, packed there perhaps, the events too."""
        assert self._repository and self._tip
        folder = git.prefix_of(self._repository, self._root) + _FOLDER + "/"
        try:
            listed = git.ask(
                self._repository.worktree, "ls-tree", "-r", "-l", "-z", "--full-tree", self._tip, "--", folder
            )
        except git.GitFailed:
            return self._tip, {}, set()  # a shallow or partial clone without that commit
        here = {row[0] for row in self._connection.execute("SELECT path FROM segments")}
        merged: Merged = {}
        elsewhere = []
        for line in listed.split("\0"):
            if line:
                fields, _, path = line.partition("\t")
                _, _, blob, size = fields.split()
                segment = path.removeprefix(folder)
                if segment in here:
                    merged[segment] = int(size) if size.isdigit() else -1
                else:
                    elsewhere.append(blob)
        return self._tip, merged, _events_in(self._repository.worktree, elsewhere)


def _events_in(directory: str, blobs: list[str]) -> set[bytes]:
    found = set()
    objects = Objects(directory)
    try:
        for blob in blobs:
            for line in (objects.read(blob) or b"").splitlines():
                try:
                    found.add(bytes.fromhex(json.loads(line)["hash"]))
                except (ValueError, KeyError, TypeError):
                    continue  # no event: the gate of the ledgers says so
    finally:
        objects.close()
    return found


def remember_merged(connection: Connection, fresh: tuple[str, Merged, set[bytes]]) -> None:
    tip, merged, events = fresh
    connection.execute("DELETE FROM merged_segments")
    connection.execute("DELETE FROM merged_events")
    connection.executemany("INSERT INTO merged_segments VALUES (?, ?)", merged.items())
    connection.executemany("INSERT INTO merged_events VALUES (?)", [(identity,) for identity in events])
    remember(connection, "merged-tip", tip)
