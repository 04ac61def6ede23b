"""The state of the ledgers that the next commit has, which may be another than the working tree's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from decapod_py.storage import database, git, segments
from decapod_py.storage.segments import Segment
from decapod_py.storage.trees import Objects
from decapod_py.views import projection
from decapod_py.views.state import State

if TYPE_CHECKING:
    from decapod_py.foundation.progress import Progress

_LEDGERS = ".decapod/ledgers/"


def staged_state(
    state: State, root: str, repository: git.Repository, index: str | None, scratch: str | None, progress: Progress
) -> State:
    """The state itself where everything is staged; else one in memory, from which the rest is taken out."""
    staged = _staged_segments(root, repository, index)
    here = {row[0] for row in state.connection.execute("SELECT path FROM segments")}
    other = _unlike_the_working_tree(root, repository, index) & staged.keys() | staged.keys() - here
    if not other and staged.keys() == here:
        return state
    connection = database.copy_to_memory(state.connection)
    found = State(connection, state.ledgers)
    changed: list[Segment] = []
    if other:
        found.ledgers = _laid_out(found, here & staged.keys() - other, scratch)
        changed = _written(found.ledgers, repository, {segment: staged[segment] for segment in sorted(other)})
    removed = sorted(here - staged.keys())
    projection.catch_up(connection, found.ledgers, projection.Difference(changed, removed), progress)
    return found


def _staged_segments(root: str, repository: git.Repository, index: str | None) -> dict[str, str]:
    """The blob of each segment."""
    folder = git.prefix_of(repository, root) + _LEDGERS
    found = {}
    for line in git.ask(repository.worktree, "ls-files", "--stage", "-z", "--", folder, index=index).split("\0"):
        fields, _, path = line.partition("\t")
        segment = path.removeprefix(folder)
        if fields.startswith("100") and segments.is_segment(segment):
            found[segment] = fields.split(" ")[1]
    return found


def _unlike_the_working_tree(root: str, repository: git.Repository, index: str | None) -> set[str]:
    folder = git.prefix_of(repository, root) + _LEDGERS
    question = ("diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-relative", "-z", "--", folder)
    return {path.removeprefix(folder) for path in git.ask(repository.worktree, *question, index=index).split("\0")}


def _laid_out(state: State, same: set[str], scratch: str | None) -> str:
    """A folder like that of the ledgers, for as long as the state is in use: links stand for what is the same."""
    import shutil
    import tempfile
    import weakref

    folder = tempfile.mkdtemp(prefix="staged-", dir=scratch)
    weakref.finalize(state, shutil.rmtree, folder, ignore_errors=True)
    for segment in same:
        os.makedirs(os.path.dirname(os.path.join(folder, segment)), exist_ok=True)
        os.symlink(os.path.join(state.ledgers, segment), os.path.join(folder, segment))
    return folder


def _written(folder: str, repository: git.Repository, blobs: dict[str, str]) -> list[Segment]:
    found = []
    objects = Objects(repository.worktree)
    try:
        for segment, blob in blobs.items():
            path = os.path.join(folder, segment)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(objects.read(blob) or b"")
            stat = os.stat(path)
            found.append(Segment(segment, stat.st_size, stat.st_mtime_ns, stat.st_ino))
    finally:
        objects.close()
    return found
