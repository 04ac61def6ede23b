"""Drift wherever people work: shallow clones, worktrees, submodules, sparse checkouts, odd names, outside git."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from support import NOON, git

from decapod_py.client import Decapod

CODE = "".join(f"def step_{word}(value):\n    return {word}(value)\n\n\n" for word in ("wash", "rinse", "spin", "dry"))
RINSE = "#L5-L6"


@pytest.fixture
def ada(trees: Any) -> Any:
    tree = trees.new("ada")
    (tree.top / "src" / "steps.py").write_text(CODE)
    tree.commit("Write the steps")
    return tree


def cite(tree: Any, entry_id: str, *provenance: str) -> None:
    tree.knowledge.add(id=entry_id, title=f"About {entry_id}", text="It is so.", provenance=list(provenance))


def states(tree: Any) -> dict[str, tuple[str, str | None]]:
    return {one["id"]: (one["state"], one["now"]) for one in tree.knowledge.drift()["citations"]}


def write(tree: Any, path: str, text: str) -> None:
    file = tree.top / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def lower(tree: Any, path: str = "src/steps.py") -> None:
    """Two lines come to stand above all others."""
    write(tree, path, "import os\nimport sys\n" + (tree.top / path).read_text())


def test_a_shallow_clone_knows_all_but_commits_it_does_not_have(ada, trees):
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    cite(ada, "commit", f"commit:{ada.tip()}")
    ada.commit("Write down")
    lower(ada)
    ada.commit("Import")
    shallow = trees.clone(f"file://{ada.top}", "shallow", "--depth=1")

    assert states(shallow) == {
        "lines": ("moved", "file:src/steps.py#L7-L8"),
        "commit": ("unresolvable", None),
    }


def test_a_rename_is_followed_in_a_shallow_clone_by_its_content(ada, trees):
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    ada.git("mv", "src/steps.py", "src/cycle.py")
    ada.commit("Rename")
    shallow = trees.clone(f"file://{ada.top}", "shallow", "--depth=1")
    assert states(shallow) == {"lines": ("moved", "file:src/cycle.py#L5-L6")}


def test_a_detached_head_is_a_place_like_any_other(ada):
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    ada.commit("Write down")
    ada.git("checkout", "-q", "--detach")
    lower(ada)
    ada.commit("Import")
    assert states(ada) == {"lines": ("moved", "file:src/steps.py#L7-L8")}
    assert ada.knowledge.drift(fix=True)["fixed"] == ["lines"]


def test_each_worktree_has_its_own_drift(ada, trees):
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    ada.commit("Write down")
    linked = trees.worktree(ada, "linked")
    lower(linked)
    assert states(linked) == {"lines": ("moved", "file:src/steps.py#L7-L8")}
    assert states(ada) == {"lines": ("ok", "file:src/steps.py#L5-L6")}


@pytest.fixture
def with_module(ada: Any, trees: Any) -> Any:
    inner = trees.new("inner")
    write(inner, "lib.py", CODE)
    inner.commit("Write a library")
    ada.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.top), "vendor/inner")
    ada.commit("Use the library")
    cite(ada, "lines", f"file:vendor/inner/lib.py{RINSE}")
    ada.commit("Write down")
    return ada


def test_a_copy_that_was_there_before_is_not_where_a_deleted_file_went(ada):
    shutil.copy(ada.top / "src" / "steps.py", ada.top / "src" / "copy.py")
    ada.commit("Copy")
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    ada.git("rm", "-q", "src/steps.py")
    ada.commit("Remove")
    assert states(ada) == {"lines": ("gone", None)}


def test_files_in_a_submodule_are_watched(with_module):
    assert states(with_module) == {"lines": ("ok", "file:vendor/inner/lib.py#L5-L6")}
    lower(with_module, "vendor/inner/lib.py")
    assert states(with_module) == {"lines": ("moved", "file:vendor/inner/lib.py#L7-L8")}
    (with_module.top / "vendor/inner/lib.py").unlink()
    assert states(with_module) == {"lines": ("gone", None)}


def test_a_change_inside_a_submodule_is_one_of_the_branch_that_takes_it_in(with_module):
    base = with_module.git("rev-parse", "HEAD").strip()
    lib = with_module.top / "vendor/inner/lib.py"
    lib.write_text(CODE.replace("rinse", "soak"))
    git(lib.parent, "commit", "-qam", "Soak")
    with_module.commit("Take it in")
    assert [one["state"] for one in with_module.knowledge.drift(since=base)["citations"]] == ["changed"]
    found = with_module.decapod.validate(base=base)["findings"]
    assert [(one["gate"], one["code"], one["entry"]) for one in found] == [("drift", "changed", "lines")]
    assert [item["id"] for item in with_module.decapod.review(base=base)["items"] if item["kind"] == "untrue"] == [
        "lines"
    ]


def test_nothing_is_said_about_a_submodule_that_is_not_checked_out(with_module, trees):
    clone = trees.clone(with_module, "clone")
    (one,) = clone.knowledge.drift()["citations"]
    assert (one["state"], one["why"]) == ("unresolvable", "it is in a submodule that is not checked out")


def test_what_a_sparse_checkout_leaves_out_is_still_there(ada):
    write(ada, "docs/guide.md", "# Guide\n")
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    ada.commit("Write down")
    ada.git("sparse-checkout", "set", "docs", ".decapod")
    assert not (ada.top / "src" / "steps.py").exists()
    assert states(ada) == {"lines": ("ok", "file:src/steps.py#L5-L6")}
    cite(ada, "more", "file:src/steps.py#step_dry")
    assert states(ada)["more"] == ("ok", "file:src/steps.py#step_dry")


def test_line_ends_are_no_drift(ada, trees):
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    cite(ada, "whole", "file:src/steps.py")
    cite(ada, "name", "file:src/steps.py#step_dry")
    ada.commit("Write down")
    clone = trees.clone(ada, "clone", "-c", "core.autocrlf=true")
    assert b"\r\n" in (clone.top / "src" / "steps.py").read_bytes()
    assert {state for state, _ in states(clone).values()} == {"ok"}
    assert clone.knowledge.drift(fix=True)["event_id"] is None


def test_a_file_with_carriage_returns_is_cited_like_any_other(ada):
    (ada.top / "dos.py").write_bytes(CODE.replace("\n", "\r\n").encode())
    cite(ada, "lines", f"file:dos.py{RINSE}")
    cite(ada, "name", "file:dos.py#step_dry")
    assert states(ada) == {"lines": ("ok", "file:dos.py#L5-L6"), "name": ("ok", "file:dos.py#step_dry")}
    (ada.top / "dos.py").write_bytes(
        b"import os\r\n" + (ada.top / "dos.py").read_bytes().replace(b"return dry", b"return dried")
    )
    assert states(ada) == {"lines": ("moved", "file:dos.py#L6-L7"), "name": ("changed", "file:dos.py#step_dry")}


def test_a_binary_file_is_known_by_its_bytes(ada):
    (ada.top / "logo.png").write_bytes(b"\x89PNG\0" + bytes(range(256)) * 4)
    cite(ada, "logo", "file:logo.png")
    ada.commit("Draw a logo")
    assert states(ada) == {"logo": ("ok", "file:logo.png")}
    ada.git("mv", "logo.png", "mark.png")
    assert states(ada) == {"logo": ("moved", "file:mark.png")}
    (ada.top / "mark.png").write_bytes(b"\x89PNG\0another")
    ada.git("mv", "mark.png", "logo.png")
    assert states(ada) == {"logo": ("changed", "file:logo.png")}


@pytest.mark.parametrize("name", ["with blanks.py", "größe/maß.py", "日本/コード.py", "quo'te\"s.py", "100%.py"])
def test_any_name_is_watched_and_followed(name, ada):
    write(ada, name, CODE)
    cite(ada, "lines", f"file:{name}{RINSE}")
    ada.commit("Write down")
    (((state, now)),) = states(ada).values()
    assert (state, now.endswith(RINSE)) == ("ok", True)
    (ada.top / "neu ü").mkdir()
    ada.git("mv", name, "neu ü/x.py")
    ada.commit("Rename")
    ((state, _),) = states(ada).values()
    assert state == "moved"
    assert ada.knowledge.drift(fix=True)["fixed"] == ["lines"]
    ((state, _),) = states(ada).values()
    assert state == "ok"


def test_a_workspace_in_a_subdirectory_sees_paths_from_there(tmp_path, trees):
    (tmp_path / "service" / "src").mkdir(parents=True)
    (tmp_path / "service" / "src" / "steps.py").write_text(CODE)
    with Decapod(tmp_path / "service") as plain:
        plain.init()
    git(tmp_path, "init", "-q")
    tree = trees.open(tmp_path / "service")
    tree.commit("Begin")
    cite(tree, "lines", f"file:src/steps.py{RINSE}")
    tree.commit("Write down")
    tree.git("mv", "src/steps.py", "src/cycle.py")
    tree.commit("Rename")
    assert states(tree) == {"lines": ("moved", "file:src/cycle.py#L5-L6")}


def test_outside_git_digests_tell(tmp_path, trees):
    top = tmp_path / "plain"
    (top / "src").mkdir(parents=True)
    (top / "src" / "steps.py").write_text(CODE)
    tree = trees.open(top)
    tree.decapod.init()
    cite(tree, "lines", f"file:src/steps.py{RINSE}")
    cite(tree, "whole", "file:src/steps.py")
    assert {state for state, _ in states(tree).values()} == {"ok"}
    lower(tree)
    assert states(tree) == {"whole": ("changed", "file:src/steps.py"), "lines": ("moved", "file:src/steps.py#L7-L8")}
    (top / "src" / "steps.py").unlink()
    assert {state for state, _ in states(tree).values()} == {"gone"}
    git(top, "init", "-q")


def test_a_file_that_a_folder_replaced_is_gone(ada):
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    (ada.top / "src" / "steps.py").unlink()
    (ada.top / "src" / "steps.py").mkdir()
    assert states(ada) == {"lines": ("gone", None)}


def test_a_link_that_leads_out_of_the_repository_is_not_followed(ada, tmp_path):
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    outside = tmp_path / "outside.py"
    shutil.move(ada.top / "src" / "steps.py", outside)
    (ada.top / "src" / "steps.py").symlink_to(outside)
    (one,) = ada.knowledge.drift()["citations"]
    assert (one["state"], one["diff"]) == ("unresolvable", None)
    assert one["why"] == "src/steps.py leads out of the repository"


@pytest.mark.parametrize("told", [True, False])
def test_a_file_that_was_moved_and_not_committed_is_found(told, ada):
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    ada.commit("Write down")
    if told:
        ada.git("mv", "src/steps.py", "src/cycle.py")
    else:
        (ada.top / "src" / "steps.py").rename(ada.top / "src" / "cycle.py")
    assert states(ada) == {"lines": ("moved", "file:src/cycle.py#L5-L6")}


def test_a_chain_of_renames_is_followed_to_its_end(ada):
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    cite(ada, "whole", "file:src/steps.py")
    for old, new in (("steps", "cycle"), ("cycle", "round"), ("round", "programme")):
        ada.git("mv", f"src/{old}.py", f"src/{new}.py")
        lower(ada, f"src/{new}.py")
        ada.commit(f"Call it {new}")
    assert states(ada) == {
        "lines": ("moved", "file:src/programme.py#L11-L12"),
        "whole": ("changed", "file:src/programme.py"),
    }


def test_two_files_that_changed_places_are_told_apart(ada):
    write(ada, "src/other.py", "".join(f"def {word}_it():\n    {word}()\n" for word in ("cook", "fry", "bake", "boil")))
    ada.commit("Write another")
    cite(ada, "one", f"file:src/steps.py{RINSE}")
    cite(ada, "other", "file:src/other.py#L3-L4")
    ada.git("mv", "src/steps.py", "src/swap.py")
    ada.git("mv", "src/other.py", "src/steps.py")
    ada.git("mv", "src/swap.py", "src/other.py")
    ada.commit("Swap")
    assert states(ada) == {"one": ("moved", "file:src/other.py#L5-L6"), "other": ("moved", "file:src/steps.py#L3-L4")}


def test_a_repository_without_a_commit_is_enough(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text(CODE)
    with Decapod(tmp_path) as decapod:
        decapod.init()
        decapod.knowledge.add(id="a", title="A", text="A", provenance=[f"file:a.py{RINSE}"])
        assert decapod.knowledge.drift()["summary"] == {"ok": 1}
        (tmp_path / "a.py").rename(tmp_path / "b.py")
        assert decapod.knowledge.drift()["summary"] == {"moved": 1}


@pytest.mark.parametrize("said", ["fix", "reaffirm"])
def test_two_branches_that_anchor_one_entry_anew_merge_without_a_conflict(said, ada, trees):
    cite(ada, "lines", f"file:src/steps.py{RINSE}")
    ada.commit("Write down")
    bea = trees.clone(ada, "bea", now=NOON + 50_000)
    for tree, lines in ((ada, 1), (bea, 2)):
        for _ in range(lines):
            lower(tree)
        if said == "fix":
            assert tree.knowledge.drift(fix=True)["fixed"] == ["lines"]
        else:
            tree.knowledge.reaffirm(ids=["lines"], reason="Looked")
        tree.git("add", ".decapod")
        tree.git("commit", "-qm", f"Anchor anew ({tree.top.name})")
        tree.git("checkout", "-q", "src")

    trees.meet(ada, bea)

    assert not ada.entry("lines")["diverged"]
    assert states(ada) == states(bea)
