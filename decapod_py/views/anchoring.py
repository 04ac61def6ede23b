"""Resolves a citation when it is written, and anchors it: what does not exist is refused, with what is close to it."""

from __future__ import annotations

import os
from hashlib import sha1, sha256

from decapod_py.domain.anchors import (
    LARGEST_TEXT,
    Anchor,
    Cited,
    cited_text,
    comparable,
    decoded,
    digest_of,
    digest_of_bytes,
    split_lines,
)
from decapod_py.domain.fold import Citation
from decapod_py.domain.provenance import FileCitation, parse_file_citation
from decapod_py.domain.text import visible
from decapod_py.foundation.errors import Refused
from decapod_py.storage import git
from decapod_py.storage.trees import BlobNames, working_tree

_MOST_NAMES = 50_000  # files looked through for a name that is close


class Resolver:
    """Finds what provenance points at, in one working tree."""

    def __init__(self, root: str, repository: git.Repository | None, *, advises: bool = True) -> None:
        self._root = root
        self._advises = advises  # looking for names that are close takes longer than everything else
        self._repository = repository
        self._tree = working_tree(root, repository)
        self._head = git.head_commit(repository)
        self._names: BlobNames | None = None

    def anchored(self, provenance: str) -> Citation:
        """A provenance with its anchor, if it is of a kind that has one; refuses what does not exist."""
        if provenance.startswith("file:"):
            return self._anchored_file(parse_file_citation(provenance.removeprefix("file:")))
        if provenance.startswith("commit:"):
            return Citation(self._whole_commit(provenance), None, None)
        return Citation(provenance, None, None)

    def anchored_at(self, place: FileCitation) -> Citation:
        """A citation anchored where it was found: its lines are known, even where its name cannot be looked up."""
        return self._anchored_file(place)

    def _anchored_file(self, citation: FileCitation) -> Citation:
        found = self._tree.read(citation.path)
        if found.data is None:
            raise self._unresolved(citation, found.obstacle or "missing")
        text = None if len(found.data) > LARGEST_TEXT else decoded(found.data)
        if text is None:
            return self._anchored_bytes(citation, found.data)
        lines = split_lines(text)
        first, last = self._range(citation, text, lines)
        said = "\n".join(lines[first - 1 : last])
        whole = citation.first is None and citation.name is None
        anchor = Anchor(
            citation.path,
            None if whole else first,
            None if whole else last,
            citation.name,
            self._blob(citation.path, found.data),
            self._head,
            digest_of(said),
            len(comparable(said)),
        )
        return Citation(str(citation), anchor, _clean(cited_text(lines, first, last)))

    def _anchored_bytes(self, citation: FileCitation, data: bytes) -> Citation:
        if citation.first is not None or citation.name is not None:
            raise Refused("not-text", f"{citation} names a place in a binary file", "cite the whole file")
        blob = self._blob(citation.path, data)
        return Citation(
            str(citation), Anchor(citation.path, None, None, None, blob, self._head, digest_of_bytes(data), 0), None
        )

    def _blob(self, path: str, data: bytes) -> str:
        """The name git gives this content. Where it may store other line ends than the checkout has, it is asked."""
        if b"\r\n" in data and self._repository is not None:
            named = self._asked_name(self._repository, path)
            if named:
                return named
        sha = sha256 if self._head and len(self._head) == 64 else sha1
        return sha(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest()

    def _asked_name(self, repository: git.Repository, path: str) -> str | None:
        if self._names is None:
            self._names = BlobNames(repository.worktree)
        found = self._names.of(git.prefix_of(repository, self._root) + path)
        if found:
            return found
        self._names = None  # it ends with a file that it cannot read, one in a submodule, say
        try:
            return git.ask(self._root, "hash-object", f"--path={path}", "--", path).strip()
        except git.GitFailed:
            return None

    def _range(self, citation: FileCitation, text: str, lines: list[str]) -> tuple[int, int]:
        if citation.name is not None and citation.first is None:
            return self._named_lines(citation, text)
        if citation.first is None or citation.last is None:
            return 1, len(lines)
        if citation.last > len(lines):
            raise Refused(
                "no-such-lines",
                f"{citation} ends after the file does: {citation.path} has {len(lines)} lines",
                "cite lines that are there, or the whole file",
            )
        if not any(line.strip() for line in lines[citation.first - 1 : citation.last]):
            raise Refused("empty-lines", f"{citation} cites empty lines only", "cite the lines that say it")
        return citation.first, citation.last

    def _named_lines(self, citation: FileCitation, text: str) -> tuple[int, int]:
        from decapod_py.domain import symbols

        assert citation.name is not None
        try:
            found = symbols.find_symbol(citation.path, text, citation.name)
        except symbols.Unparsable as problem:
            raise Refused(
                "unparsable", f"{citation.path} cannot be read as Python: {problem}", "cite lines instead"
            ) from None
        if found is None:
            close = _close(citation.name, symbols.names_in(citation.path, text))
            raise Refused("no-such-name", f"{citation.path} has no {citation.name!r}", _did_you_mean(close))
        return found

    def _unresolved(self, citation: FileCitation, obstacle: str) -> Refused:
        if obstacle == "missing":
            close = _close(citation.path, self._known_files()) if self._advises else []
            return Refused("no-such-file", f"there is no file {visible(citation.path)}", _did_you_mean(close))
        said = {
            "folder": "is a folder",
            "outside": "leads out of the repository",
            "unreadable": "cannot be read",
        }
        return Refused("no-such-file", f"{visible(citation.path)} {said[obstacle]}", "cite a file")

    def _known_files(self) -> list[str]:
        if self._repository is not None:
            try:
                listed = git.ask(self._root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
                return [path for path in listed.split("\0") if path][:_MOST_NAMES]
            except git.GitFailed:
                return []
        found: list[str] = []
        for folder, _, names in os.walk(self._root):
            inner = os.path.relpath(folder, self._root)
            found += [os.path.normpath(os.path.join(inner, name)).replace(os.sep, "/") for name in names]
            if len(found) > _MOST_NAMES:
                break
        return found

    def _whole_commit(self, provenance: str) -> str:
        """The full name of a commit of this history."""
        given = provenance.removeprefix("commit:")
        if self._repository is None:
            raise Refused("no-git", f"{provenance} names a commit, and there is no git here", "cite something else")
        try:
            found = git.ask(self._root, "rev-parse", "--verify", "--quiet", f"{given}^{{commit}}", accept=(0, 1))
        except git.GitFailed as problem:
            raise Refused("ambiguous-commit", f"{provenance}: {problem.message}", "give more of the hash") from None
        whole = found.strip()
        if not whole:
            shallow = git.is_shallow(self._repository)
            why = "fetch the rest of the history: git fetch --unshallow" if shallow else "look it up: git log --oneline"
            raise Refused("no-such-commit", f"{provenance} is no commit of this repository", why)
        if whole in unreachable(self._root, [whole]):
            raise Refused(
                "no-such-commit", f"{provenance} is in no branch or tag of this repository", "commit or fetch it first"
            )
        return f"commit:{whole}"


def unreachable(root: str, commits: list[str]) -> set[str]:
    """Those commits that no ref leads to: nobody else will ever see them."""
    listed = "\n".join(commits) + "\n"
    found = git.ask(root, "rev-list", "--ignore-missing", "--stdin", "--not", "--all", stdin=listed)
    return set(found.split()) & set(commits)


def _clean(cited: Cited) -> Cited:
    """Without what no event may hold."""
    return Cited(*(part.replace("\0", "\N{REPLACEMENT CHARACTER}") for part in cited))


def _close(name: str, known: list[str]) -> list[str]:
    from difflib import get_close_matches

    lower, tail = name.lower(), name.rsplit("/", 1)[-1].lower()
    same = [path for path in known if path.lower() == lower]  # but for its case
    same_name = [path for path in known if path.rsplit("/", 1)[-1].lower() == tail]
    return list(dict.fromkeys([*same[:3], *same_name[:3], *get_close_matches(name, known[:5_000], 3, 0.6)]))[:3]


def _did_you_mean(close: list[str]) -> str:
    if not close:
        return "look at the spelling; paths are seen from the repository's top"
    return f"did you mean {' or '.join(visible(name) for name in close)}?"
