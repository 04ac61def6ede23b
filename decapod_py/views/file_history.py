"""What git says about files of a folder: who last wrote them, which commit brought them, whether they were deleted."""

from __future__ import annotations

from functools import cached_property

from decapod_py.storage import git

_FORMAT = "--format=%x01%H%x00%an"


class FileHistory:
    """Each question to git is asked once, and only when it has to be."""

    def __init__(self, root: str, repository: git.Repository | None, folder: str) -> None:
        self._root = root
        self._repository = repository
        self._folder = folder
        self._prefix = (git.prefix_of(repository, root) if repository else "") + folder + "/"

    def author(self, path: str) -> str | None:
        """Who committed a file last; nobody while it has changes of its own, which are those of whoever works here."""
        if path in self._uncommitted or path not in self._last:
            return None
        return self._last[path][1]

    def remover(self, path: str) -> str | None:
        """Who deleted a file, if a commit did."""
        return self._removed[path][1] if path in self._removed and path not in self._uncommitted else None

    def provenance(self, path: str) -> str:
        """The commit that brought a file, or whoever works here."""
        if path in self._first and path not in self._uncommitted:
            return f"commit:{self._first[path][0]}"
        return f"person:{self._user}"

    def deleted(self, path: str) -> bool:
        """Whether git knows a missing file, and agrees that it is deleted."""
        return path in self._uncommitted or (path in self._removed and path not in self._tracked)

    @cached_property
    def _user(self) -> str:
        return git.user_name(self._root) or "unknown"

    @cached_property
    def _uncommitted(self) -> set[str]:
        """Files that differ from HEAD, deleted ones too; not those that git never knew."""
        if git.head_commit(self._repository) is None:
            return set()
        return self._paths(self._asked("diff", "--name-only", "--no-renames", "-z", "HEAD", "--", self._folder))

    @cached_property
    def _tracked(self) -> set[str]:
        listed = self._asked("ls-files", "--full-name", "-z", "--", self._folder)
        return self._paths(listed)

    @cached_property
    def _last(self) -> dict[str, tuple[str, str]]:
        return self._commits("--diff-filter=AMR", newest=True)

    @cached_property
    def _first(self) -> dict[str, tuple[str, str]]:
        return self._commits("--diff-filter=AR", newest=False)

    @cached_property
    def _removed(self) -> dict[str, tuple[str, str]]:
        return self._commits("--diff-filter=D", newest=True)

    def _commits(self, only: str, *, newest: bool) -> dict[str, tuple[str, str]]:
        """For each file the newest or oldest commit that did this to it: its hash and author."""
        found: dict[str, tuple[str, str]] = {}
        answer = self._asked("log", _FORMAT, "--name-only", "--no-renames", only, "-z", "--", self._folder)
        for record in answer.split("\x01")[1:]:
            head, *names = record.replace("\n", "\0").split("\0")
            author, *names = names
            for path in self._paths("\0".join(names)):
                if not newest or path not in found:
                    found[path] = (head, author)
        return found

    def _paths(self, listed: str) -> set[str]:
        return {path.removeprefix(self._prefix) for path in listed.split("\0") if path.startswith(self._prefix)}

    def _asked(self, *question: str) -> str:
        if self._repository is None:
            return ""
        try:
            return git.ask(self._root, *question)
        except git.GitFailed:
            return ""
