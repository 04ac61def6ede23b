"""The Python call is the same operation every surface serves."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from decapod_py import client
from decapod_py.foundation.errors import Misused, Refused


def test_an_entry_is_added_and_found(tmp_path: Path) -> None:
    with client.open(tmp_path, actor="ana") as decapod:
        decapod.init()
        added = decapod.knowledge.add(title="Retries stop at 3", text="They do.", provenance=["person:ana"])
        found = decapod.knowledge.search(query="retries")
        entry = decapod.knowledge.get(id=added["id"])

    assert added["action"] == "inserted"
    assert [hit["id"] for hit in found["results"]] == [added["id"]]
    assert (entry["title"], entry["author"]) == ("Retries stop at 3", "ana")


def test_it_lists_what_can_be_called(tmp_path: Path) -> None:
    decapod = client.open(tmp_path)

    assert {"init", "status", "knowledge", "ledger", "close"} <= set(dir(decapod))
    assert {"add", "search", "import_", "retrieval_log"} <= set(dir(decapod.knowledge))
    assert "verify" in dir(decapod.ledger)


def test_a_call_documents_itself(tmp_path: Path) -> None:
    add = client.open(tmp_path).knowledge.add

    assert add.__doc__
    assert {"title", "text", "provenance"} <= set(inspect.signature(add).parameters)


def test_wrong_arguments_are_misuse_that_names_them(tmp_path: Path) -> None:
    decapod = client.open(tmp_path)

    with pytest.raises(Misused, match="limit: input should be greater than or equal to 1") as refused:
        decapod.knowledge.list(limit=0)
    assert refused.value.code == "bad-arguments"
    with pytest.raises(Misused, match="bogus: extra inputs are not permitted"):
        decapod.status(bogus=1)


def test_a_refusal_is_an_exception_with_its_code(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        client.open(tmp_path).status()

    assert refused.value.code == "not-initialised"


def test_an_unknown_name_is_an_attribute_error(tmp_path: Path) -> None:
    decapod = client.open(tmp_path)

    with pytest.raises(AttributeError, match="bogus"):
        _ = decapod.bogus
    with pytest.raises(AttributeError, match="bogus"):
        _ = decapod.knowledge.bogus
