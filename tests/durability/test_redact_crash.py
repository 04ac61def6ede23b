"""A redaction that is killed has not happened, or every reader obeys it and the next one finishes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from durability.commands import KILLED, SCRUBBING, Tree

SECRET = re.compile(rb"xyzzyplugh|kwijibo", re.IGNORECASE)
TEXT = "The password is xyzzyplugh-kwijibo."

BEFORE = ["locked", "caught-up", "segment-opened", "half-written"]
AFTER = [
    *("line-written", "appended", "kept", "folded", "committed"),
    *("temp-file-written", "markdown-renamed", "note-cleared"),
    *SCRUBBING,
    *("others-folded", "others-committed"),
]
REDACT = ("ledger", "redact", "leak", "--reason", "A password leaked.")


@pytest.fixture
def leaked(tree: Tree) -> Tree:
    """An entry that leaked in two segments and in its file, all of it committed."""
    tree.add("leak", TEXT)
    tree.git("add", "-A")
    tree.ask("knowledge", "edit", "leak", "--text", f"{TEXT} Still.")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "Leak")
    return tree


def holders(tree: Tree) -> list[Path]:
    return [path for path in tree.decapod.rglob("*") if path.is_file() and SECRET.search(path.read_bytes())]


def said(tree: Tree) -> bytes:
    """What readers say, as a question to each of them."""
    questions = [
        ("knowledge", "get", "leak"),
        ("knowledge", "history", "leak"),
        ("knowledge", "get", "leak", "--as-of", "HEAD"),
        ("knowledge", "search", "password", "--content"),
        ("knowledge", "export"),
        ("ledger", "show", "--limit", "1000"),
    ]
    return "\n".join(tree.run(*words).out for words in questions).encode()


def redactions(tree: Tree) -> int:
    count: int = tree.ask("ledger", "show", "--type", "event.redacted")["count"]
    return count


@pytest.mark.parametrize("step", BEFORE)
def test_killed_before_its_event_is_whole_nothing_has_happened(step: str, leaked: Tree) -> None:
    digest = leaked.ask("status")["digest"]

    assert leaked.run(*REDACT, kill_at=step).code == KILLED

    assert (leaked.ask("status")["digest"], redactions(leaked)) == (digest, 0)
    assert leaked.entry("leak")["content"] == f"{TEXT} Still."
    leaked.ask(*REDACT)
    assert (holders(leaked), redactions(leaked)) == ([], 1)
    leaked.check(torn=step == "half-written")


@pytest.mark.parametrize("then", ["the same again", "doctor --fix"])
@pytest.mark.parametrize("step", AFTER)
def test_killed_after_its_event_readers_obey_and_the_next_one_finishes(step: str, then: str, leaked: Tree) -> None:
    assert leaked.run(*REDACT, kill_at=step).code == KILLED

    assert not SECRET.search(said(leaked))
    assert leaked.run(*(REDACT if then == "the same again" else ("doctor", "--fix"))).code == 0

    assert (holders(leaked), redactions(leaked)) == ([], 1)
    assert leaked.entry("leak")["content"] == "[redacted]"
    leaked.check()
    leaked.check_against_a_clone()


@pytest.mark.parametrize("step", ["segment-stripped", "temp-file-written", "vacuumed"])
def test_killed_while_it_finishes_what_was_killed_it_is_finished_once_more(step: str, leaked: Tree) -> None:
    assert leaked.run(*REDACT, kill_at="line-written").code == KILLED
    assert leaked.run(*REDACT, kill_at=step).code == KILLED

    leaked.ask(*REDACT)

    assert (holders(leaked), redactions(leaked)) == ([], 1)
    leaked.check()
