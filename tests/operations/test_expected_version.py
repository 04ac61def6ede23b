from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import decapod, run


@pytest.fixture(autouse=True)
def _an_entry_that_somebody_changed(knowledge: Any) -> None:
    knowledge.add(id="a", title="Retries", text="Stops at three.", provenance=["cmd:x"])
    knowledge.edit(id="a", text="Stops at four.")


@pytest.mark.parametrize(
    ("verb", "fields"),
    [("edit", {"text": "Stops at five."}), ("deprecate", {}), ("delete", {}), ("revive", {})],
)
def test_whoever_decided_from_another_version_is_refused_with_the_present_one(
    knowledge: Any, refused: Any, verb: str, fields: dict[str, str]
) -> None:
    current = knowledge.get(id="a")["version"]

    error = refused(
        "version-conflict", 1, getattr(knowledge, verb), id="a", expected_version="01J00000000000000000000000", **fields
    )

    assert error.details == {"current_version": current}
    assert current in error.message


@pytest.mark.parametrize("verb", ["deprecate", "delete"])
def test_the_present_version_lets_a_change_pass(knowledge: Any, verb: str) -> None:
    version = knowledge.get(id="a")["version"]

    assert getattr(knowledge, verb)(id="a", expected_version=version)["id"] == "a"


def test_a_deprecated_entry_is_revived_from_the_version_that_was_seen(knowledge: Any) -> None:
    version = knowledge.deprecate(id="a")["version"]

    assert knowledge.revive(id="a", expected_version=version)["action"] == "revived"


def test_the_command_line_takes_it_too(repository: Path) -> None:
    version = decapod(repository, "knowledge", "get", "a")["version"]

    done = run(repository, "knowledge", "deprecate", "a", "--expected-version", "01J")
    assert done.returncode == 1
    assert version in done.stderr
    decapod(repository, "knowledge", "deprecate", "a", "--expected-version", version)
