"""Checkouts of every kind: sparse, read-only, in a submodule, in a worktree, in a subdirectory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import run

UNHIDDEN = [".decapod/ledgers", "src"]


@pytest.fixture(params=["cone", "patterns"])
def sparse(request: pytest.FixtureRequest, trees: Any, ada: Any) -> Any:
    """A clone whose checkout leaves the knowledge folder out."""
    tree = trees.clone(ada, "sparse", "--no-checkout")
    if request.param == "cone":
        tree.git("sparse-checkout", "set", "--cone", *UNHIDDEN)
    else:
        tree.git("sparse-checkout", "set", "--no-cone", "/*", "!/.decapod/knowledge/")
    tree.git("checkout", "-q")
    assert not (tree.top / ".decapod" / "knowledge").exists()
    return tree


def test_a_sparse_checkout_reads_without_its_markdown(ada: Any, sparse: Any) -> None:
    assert sparse.digest() == ada.digest()
    assert sparse.knowledge.search(query="what both know")["count"] == 1


def test_hidden_files_are_neither_written_nor_reported_missing(sparse: Any) -> None:
    status = sparse.decapod.status()

    assert (status["markdown"], status["problems"]) == ({}, [])
    assert list((sparse.top / ".decapod").glob("knowledge/*.md")) == []
    assert sparse.decapod.rebuild(check=True)["ok"]
    assert sparse.decapod.rebuild()["ok"]
    assert list((sparse.top / ".decapod").glob("knowledge/*.md")) == []
    assert sparse.git("status", "--porcelain") == ""


def test_an_edit_of_a_hidden_file_is_recorded_and_its_file_stays_hidden(trees: Any, ada: Any, sparse: Any) -> None:
    entry = sparse.knowledge.list()["entries"][0]["id"]
    sparse.knowledge.edit(id=entry, text="Edited where the file is hidden.")
    assert list((sparse.top / ".decapod").glob("knowledge/*.md")) == []
    assert sparse.decapod.status()["markdown"] == {}
    sparse.git("add", "--sparse", ".decapod/ledgers")
    sparse.git("commit", "-qm", "Edit")

    ada.merge(ada.fetch(sparse))

    assert ada.digest() == sparse.digest()
    assert "Edited where the file is hidden." in ada.file(entry).read_text()


def test_an_add_in_a_sparse_checkout_reaches_everybody(trees: Any, ada: Any, sparse: Any) -> None:
    entry = sparse.add("Added in the sparse checkout")
    sparse.git("add", "--sparse", "-A")
    sparse.git("commit", "-qm", "Add")
    ada.add("Ada's")
    ada.commit()
    served = trees.forge(ada, sparse)

    ada.merge(ada.fetch(sparse))
    sparse.merge(sparse.fetch(ada))

    trees.agree(ada, served)
    assert sparse.digest() == ada.digest()
    assert ada.file(entry).exists()
    assert sparse.decapod.status()["markdown"] == {}


def test_files_of_a_checkout_that_becomes_sparse_are_not_missed(ada: Any) -> None:
    ada.add("Another")
    ada.commit()
    before = ada.digest()

    ada.git("sparse-checkout", "set", "--cone", *UNHIDDEN)

    status = ada.decapod.status()
    assert (status["digest"], status["markdown"]) == (before, {})
    ada.git("sparse-checkout", "disable")
    assert ada.decapod.status()["markdown"] == {}
    assert len(list((ada.top / ".decapod" / "knowledge").glob("*.md"))) == 2


def in_a_read_only_place(place: Path, tree: Path, *arguments: str) -> Any:
    """The command's answer while `place` is mounted read-only, in a mount namespace that ends with it."""
    if not shutil.which("unshare"):
        pytest.skip("no unshare here")
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 77; cd "$2"; shift 2; exec "$@"'
    command = [sys.executable, "-m", "decapod_py", *arguments, "--json"]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", str(place), str(tree), *command],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("nothing can be mounted here")
    return json.loads(done.stdout) if done.returncode == 0 else json.loads(done.stderr.splitlines()[-1])["error"]


@pytest.mark.parametrize("known", ["never opened", "up to date", "behind"])
def test_a_read_only_checkout_is_read_without_a_trace(trees: Any, ada: Any, known: str) -> None:
    entry = ada.add("Read only")
    ada.commit()
    clone = trees.clone(ada, "clone")
    if known != "never opened":
        clone.digest()
    if known == "behind":
        ada.knowledge.edit(id=entry, text="Arrived while nobody looked.")
        ada.commit()
        clone.git("fetch", "-q", str(ada.top), "HEAD")
        clone.git("merge", "-q", "FETCH_HEAD")
    clone.decapod.close()
    before = {path: path.stat().st_mtime_ns for path in clone.top.rglob("*")}

    def ask(*arguments: str) -> Any:
        return in_a_read_only_place(clone.top, clone.top, *arguments)

    assert ask("status")["digest"] == ada.digest()
    assert ask("knowledge", "get", entry)["content"] == ada.entry(entry)["content"]
    assert [hit["id"] for hit in ask("knowledge", "search", "read only")["results"]] == [entry]
    assert ask("knowledge", "list")["total"] == 2
    assert ask("knowledge", "history", entry)["count"] == (2 if known == "behind" else 1)
    assert ask("ledger", "verify")["ok"]
    assert ask("rebuild", "--check")["ok"]
    assert ask("knowledge", "add", "No", "--provenance", "person:Ann")["code"] == "read-only"
    assert {path: path.stat().st_mtime_ns for path in clone.top.rglob("*")} == before


def test_a_read_only_git_directory_stops_no_add(trees: Any, ada: Any) -> None:
    ada.decapod.close()

    added = in_a_read_only_place(ada.top / ".git", ada.top, "knowledge", "add", "Still", "--provenance", "person:Ann")

    assert added["action"] == "inserted"
    assert ada.titles() == ["Still", "What both know"]


def test_a_read_only_git_directory_stops_claims_and_nothing_else_about_tasks(trees: Any, ada: Any) -> None:
    task = ada.decapod.tasks.create(title="Shared")["task_id"]
    run(ada.top, "tasks", "claim", task, "docs", "--agent", "one")
    ada.decapod.close()

    def ask(*arguments: str) -> Any:
        return in_a_read_only_place(ada.top / ".git", ada.top, "tasks", *arguments)

    assert ask("claim", task, "tests")["code"] == "claims-unwritable"
    assert ask("release", task, "docs", "--agent", "one")["code"] == "claims-unwritable"
    assert ask("status", task)["tasks"][0]["claims"][0]["agent"] == "one"
    assert ask("post-finding", task, "Found.")["task_id"] == task
    assert ask("create", "Another")["task_id"] != task
    assert ask("complete", task)["changed"]
    assert ada.decapod.tasks.status(task_id=task)["tasks"][0]["claims"] == []


def test_a_submodule_has_knowledge_of_its_own(trees: Any, ada: Any) -> None:
    outer = trees.new("outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(ada.top), "inner")
    outer.commit()
    inner = trees.open(outer.top / "inner")
    assert (inner.top / ".git").is_file()
    assert (inner.digest(), outer.titles()) == (ada.digest(), [])

    inner.add("In the submodule")
    first = inner.segments()
    inner.add("In the same segment")
    assert inner.segments() == first
    inner.git("add", "-A")
    inner.add("After git add, so in another")
    assert len(inner.segments() - first) == 1
    inner.commit()
    ada.add("Ada's")
    ada.commit()

    trees.meet(ada, inner)
    assert outer.titles() == []
    inner.add("Swept")
    inner.git("clean", "-qfd")
    assert len(inner.decapod.ledger.restore()["restored"]) == 1


def test_a_worktree_sees_its_own_head_and_index(trees: Any, ada: Any) -> None:
    side = trees.worktree(ada, "side")
    assert (side.top / ".git").is_file()
    side.add("First")
    first = side.segments()
    ada.add("Elsewhere")
    ada.commit()
    side.add("Second")
    assert side.segments() == first, "a commit in another worktree closes no segment here"
    side.git("add", "-A")
    side.add("Third")
    assert len(side.segments() - first) == 1
    side.commit()

    trees.meet(ada, side)


def test_a_worktree_on_a_packed_ref_closes_its_segment_at_each_commit(trees: Any, ada: Any) -> None:
    side = trees.worktree(ada, "side")
    ada.git("pack-refs", "--all")
    for title in ("One", "Two", "Three"):
        side.add(title)
        side.commit()

    trees.agree(side)
    assert len(side.segments()) == 4


def test_knowledge_of_a_subdirectory_is_found_from_below_and_restored(trees: Any) -> None:
    outer = trees.new("outer")
    project = outer.top / "projects" / "one"
    (project / "src").mkdir(parents=True)
    (project / "src" / "b.py").write_text("one\n")
    outer.decapod.close()
    shutil.move(outer.top / ".decapod", project / ".decapod")
    outer.commit("Knowledge of one project in a larger repository")
    inner = trees.open(project / "src")
    inner.add("In a subdirectory")
    before = inner.digest()

    outer.git("clean", "-qfd")

    assert inner.titles() == []
    assert len(inner.decapod.ledger.restore()["restored"]) == 1
    assert inner.digest() == before
    outer.commit()
    next((project / ".decapod" / "ledgers").rglob("*.jsonl")).unlink()
    answer = inner.decapod.ledger.restore()
    assert (answer["restored"], len(answer["left"])) == ([], 1)
