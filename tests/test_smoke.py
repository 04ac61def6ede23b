from __future__ import annotations

from pathlib import Path
from typing import Any

from support import decapod, refusal


def test_an_added_entry_is_found(repository: Path) -> None:
    added = decapod(repository, "knowledge", "add", "Retries stop at 3", "--from", "src/a.py:3-9")
    found = decapod(repository, "knowledge", "search", "when do retries stop")
    assert [hit["id"] for hit in found["results"]] == [added["id"]]


def test_bad_provenance_is_misuse(repository: Path) -> None:
    assert refusal(repository, "knowledge", "add", "x", "--provenance", "nonsense") == (2, "bad-provenance")


def test_the_python_call_answers_like_the_command(knowledge: Any) -> None:
    added = knowledge.add(title="T", text="Body", provenance=["person:Ann"])
    assert knowledge.get(id=added["id"])["content"] == "Body"
