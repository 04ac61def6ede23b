"""The gate `drift` where files were moved: a citation goes by the old name, the change by the new one."""

from __future__ import annotations

from pathlib import Path

import pytest
from validating import CODE, Reviewed, made


@pytest.fixture
def tree(tmp_path: Path) -> Reviewed:
    """Entries about three files, of which two were renamed and one deleted before the branch began."""
    tree = made(tmp_path / "tree")
    for name in ("other", "third"):
        tree.write(
            f"src/{name}.py", f"def {name}(values):\n    found = {name}s[values]\n    log('{name}')\n    return found\n"
        )
    for name in ("client", "other", "third"):
        tree.add(name, f"file:src/{name}.py#L1-L4")
    tree.commit()
    tree.git("mv", "src/client.py", "src/renamed.py")
    tree.git("mv", "src/other.py", "src/elsewhere.py")
    tree.git("rm", "-q", "src/third.py")
    tree.commit("Nobody anchored anew")
    tree.branch()
    return tree


def drifted(tree: Reviewed, **options: object) -> set[tuple[str, str]]:
    findings = tree.validate(gates=["drift"], **options)["findings"]
    return {(finding["entry"], finding["code"]) for finding in findings}


def test_a_change_to_a_file_under_its_new_name_counts(tree):
    assert drifted(tree, base="main") == set()
    tree.write("src/renamed.py", CODE.replace("send", "post"))
    assert drifted(tree, base="main") == {("client", "changed")}
    tree.git("rm", "-q", "src/elsewhere.py")
    assert drifted(tree, base="main") == {("client", "changed"), ("other", "gone")}
    tree.commit()
    assert drifted(tree, base="main") == {("client", "changed"), ("other", "gone")}
    assert drifted(tree, base="HEAD") == set()
    assert drifted(tree) == {("client", "changed"), ("other", "gone"), ("third", "gone")}


def test_what_is_staged_counts_under_its_new_name_too(tree):
    tree.write("src/renamed.py", CODE.replace("send", "post"))
    assert drifted(tree, staged=True) == set()
    tree.git("add", "-A")
    tree.git("rm", "-q", "--cached", "src/elsewhere.py")
    assert drifted(tree, staged=True) == {("client", "changed"), ("other", "gone")}


def test_a_citation_that_leads_out_through_a_link_is_unresolvable_and_its_target_is_not_read(tmp_path):
    tree = made(tmp_path / "tree")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/client.py").write_text(CODE)
    tree.add("client", "file:src/client.py#L1-L4")
    tree.commit()
    (tree.top / "src/client.py").unlink()
    (tree.top / "src").rmdir()
    (tree.top / "src").symlink_to(tmp_path / "outside")
    (finding,) = tree.validate(gates=["drift"])["findings"]
    assert (finding["code"], "leads out of the repository" in finding["message"]) == ("unresolvable", True)
