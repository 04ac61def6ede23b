"""Commits that only reformat, as `.git-blame-ignore-revs` lists them: what they changed has not changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from decapod_py.domain.anchors import Anchor, Cited, cited_text, decoded, digest_of, split_lines
from decapod_py.foundation.files import read_bytes
from decapod_py.storage import git
from decapod_py.storage.trees import Objects

if TYPE_CHECKING:
    from decapod_py.domain.fold import Citation
    from decapod_py.views.watch import Checked

_FILE = ".git-blame-ignore-revs"
_MOST = 100  # commits looked at, the last of the file first


class IgnoredRevisions:
    def __init__(self, root: str, repository: git.Repository | None) -> None:
        self._prefix = git.prefix_of(repository, root) if repository else ""
        self._commits = _listed(repository)
        self._objects = Objects(repository.worktree) if repository else None

    def explain(self, citation: Citation, checked: Checked) -> bool:
        """Whether such a commit alone made a citation what it is: right before it, and the same since."""
        if citation.anchor is None or checked.now is None or checked.text is None:
            return False
        paths = {citation.anchor.path, checked.now.path}
        return any(
            self._explains(citation.anchor, citation.cited, commit, path, checked)
            for commit in self._commits
            for path in paths
        )

    def _explains(self, anchor: Anchor, cited: Cited | None, commit: str, path: str, checked: Checked) -> bool:
        from decapod_py.domain.drift import look

        before, after = self._text(f"{commit}^", path), self._text(commit, path)
        if before is None or after is None or look(anchor, cited, path, before).state not in _RIGHT:
            return False
        made = look(anchor, cited, path, after)
        if made.state in _RIGHT or made.first is None or made.last is None:
            return False
        lines = split_lines(after)
        text = "\n".join(lines[made.first - 1 : made.last])
        again = anchor._replace(
            first=made.first, last=made.last, name=None, digest=digest_of(text), lines=len(text.split("\n"))
        )
        assert checked.text is not None
        now = look(again, cited_text(lines, made.first, made.last), path, checked.text)
        return now.state in _RIGHT

    def _text(self, commit: str, path: str) -> str | None:
        assert self._objects
        data = self._objects.read(f"{commit}:{self._prefix}{path}")
        return None if data is None else decoded(data)


_RIGHT = ("ok", "moved", "reformatted")


def _listed(repository: git.Repository | None) -> list[str]:
    if repository is None:
        return []
    data = read_bytes(os.path.join(repository.worktree, _FILE)) or b""
    lines = [line.split("#")[0].strip() for line in data.decode("utf-8", "replace").splitlines()]
    return [line for line in lines if line.isalnum()][::-1][:_MOST]
