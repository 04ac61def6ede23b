"""A redaction meets branches from before it: readers obey, the gate names the place, and doing it again cleans."""

from __future__ import annotations

import re
from typing import Any

import pytest

from decapod_py.gates import registry
from decapod_py.gates.context import Context
from decapod_py.workspace import Workspace

SECRET = re.compile(rb"xyzzyplugh|kwijibo", re.IGNORECASE)
TEXT = "The password is xyzzyplugh-kwijibo."
REASON = "A password leaked."


@pytest.fixture
def ada(redacting_trees: Any) -> Any:
    """Somebody whose second commit leaked a password; what follows is harmless."""
    tree = redacting_trees.new("ada")
    tree.add("Deploying", TEXT, id="leak")
    tree.commit("Leak")
    for number in range(4):
        tree.add(f"Harmless {number}", f"Number {number}. " * 30)
        tree.commit()
    return tree


@pytest.fixture
def ben(redacting_trees: Any, ada: Any) -> Any:
    return redacting_trees.clone(ada, "ben")


def redact(tree: Any, target: str = "leak") -> Any:
    answer = tree.decapod.ledger.redact(target=target, reason=REASON)
    tree.commit("Redact")
    return answer


def holders(tree: Any, below: str = "") -> list[str]:
    """The files of a workspace that have the password in their bytes, relative to it."""
    top = tree.top / ".decapod"
    files = [path for path in (top / below).rglob("*") if path.is_file() and SECRET.search(path.read_bytes())]
    return sorted(path.relative_to(top).as_posix() for path in files)


def findings(tree: Any) -> list[tuple[str, str, int]]:
    """What the gate says."""
    workspace = Workspace(str(tree.top))
    try:
        found = registry.run(Context(workspace, workspace.state()), "redactions", "fail").findings
    finally:
        workspace.close()
    return [(finding.code, finding.file or "", finding.line or 0) for finding in found]


def undone_at(tree: Any) -> list[tuple[str, str, int]]:
    """Where the password stands in the ledgers, found without our code."""
    places = []
    for path in sorted((tree.top / ".decapod" / "ledgers").rglob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            if SECRET.search(line):
                places.append(("redaction-undone", path.relative_to(tree.top).as_posix(), number))
    return places


def test_a_redaction_reaches_another_clone_with_the_merge(redacting_trees: Any, ada: Any, ben: Any) -> None:
    redact(ada)
    ben.add("Ben's")
    ben.commit()

    redacting_trees.meet(ada, ben)

    assert (ben.entry("leak")["content"], findings(ben), holders(ben, "ledgers")) == ("[redacted]", [], [])
    assert holders(ben, "knowledge") == []


def test_what_is_local_to_the_other_clone_is_cleaned_by_its_doctor(ada: Any, ben: Any) -> None:
    assert ben.entry("leak")["content"] == TEXT
    ben.knowledge.edit(id="leak", text=f"{TEXT} Ben knew.")
    ben.commit()
    ada.merge(ada.fetch(ben))
    redact(ada)
    ben.merge(ben.fetch(ada))
    assert {path.split("/")[0] for path in holders(ben)} == {"local"}

    ben.decapod.doctor(fix=True)

    assert holders(ben) == []


def test_a_packed_copy_brings_the_text_back_and_the_gate_says_where(redacting_trees: Any, ada: Any, ben: Any) -> None:
    redact(ada)
    assert ben.decapod.ledger.pack()["joined"] == 5
    ben.commit("Pack")
    ben.git("merge", "-q", "--no-edit", ben.fetch(ada), check=False)
    # git asks about the segment that one side redacted and the other packed; either answer will do.
    assert all(line.startswith("DU ") for line in ben.git("status", "--porcelain").splitlines() if "U" in line[:2])
    ben.commit("Merge")

    assert findings(ben) == undone_at(ben) != []
    assert ben.entry("leak")["content"] == "[redacted]"
    assert not SECRET.search(str(ben.decapod.ledger.show(limit=1000)).encode())
    events = ben.decapod.status()["events"]

    redact(ben)

    assert (findings(ben), holders(ben), ben.decapod.status()["events"]) == ([], [], events)
    redacting_trees.agree(ben)
    assert ben.digest() == ada.digest()


def test_an_old_segment_checked_out_again_is_named_and_cleaned(redacting_trees: Any, ada: Any) -> None:
    before = ada.tip()
    (segment,) = redact(ada)["segments"]
    ada.git("checkout", "-q", before, "--", segment)
    ada.commit("Bring it back")

    assert findings(ada) == [("redaction-undone", segment, 1)] == undone_at(ada)
    redact(ada, ada.entry("leak")["version"])

    assert (findings(ada), holders(ada)) == ([], [])
    redacting_trees.agree(ada)


def test_cherry_picked_lines_in_a_segment_of_their_own_are_named_and_cleaned(
    redacting_trees: Any, ada: Any, ben: Any
) -> None:
    (segment,) = redact(ada)["segments"]
    old = ben.top / segment
    copy = old.with_name(f"{old.stem[:-2]}ZZ.jsonl")
    copy.write_bytes(b"".join([line for path in sorted(old.parent.glob("*.jsonl")) for line in path.open("rb")]))
    ben.commit("Copy")
    ben.merge(ben.fetch(ada))

    assert findings(ben) == undone_at(ben) == [("redaction-undone", copy.relative_to(ben.top).as_posix(), 1)]
    redact(ben)

    assert (findings(ben), holders(ben)) == ([], [])
    assert redacting_trees.agree(ben) == ada.digest()


def test_two_clones_that_redact_the_same_do_not_conflict(redacting_trees: Any, ada: Any, ben: Any) -> None:
    redact(ada)
    redact(ben)

    redacting_trees.meet(ada, ben)

    assert ada.decapod.ledger.show(type="event.redacted")["count"] == 2
    assert ada.decapod.ledger.redact(target="leak", reason=REASON)["segments"] == []


def test_a_version_that_another_branch_wrote_meanwhile_is_redacted_after_the_merge(
    redacting_trees: Any, ada: Any, ben: Any
) -> None:
    redact(ada)
    ben.knowledge.edit(id="leak", text=f"{TEXT} Still, says Ben.")
    ben.commit()
    ben.merge(ben.fetch(ada), take_ours=True)
    assert ben.entry("leak")["content"] != "[redacted]"

    redact(ben)

    assert (holders(ben), findings(ben)) == ([], [])
    redacting_trees.agree(ben)


@pytest.mark.parametrize("side", ["--ours", "--theirs"])
def test_two_clones_that_redact_neighbouring_lines_may_take_either_side(redacting_trees: Any, side: str) -> None:
    ada = redacting_trees.new("ada")
    for number in range(2):
        ada.add(f"Deploying {number}", f"{TEXT} Number {number}.", id=f"leak{number}")
    ada.commit("Leak")
    ben = redacting_trees.clone(ada, "ben")
    (segment,) = redact(ada, "leak0")["segments"]
    redact(ben, "leak1")

    ben.git("merge", "-q", "--no-edit", ben.fetch(ada), check=False)
    assert ben.git("diff", "--name-only", "--diff-filter=U").split() == [segment]
    ben.git("checkout", "-q", side, "--", segment)
    ben.commit("Merge")

    assert findings(ben) == undone_at(ben) == [("redaction-undone", segment, 1 if side == "--ours" else 2)]
    redact(ben, "leak0")
    assert (findings(ben), holders(ben)) == ([], [])
    redacting_trees.agree(ben)
