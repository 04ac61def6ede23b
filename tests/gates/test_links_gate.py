"""The gate `links`: links that lead nowhere, or to several entries."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import make_repository
from validating import Reviewed


@pytest.fixture
def tree(tmp_path: Path) -> Reviewed:
    top = tmp_path / "tree"
    make_repository(top)
    return Reviewed(top)


def test_broken_and_ambiguous_links_are_warnings_with_file_and_line(tree):
    tree.add("one/note")
    tree.add("two/note")
    tree.add("source", text="[[note]], [[one/note]],\n[[nowhere]], `[[code]]`")

    result = tree.validate(gates=["links"])

    assert result["ok"]
    found = [(one["code"], one["severity"], one["entry"], one["message"]) for one in result["findings"]]
    assert found == [
        ("ambiguous-link", "warning", "source", "[[note]] in entry source may mean any of one/note, two/note"),
        ("broken-link", "warning", "source", "[[nowhere]] in entry source leads to no entry"),
    ]
    for finding, words in zip(result["findings"], ("[[note]]", "[[nowhere]]"), strict=True):
        assert words in (tree.top / finding["file"]).read_text().splitlines()[finding["line"] - 1]
    assert not tree.validate(gates=["links"], strict=True)["ok"]


def test_a_link_is_mended_by_the_entry_it_waits_for(tree):
    tree.add("source", text="[[later]]")
    assert tree.found(gates=["links"]) == [("links", "broken-link")]

    tree.add("later")
    assert tree.found(gates=["links"]) == []


def test_a_branch_answers_for_the_links_it_brings_only(tree):
    tree.add("old", text="[[nowhere]]")
    tree.commit()
    tree.branch()
    tree.add("fine", text="[[old]]")
    tree.commit()
    assert tree.found(gates=["links"], base="main") == []

    tree.add("new", text="[[nothing]]")
    tree.commit()
    (finding,) = tree.validate(gates=["links"], base="main")["findings"]
    assert finding["entry"] == "new"
    assert len(tree.found(gates=["links"])) == 2


def test_a_branch_answers_for_the_links_of_others_to_what_it_took_away(tree):
    tree.add("target")
    tree.add("twin/other")
    tree.add("reader", text="[[target]], [[other]] and [[nowhere]]")
    tree.commit()
    tree.branch()
    tree.knowledge.delete(id="target")
    tree.add("twin2/other")
    tree.commit()
    found = tree.validate(gates=["links"], base="main")["findings"]
    assert [(one["entry"], one["code"]) for one in found] == [("reader", "broken-link"), ("reader", "ambiguous-link")]


def test_what_is_staged_is_judged_by_what_is_staged(tree):
    tree.commit()
    tree.add("source", text="[[target]]")
    tree.git("add", "-A")
    tree.add("target")

    assert tree.found(gates=["links"], staged=True) == [("links", "broken-link")]
    tree.git("add", "-A")
    assert tree.found(gates=["links"], staged=True) == []


def test_the_gate_can_fail_or_be_turned_off(tree):
    tree.add("source", text="[[nowhere]]")
    tree.configure("[gates]\nlinks = 'fail'")
    assert not tree.validate()["ok"]

    tree.configure("[gates]\nlinks = 'off'")
    assert tree.states()["links"] == "off"
