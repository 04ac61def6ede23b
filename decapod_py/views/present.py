"""What the repository has now: its files and folders, and the words, targets and scripts in them."""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property

from decapod_py.domain.anchors import decoded, split_lines
from decapod_py.domain.definitions import is_makefile, leaves_makefiles_to_a_tool, make_targets, npm_scripts
from decapod_py.domain.documents import PROSE, is_document, is_vendored, speaks_of_the_past
from decapod_py.foundation.progress import Progress
from decapod_py.storage import git
from decapod_py.storage.trees import working_tree
from decapod_py.views.bygone import words_in

_MOST_BYTES = 1 << 30  # read to look for words; a larger repository is not judged by them
_EVERY = 500
_BINARY = 8_000  # bytes at the beginning that tell
_MODULE, _LINK = "160000", "120000"


class Present:
    """The tracked files as they are in the working tree; each question reads what it needs, once."""

    def __init__(self, repository: git.Repository, progress: Progress) -> None:
        self.root = repository.worktree
        self._progress = progress
        self._tree = working_tree(self.root, repository)
        self._modes = dict(_listed(self.root))
        gone = {_composed(path) for path in git.ask(self.root, "ls-files", "--deleted", "-z").split("\0")}
        self.files = {path for path in self._modes if path not in gone}
        self.folders = {folder for path in self.files for folder in _above(path)}
        self.modules = {path for path, mode in self._modes.items() if mode == _MODULE}

    def documents(self) -> list[str]:
        return sorted(path for path in self._regular() if is_document(path))

    def text(self, path: str) -> str | None:
        """The text of a tracked file; nothing where it is binary, a link, or cannot be read."""
        data = self._tree.read(path).data
        return None if data is None else decoded(data)

    def line_count(self, path: str) -> int | None:
        text = self.text(path) if path in self.files else None
        return None if text is None else len(split_lines(text))

    def resolve(self, places: Iterable[str], names: Iterable[str]) -> str | None:
        """The path that is meant: one of the places, or some file whose path ends like one of the names."""
        for place in places:
            if place in self.files or place in self.folders:
                return place
        for place in places:
            if place.lower() in self._spellings or os.path.lexists(os.path.join(self.root, place)):
                return self._spellings.get(place.lower(), place)
        return next((found for name in names if (found := self._ending(name))), None)

    def is_in_module(self, places: Iterable[str]) -> bool:
        """Whether a path leads into a submodule, whose files are not ours to judge."""
        return any(place in self.modules or not self.modules.isdisjoint(_above(place)) for place in places)

    def same_name(self, path: str) -> str | None:
        """The one file that has the name of this path, if there is exactly one."""
        found = [other for other in self._by_name.get(posixpath.basename(path).lower(), []) if other in self.files]
        return found[0] if len(found) == 1 else None

    def _ending(self, name: str) -> str | None:
        tidy = posixpath.normpath(name).lower()
        while tidy.startswith("../"):
            tidy = tidy[3:]
        tidy = tidy.lstrip("/")
        for path in self._by_name.get(posixpath.basename(tidy), []):
            if path.lower() == tidy or path.lower().endswith(f"/{tidy}"):
                return path
        return None

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in (*sorted(self.files), *sorted(self.folders)):
            found.setdefault(posixpath.basename(path).lower(), []).append(path)
        return found

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """By a path in lower case: case differs between machines, and a site drops extensions or makes them `.html`."""
        found: dict[str, str] = {}
        for path in (*self.files, *self.folders):
            stem, extension = posixpath.splitext(path.lower())
            found.setdefault(stem, path)
            if extension in PROSE:
                found.setdefault(f"{stem}.html", path)
                found.setdefault(posixpath.dirname(stem) if stem.endswith(("/index", "/readme")) else stem, path)
        return found | {path.lower(): path for path in (*self.folders, *self.files)}

    def words(self, wanted: set[str]) -> set[str] | None:
        """Which of these words stand in any file but prose; nothing where there is too much to read."""
        missing = {word.encode() for word in wanted} - _words_of_paths(
            path for path in self.files if not _is_ours(path)
        )
        size = 0
        for number, path in enumerate(sorted(self._regular())):
            if not missing:
                break
            if _is_prose(path) or _is_ours(path):
                continue
            data = self._tree.read(path).data or b""
            size += len(data)
            if size > _MOST_BYTES:
                return None
            if b"\0" not in data[:_BINARY]:
                missing.difference_update(words_in(data))
            if number % _EVERY == 0:
                self._progress("looking for symbols", number, len(self.files))
        return wanted - {word.decode() for word in missing}

    @cached_property
    def targets(self) -> set[str]:
        """The targets of every makefile."""
        return {target for text in self._makefiles for line in split_lines(text) for target in make_targets(line)}

    def may_have_target(self, name: str) -> bool:
        """Whether a rule for it may come out of a pattern, a variable or a list."""
        if any("%" in target and _fits(target, name) for target in self.targets):
            return True
        return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for text in self._makefiles)

    @cached_property
    def has_made_makefiles(self) -> bool:
        return any(leaves_makefiles_to_a_tool(path) for path in self.files)

    @cached_property
    def _makefiles(self) -> list[str]:
        return [text for path in sorted(self._regular()) if is_makefile(path) and (text := self.text(path))]

    @cached_property
    def scripts(self) -> set[str]:
        """The scripts of every package.json."""
        return {name for text in self._packages for name in npm_scripts(text)}

    def names_package(self, word: str) -> bool:
        """Whether a package.json names it: `yarn eslint` runs what a dependency brings."""
        return any(f'"{word}"' in text or f'/{word}"' in text for text in self._packages)

    @cached_property
    def _packages(self) -> list[str]:
        paths = (path for path in sorted(self._regular()) if posixpath.basename(path) == "package.json")
        return [text for path in paths if not is_vendored(path) and (text := self.text(path))]

    def _regular(self) -> Iterator[str]:
        return (path for path in self.files if self._modes[path] not in (_LINK, _MODULE))


def _listed(root: str) -> Iterator[tuple[str, str]]:
    """Each tracked path with its mode."""
    for line in git.ask(root, "ls-files", "--stage", "-z").split("\0"):
        fields, _, path = line.partition("\t")
        if path:
            yield _composed(path), fields.split(" ")[0]


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _is_prose(path: str) -> bool:
    """Whether a file only talks about the code: a name that stands nowhere else is not in the code."""
    return path.lower().endswith((".md", ".markdown", ".mdx", ".rst", ".adoc")) or (
        is_document(path) or speaks_of_the_past(path)
    )


def _is_ours(path: str) -> bool:
    """Whether Decapod wrote it: an entry that names a symbol is no code that has it."""
    return ".decapod" in path.split("/")[:-1]


def _words_of_paths(paths: Iterable[str]) -> set[bytes]:
    """A module is named by its file, which no line need name."""
    return {word for path in paths for word in words_in(path.encode("utf-8", "replace"))}


def _fits(pattern: str, name: str) -> bool:
    before, _, after = pattern.partition("%")
    return len(name) > len(before) + len(after) and name.startswith(before) and name.endswith(after)


def _composed(path: str) -> str:
    """One spelling for a letter and its accent, whichever system wrote the name."""
    return path if path.isascii() else unicodedata.normalize("NFC", path)
