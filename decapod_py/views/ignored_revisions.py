"""Commits that only reformat, as `.git-blame-ignore-revs` lists them: what they changed has not changed."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from decapod_py.domain.anchors import cited_text, comparable, decoded, digest_of, split_lines
from decapod_py.foundation.files import read_bytes
from decapod_py.storage import git
from decapod_py.storage.trees import Objects
from decapod_py.views.watch import RIGHT

if TYPE_CHECKING:
    from decapod_py.domain.drift import FileText, Sighting
    from decapod_py.domain.fold import Citation

_FILE = ".git-blame-ignore-revs"
_MOST = 100  # commits looked at, the newest of them


class IgnoredRevisions:
    """Follows a citation through such commits, to what it became."""

    def __init__(self, root: str, repository: git.Repository | None) -> None:
        self._root = root
        self._repository = repository
        self._prefix = git.prefix_of(repository, root) if repository else ""

    def explain(self, citation: Citation, path: str, now: FileText) -> bool:
        """Whether such commits alone made a citation what it is: right before each, and the same since the last."""
        from decapod_py.domain.drift import look

        followed = citation
        for commit in self._commits:
            followed = self._followed(followed, commit, path)
        if followed is citation or followed.anchor is None:
            return False
        return look(followed.anchor, followed.cited, path, now).state in RIGHT

    def _followed(self, citation: Citation, commit: str, path: str) -> Citation:
        """A citation as this commit left it, if it was right just before and is not since."""
        from decapod_py.domain.drift import look

        anchor, cited = citation.anchor, citation.cited
        before, after = self._text(f"{commit}^", path), self._text(commit, path)
        if anchor is None or before is None or after is None:
            return citation
        if look(anchor, cited, path, before).state not in RIGHT:
            return citation
        became = look(anchor, cited, path, after)
        return citation if became.state != "changed" else _anchored_in(citation, after, became)

    def _text(self, commit: str, path: str) -> str | None:
        data = self._objects.read(f"{commit}:{self._prefix}{path}")
        return None if data is None else decoded(data)

    @cached_property
    def _objects(self) -> Objects:
        return Objects(self._root)

    @cached_property
    def _commits(self) -> list[str]:
        """The oldest first."""
        if self._repository is None:
            return []
        data = read_bytes(os.path.join(self._repository.worktree, _FILE)) or b""
        lines = [line.split("#")[0].strip() for line in data.decode("utf-8", "replace").splitlines()]
        named = [line for line in lines if len(line) in (40, 64) and line.isalnum()]
        if not named:
            return []
        try:
            known = git.ask(self._root, "rev-list", "--no-walk", "--ignore-missing", "--stdin", stdin="\n".join(named))
        except git.GitFailed:
            return []
        return known.split()[:_MOST][::-1]


def _anchored_in(citation: Citation, text: str, became: Sighting) -> Citation:
    assert citation.anchor
    lines = split_lines(text)
    first, last = became.first or 1, became.last or len(lines)
    said = "\n".join(lines[first - 1 : last])
    anchor = citation.anchor._replace(digest=digest_of(said), lines=len(comparable(said)))
    if not anchor.whole:
        anchor = anchor._replace(first=first, last=last)
    return citation._replace(anchor=anchor, cited=cited_text(lines, first, last))
