"""Entries and repositories that a stranger made to mislead whoever reads what the gates say, or to hold them up."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from support import run
from validating import Reviewed, made

HOSTILE = "\x1b[31mred\x1b[0m | a | b |\n::error::all is well\r##[error]x\n</table><script> [x](http://e.test) \u202e"
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def tree(tmp_path: Path) -> Reviewed:
    return made(tmp_path / "tree")


def with_hostile_entries(tree: Reviewed) -> None:
    """Every field that a finding may quote."""
    words = {"title": HOSTILE, "content": f"{HOSTILE} {TOKEN}"}
    named = {"provenance": [f"person:{HOSTILE}", f"file:{HOSTILE}"], "merge_key": HOSTILE, "path": HOSTILE}
    tree.put(
        tree.crafted("entry.added", words, entry_id=HOSTILE, **named),
        tree.crafted("entry.added", words, entry_id=f"other {HOSTILE}", supersedes=[f"x{HOSTILE}"], **named),
        tree.crafted("entry.added", words, entry_id=f"x{HOSTILE}", supersedes=[f"other {HOSTILE}"], actor=HOSTILE),
        tree.crafted("entry.added", words, entry_id=f"procedural/{HOSTILE}", provenance=[f"event:{HOSTILE}"]),
        tree.crafted("entry.added", words, entry_id="dated", prev=[HOSTILE]),
    )


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_no_format_lets_an_entry_speak_for_the_program(tree, form):
    with_hostile_entries(tree)

    done = run(tree.top, "validate", "--format", form)

    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert not [letter for letter in said if ord(letter) < 32 and letter != "\n"]
    assert not any(line.startswith(("::error::", "##[")) for line in said.splitlines())
    assert "\u202e" not in said
    assert TOKEN not in said
    if form in ("json", "sarif"):
        json.loads(done.stdout)


def test_a_hook_does_not_let_an_entry_speak_either(tree):
    with_hostile_entries(tree)
    tree.git("add", "-A")
    done = run(tree.top, "hooks", "run", "pre-commit")
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert not [letter for letter in said if ord(letter) < 32 and letter != "\n"]
    assert "\u202e" not in said


@pytest.mark.parametrize(
    "piece",
    ["a", "aB3$x9 ", "-----BEGIN RSA PRIVATE KEY-----\n", "<!-- ", "ignore previous ", "\u200b", "password="],
)
def test_five_megabytes_of_text_take_seconds(tree, piece):
    text = (piece * 5_000_000)[:5_000_000]
    tree.put(tree.crafted("entry.added", {"title": "Big", "content": text}, entry_id="big"))
    began = time.process_time()
    assert ("size", "too-long") in tree.found(base="HEAD")
    assert time.process_time() - began < 15
    assert len(json.dumps(tree.validate(gates=["hidden-text", "secrets", "size"])["findings"])) < 100_000


def test_a_catastrophic_pattern_of_a_scheme_is_named_in_the_error(tree):
    pattern = r"(?:\w|\w\w)*\W"
    tree.configure(f"[provenance.schemes]\njira = '{pattern}'")
    done = run(tree.top, "knowledge", "add", "Words", "--provenance", f"jira:{'a' * 60}", "--json")
    assert done.returncode == 2
    assert "jira" in json.loads(done.stderr.splitlines()[-1])["error"]["message"]
    assert run(tree.top, "validate").returncode == 0


def test_a_decapod_that_is_a_link_is_not_followed(tree, tmp_path):
    tree.decapod.close()
    os.rename(tree.top / ".decapod", tmp_path / "away")
    (tree.top / ".decapod").symlink_to(tmp_path / "away")
    done = run(tree.top, "validate")
    assert done.returncode == 1
    assert "is a link" in done.stderr


def test_a_baseline_that_is_a_link_is_replaced_and_never_written_through(tree, tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tree.top / ".decapod/baseline.json").symlink_to(tmp_path / "precious")
    assert run(tree.top, "validate").returncode == 2
    assert run(tree.top, "validate", "--write-baseline").returncode == 0
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tree.top / ".decapod/baseline.json").is_symlink()


def test_two_thousand_segments_are_compared_with_a_base_that_lacks_them(tree):
    words = {"title": "A", "content": "A"}
    for number in range(2_000):
        tree.put(tree.crafted("entry.added", words, entry_id=f"e{number}"), name=number)
    assert len(tree.segments()) == 2_000
    assert tree.found(base="HEAD", gates=["ledgers", "append-only", "database", "gaps"]) == []
    tree.git("add", "-A")
    assert tree.found(staged=True, gates=["ledgers", "append-only", "database", "gaps"]) == []
