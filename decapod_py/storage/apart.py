"""A commit checked out apart, so that it can be judged while another one stands in the working tree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from decapod_py.storage import git

_OURS = "/.decapod/\n"
_EVERYTHING = "/*\n"


@contextmanager
def checked_out_apart(
    repository: git.Repository, commit: str, scratch: str | None, *, whole: bool = False
) -> Iterator[str]:
    """A working tree of its own for as long as it is looked at; `scratch` is a folder that git ignores.

    Only `.decapod` is written there unless `whole`: the rest is left out as a sparse checkout leaves it out, and is
    read from git. The clone does not list it as a worktree, so there is nothing to prune if we are killed.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="apart-", dir=scratch) as folder:
        place = os.path.realpath(folder)
        git_dir = os.path.join(place, ".git")
        os.makedirs(os.path.join(git_dir, "info"))
        _write(git_dir, "HEAD", commit + "\n")
        _write(git_dir, "commondir", os.path.realpath(repository.common_dir) + "\n")
        _write(git_dir, "info/sparse-checkout", _EVERYTHING if whole else _OURS)
        sparse = ("-c", "core.sparseCheckout=true", "-c", "core.sparseCheckoutCone=false")
        git.ask(place, *sparse, "read-tree", "-m", "-u", "HEAD")
        yield place


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "wb") as file:
        file.write(os.fsencode(text))
