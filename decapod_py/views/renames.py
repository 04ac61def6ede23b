"""Where a cited file went: git's rename detection, asked once for all citations of a commit."""

from __future__ import annotations

import os
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.storage import git

if TYPE_CHECKING:
    from collections.abc import Iterator

    from decapod_py.domain.anchors import Anchor

# A file that was moved and replaced by another one of its name (-B) was moved too. git gives up quietly where more
# files than this would have to be compared with each other.
_DETECTION = ("-B", "-M", "-l5000")
_FORM = ("--name-status", "--diff-filter=R", "-z", "--no-ext-diff", "--no-relative")
_MODES = ("100644", "100755")
_MOST_GUESSES = 20


class Lead(NamedTuple):
    """A name under which a cited file may be found now."""

    path: str
    certain: bool  # git says so: what differs there has changed. Else only the very text counts


class Renames:
    """Asks git only when a text is not where it was, and each question once."""

    def __init__(self, root: str, repository: git.Repository | None, *, staged: bool) -> None:
        self._root = root
        self._repository = repository
        self._staged = staged
        self._prefix = git.prefix_of(repository, root) if repository else ""
        self._since: dict[str, dict[str, str]] = {}
        self._stepwise: dict[str, dict[str, str]] = {}
        self._listed: dict[str, set[str]] = {}

    def of(self, anchor: Anchor) -> Iterator[Lead]:
        """The names a cited file may have now, the most likely first."""
        if self._repository is None:
            return
        said = [*self._directly(anchor), *self._step_by_step(anchor)]
        guessed = [*self._same_blob(anchor), *self._untracked_like(anchor)]
        for path in dict.fromkeys([*said, *guessed]):
            if path != anchor.path:
                yield Lead(path, path in said)

    def _directly(self, anchor: Anchor) -> list[str]:
        """From the anchor's commit to what is here now, in one step."""
        found = self._renamed_since(anchor.commit).get(anchor.path) if anchor.commit else None
        return [found] if found else []

    def _renamed_since(self, commit: str) -> dict[str, str]:
        if commit not in self._since:
            cached = ["--cached"] if self._staged else []
            self._since[commit] = dict(self._renamed("diff", *cached, *_DETECTION, *_FORM, commit))
        return self._since[commit]

    def _step_by_step(self, anchor: Anchor) -> list[str]:
        """Commit by commit, for a file that was renamed and then rewritten."""
        found = self._renamed_by_commits_after(anchor.commit).get(anchor.path) if anchor.commit else None
        return [self._renamed_since("HEAD").get(found, found)] if found else []

    def _renamed_by_commits_after(self, commit: str) -> dict[str, str]:
        if commit not in self._stepwise:
            order = ("--topo-order", "--format=", "--no-show-signature")
            ends = self._stepwise[commit] = {}
            for old, new in self._renamed("log", *order, *_DETECTION, *_FORM, f"{commit}..HEAD"):
                ends[old] = ends.get(new, new)  # the last commit comes first: where the new name leads to is known
        return self._stepwise[commit]

    def _renamed(self, *question: str) -> Iterator[tuple[str, str]]:
        fields = [field for asked in self._asked(*question) if (field := asked.strip("\n"))]
        for _, old, new in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            if old.startswith(self._prefix) and new.startswith(self._prefix):
                yield old.removeprefix(self._prefix), new.removeprefix(self._prefix)

    def _same_blob(self, anchor: Anchor) -> list[str]:
        """The very same content under another name, whatever became of the commits: if there is one such file."""
        found = self._paths_by_blob.get(anchor.blob or "", []) if anchor.lines or anchor.binary else []
        return found if len(found) == 1 and not self._was_there(found[0], anchor) else []

    def _was_there(self, path: str, anchor: Anchor) -> bool:
        """Whether the same stood there when this was cited: then it is a copy, and not where the cited file went."""
        if anchor.commit is None:
            return False
        if anchor.commit not in self._listed:
            self._listed[anchor.commit] = set(self._asked("ls-tree", "-r", "-z", anchor.commit))
        return any(f"{mode} blob {anchor.blob}\t{path}" in self._listed[anchor.commit] for mode in _MODES)

    @cached_property
    def _paths_by_blob(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for _, blob, path in self._index:
            found.setdefault(blob, []).append(path)
        return found

    def _untracked_like(self, anchor: Anchor) -> list[str]:
        """A file that was moved by hand and that git was not told about yet."""
        name = os.path.basename(anchor.path)
        kind = os.path.splitext(name)[1]
        same = [path for path in self._untracked if os.path.basename(path) == name]
        alike = [path for path in self._untracked if os.path.splitext(path)[1] == kind]
        return [*same, *alike][:_MOST_GUESSES]

    @cached_property
    def _untracked(self) -> list[str]:
        return [] if self._staged else self._asked("ls-files", "--others", "--exclude-standard", "-z")

    @cached_property
    def untracked_stamp(self) -> str:
        """A word that changes with the files that git was not told about."""
        listed = "\0".join(self._untracked if self._repository else []).encode("utf-8", "surrogateescape")
        return sha256(listed).hexdigest()[:16]

    def is_out_of_sight(self, path: str) -> bool:
        """Whether a missing file lies in a submodule that is not checked out: nothing can be said about it."""
        within = [module for module in self._modules if path.startswith(f"{module}/")]
        return any(not os.path.exists(os.path.join(self._root, module, ".git")) for module in within)

    @cached_property
    def _modules(self) -> list[str]:
        return [path for mode, _, path in self._index if mode == "160000"] if self._repository else []

    @cached_property
    def _index(self) -> list[tuple[str, str, str]]:
        """Mode, blob and path of every file in the index."""
        found = []
        for line in self._asked("ls-files", "--stage", "-z"):
            fields, _, path = line.partition("\t")
            mode, blob, _ = fields.split(" ")
            found.append((mode, blob, path))
        return found

    def _asked(self, *question: str) -> list[str]:
        try:
            return [line for line in git.ask(self._root, *question).split("\0") if line]
        except git.GitFailed:
            return []  # a commit that is not here, or none yet
