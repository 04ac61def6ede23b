"""Working trees on real git, and what must hold wherever two of them meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support import NOON, git

from decapod_py.client import Decapod

LEDGERS = ".decapod/ledgers"
KNOWLEDGE = ".decapod/knowledge"


class RunningClock:
    """A clock that moves on a second each time it is asked."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def __call__(self) -> int:
        self.now += 1_000
        return self.now


class Tree:
    """One working tree, with the Python call on it."""

    def __init__(self, top: Path, now: int = NOON) -> None:
        self.top = top
        self.clock = RunningClock(now)
        self.decapod = Decapod(top, actor=top.name, clock=self.clock)
        self.knowledge = self.decapod.knowledge

    def git(self, *arguments: str, check: bool = True) -> str:
        return git(self.top, *arguments, check=check)

    def add(self, title: str, text: str | None = None, **more: Any) -> str:
        added = self.knowledge.add(title=title, text=text or f"{title}, at length.", provenance=["person:Ann"], **more)
        return str(added["id"])

    def commit(self, message: str = "Work", *more: str) -> str:
        self.git("add", "-A")
        # Two clones that commit the same thing in the same second must still make two commits.
        self.git("commit", "-qm", f"{message} ({self.top.name})", "--allow-empty", *more)
        return self.tip()

    def tip(self, ref: str = "HEAD") -> str:
        return self.git("rev-parse", ref).strip()

    def merge(self, *refs: str, take_ours: bool = False) -> list[str]:
        """Merges; returns the Markdown files that conflicted, committed as git left them, or as they are here."""
        self.git("merge", "-q", "--no-edit", *refs, check=False)
        conflicted = self.close_merge(take_ours)
        for ref in refs:
            self.git("merge-base", "--is-ancestor", ref, "HEAD")
        return conflicted

    def close_merge(self, take_ours: bool) -> list[str]:
        """Commits a merge that git left open over Markdown. Over a ledger there must never be one."""
        conflicted = self.git("diff", "--name-only", "--diff-filter=U").split()
        assert [path for path in conflicted if not path.startswith(KNOWLEDGE)] == []
        if conflicted:
            if take_ours:
                self.git("checkout", "-q", "--ours", "--", *conflicted, check=False)
            self.git("add", "-A")
            self.git("commit", "-q", "--no-edit")
        return conflicted

    def fetch(self, other: Tree, ref: str = "HEAD") -> str:
        self.git("fetch", "-q", str(other.top), ref)
        return self.tip("FETCH_HEAD")

    def entry(self, entry_id: str) -> Any:
        return self.knowledge.get(id=entry_id)

    def file(self, entry_id: str) -> Path:
        return self.top / self.entry(entry_id)["path"]

    def titles(self) -> list[str]:
        return sorted(entry["title"] for entry in self.knowledge.list(limit=1000)["entries"])

    def digest(self) -> str:
        return str(self.decapod.status()["digest"])

    def segments(self) -> set[str]:
        top = self.top / LEDGERS
        return {path.relative_to(top).as_posix() for path in top.rglob("*.jsonl")}

    def is_sound(self, **allowing: bool) -> bool:
        return bool(self.decapod.ledger.verify(**allowing)["ok"])

    def is_clean(self) -> bool:
        return not self.git("status", "--porcelain", "--untracked-files=all", "--", LEDGERS)


class Trees:
    """Makes working trees below one directory, and says when they agree."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.made: list[Tree] = []

    def open(self, top: Path, now: int = NOON) -> Tree:
        tree = Tree(top, now)
        self.made.append(tree)
        return tree

    def new(self, name: str = "ada", now: int = NOON) -> Tree:
        """A repository with one commit that `decapod init` is in."""
        top = self.top / name
        (top / "src").mkdir(parents=True)
        (top / "src" / "a.py").write_text("one\ntwo\nthree\n")
        git(top, "init", "-q")
        tree = self.open(top, now)
        tree.decapod.init()
        tree.commit("Begin")
        return tree

    def clone(self, origin: Tree | Path, name: str, *options: str, now: int = NOON) -> Tree:
        source = origin.top if isinstance(origin, Tree) else origin
        git(self.top, "clone", "-q", *options, str(source), name)
        return self.open(self.top / name, now)

    def worktree(self, origin: Tree, name: str) -> Tree:
        origin.git("worktree", "add", "-q", "-b", name, str(self.top / name))
        return self.open(self.top / name)

    def fresh(self, origin: Tree | Path, *options: str) -> Tree:
        """A clone that nobody has worked in: its database is made from nothing."""
        return self.clone(origin, f"fresh-{len(self.made)}", *options)

    def forge(self, left: Tree, right: Tree, left_ref: str = "HEAD", right_ref: str = "HEAD") -> Tree:
        """Both branches merged in a bare repository, as a forge's server does it, and the result cloned."""
        bare = self.top / f"forge-{len(self.made)}.git"
        git(self.top, "init", "-q", "--bare", str(bare))
        left.git("push", "-q", str(bare), f"{left_ref}:refs/heads/left")
        right.git("push", "-q", str(bare), f"{right_ref}:refs/heads/right")
        said = git(bare, "merge-tree", "--write-tree", "--no-messages", "--name-only", "left", "right", check=False)
        tree, *conflicted = said.split()
        assert [path for path in conflicted if not path.startswith(KNOWLEDGE)] == []
        commit = git(bare, "commit-tree", tree, "-p", "left", "-p", "right", "-m", "Merge").strip()
        git(bare, "update-ref", "refs/heads/main", commit)
        return self.fresh(bare, "--branch", "main")

    def meet(self, left: Tree, right: Tree) -> str:
        """Merges both ways at once, and on a forge; all three then know the same, which is returned as a digest."""
        served = self.forge(left, right)
        from_right, from_left = left.fetch(right), right.fetch(left)
        left.merge(from_right)
        right.merge(from_left)
        return self.agree(left, right, served)

    def agree(self, *trees: Tree) -> str:
        """Every tree verifies and has one digest, which a rebuild and a fresh clone of it have too."""
        digests = set()
        for tree in trees:
            assert tree.is_clean(), "a ledger is not committed, so no clone can agree"
            digests |= {tree.digest(), sound(tree), sound(self.fresh(tree))}
        assert len(digests) == 1
        return digests.pop()

    def close(self) -> None:
        for tree in self.made:
            tree.decapod.close()


def sound(tree: Tree) -> str:
    """The digest of a tree whose ledgers verify and whose database is what a rebuild would make."""
    verified = tree.decapod.ledger.verify()
    assert verified["ok"] and not verified["problems"], verified["problems"]
    checked = tree.decapod.rebuild(check=True)
    assert [found for found in checked["problems"] if not found["code"].startswith("markdown-")] == []
    return str(checked["digest"])


def changed_segments(top: Path) -> str:
    """Ledger files that any commit changed. A committed segment never changes, so there are none."""
    return git(top, "log", "--all", "-m", "--diff-filter=MT", "--no-renames", "--name-only", "--format=", "--", LEDGERS)


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here loses power: what a crash leaves is tested elsewhere."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    monkeypatch.setattr("os.sync", lambda: None)


@contextmanager
def some_trees(top: Path) -> Iterator[Trees]:
    """Working trees below one directory; at the end, whatever happened, no commit has changed a segment."""
    made = Trees(top)
    try:
        yield made
    finally:
        made.close()
    assert "".join(changed_segments(tree.top) for tree in made.made) == ""


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[Trees]:
    """Working trees for one test."""
    with some_trees(tmp_path) as made:
        yield made


@pytest.fixture
def redacting_trees(tmp_path: Path) -> Iterator[Trees]:
    """Working trees for a test that redacts, which is the one thing that changes a committed segment."""
    made = Trees(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def new_trees(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], AbstractContextManager[Trees]]:
    """Working trees for one of the many runs of a test."""
    return lambda: some_trees(tmp_path_factory.mktemp("trees"))


@pytest.fixture
def ada(trees: Trees) -> Tree:
    """Somebody with a repository of one committed entry."""
    tree = trees.new("ada")
    tree.add("What both know")
    tree.commit()
    return tree


@pytest.fixture
def ben(trees: Trees, ada: Tree) -> Tree:
    """Somebody else, with a clone of it."""
    return trees.clone(ada, "ben")
