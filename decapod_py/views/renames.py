"""Where a cited file went: git's rename detection, asked once for all citations of a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.storage import git

if TYPE_CHECKING:
    from decapod_py.domain.anchors import Anchor
    from decapod_py.storage.trees import Tree

_LIMIT = "-l5000"  # files compared with each other; git gives up quietly beyond it
_MOST_UNTRACKED = 200


class Renames:
    """Asks git only when a file is missing, and each question once."""

    def __init__(self, root: str, repository: git.Repository | None, tree: Tree, *, staged: bool) -> None:
        self._root = root
        self._repository = repository
        self._tree = tree
        self._staged = staged
        self._prefix = git.prefix_of(repository, root) if repository else ""
        self._since: dict[str, dict[str, str]] = {}
        self._stepwise: dict[str, dict[str, str]] = {}
        self._blobs: dict[str, list[str]] | None = None
        self._untracked: list[str] | None = None
        self._modules: set[str] | None = None

    def of(self, anchor: Anchor) -> list[str]:
        """The names under which a cited file may be found now, most likely first."""
        if self._repository is None:
            return []
        named = [
            *self._directly(anchor),
            *self._step_by_step(anchor),
            *self._same_blob(anchor),
            *self._same_name_untracked(anchor),
        ]
        return [path for path in dict.fromkeys(named) if path != anchor.path and self._tree.stamp(path)]

    def _directly(self, anchor: Anchor) -> list[str]:
        """From the anchor's commit to what is here now, in one step."""
        if anchor.commit is None:
            return []
        if anchor.commit not in self._since:
            cached = ["--cached"] if self._staged else []
            self._since[anchor.commit] = self._renamed("diff", *cached, "-M", _LIMIT, anchor.commit)
        found = self._since[anchor.commit].get(anchor.path)
        return [found] if found else []

    def _step_by_step(self, anchor: Anchor) -> list[str]:
        """Commit by commit, for a file that was renamed and then rewritten."""
        if anchor.commit is None:
            return []
        if anchor.commit not in self._stepwise:
            self._stepwise[anchor.commit] = self._renamed(
                "log", "--reverse", "--topo-order", "--format=", "-M", _LIMIT, f"{anchor.commit}..HEAD"
            )
        steps, path, seen = self._stepwise[anchor.commit], anchor.path, {anchor.path}
        while path in steps and steps[path] not in seen:
            path = steps[path]
            seen.add(path)
        return [path] if path != anchor.path else []

    def _renamed(self, *question: str) -> dict[str, str]:
        try:
            answer = git.ask(self._root, *question, "--name-status", "--diff-filter=R", "-z", "--no-ext-diff")
        except git.GitFailed:
            return {}  # a commit that is not here, or none yet
        fields = [field.strip("\n") for field in answer.split("\0") if field.strip("\n")]
        found = {}
        while len(fields) >= 3:
            _, old, new, *fields = fields
            if old.startswith(self._prefix) and new.startswith(self._prefix):
                found[old.removeprefix(self._prefix)] = new.removeprefix(self._prefix)
        return found

    def _same_blob(self, anchor: Anchor) -> list[str]:
        """The very same content under another name, whatever became of the commits."""
        if anchor.blob is None:
            return []
        if self._blobs is None:
            self._blobs = {}
            for line in self._asked("ls-files", "--stage", "-z"):
                fields, _, path = line.partition("\t")
                self._blobs.setdefault(fields.split(" ")[1], []).append(path)
        return self._blobs.get(anchor.blob, [])[:3]

    def _same_name_untracked(self, anchor: Anchor) -> list[str]:
        """A file that was moved by hand and that git was not told about yet."""
        if self._staged:
            return []
        if self._untracked is None:
            self._untracked = self._asked("ls-files", "--others", "--exclude-standard", "-z")
        name = anchor.path.rsplit("/", 1)[-1]
        suffix = name.rpartition(".")[2]
        same = [path for path in self._untracked if path.rsplit("/", 1)[-1] == name]
        alike = [path for path in self._untracked if path.endswith(f".{suffix}")]
        return [*same, *alike][:_MOST_UNTRACKED]

    def is_out_of_sight(self, path: str) -> bool:
        """Whether a missing file lies in a submodule: only that one's own checkout could show it."""
        if self._modules is None:
            listed = self._asked("ls-files", "--stage", "-z")
            self._modules = {line.partition("\t")[2] for line in listed if line.startswith("160000 ")}
        return any(path.startswith(f"{module}/") for module in self._modules)

    def _asked(self, *question: str) -> list[str]:
        try:
            return [line for line in git.ask(self._root, *question).split("\0") if line]
        except git.GitFailed:
            return []
