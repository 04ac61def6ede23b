"""Catalogue, schemas and reference come from the operations, and the check notices when they drift."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated, Any

import pytest
from annotated_types import MinLen
from jsonschema import Draft202012Validator
from pydantic import BaseModel, field_validator

from decapod_py.operations import catalogue
from decapod_py.operations.requests import AddEntry, Search
from decapod_py.surfaces import generate


@pytest.fixture
def written(tmp_path: Path) -> Path:
    generate.main([], tmp_path)
    return tmp_path


def test_the_checked_in_files_are_what_the_operations_say() -> None:
    assert generate.main(["--check"]) == 0


def test_writing_twice_changes_nothing(written: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in written.rglob("*.json")}
    generate.main([], written)

    assert {path: path.stat().st_mtime_ns for path in written.rglob("*.json")} == before
    assert generate.main(["--check"], written) == 0


def test_the_check_names_every_file_that_differs_or_should_not_exist(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (written / "docs" / "reference.md").write_text("by hand\n")
    (written / "schemas" / "knowledge.add.request.json").unlink()
    shutil.copy(written / "schemas" / "init.result.json", written / "schemas" / "gone.result.json")

    assert generate.main(["--check"], written) == 1
    assert capsys.readouterr().err == (
        "schemas/knowledge.add.request.json differs from the code\n"
        "docs/reference.md differs from the code\n"
        "schemas/gone.result.json belongs to no operation\n"
        "run: python -m decapod_py.surfaces.generate\n"
    )

    generate.main([], written)
    assert generate.main(["--check"], written) == 0


@pytest.mark.parametrize("operation", catalogue.all_operations(), ids=lambda operation: operation.name)
def test_each_schema_is_a_valid_schema(operation: catalogue.Operation, written: Path) -> None:
    for part in ("request", "result"):
        Draft202012Validator.check_schema(json.loads((written / f"schemas/{operation.name}.{part}.json").read_text()))


def test_a_field_says_how_it_is_typed() -> None:
    params = {name: generate.param(name, field) for name, field in AddEntry.model_fields.items()}
    search = {name: generate.param(name, field) for name, field in Search.model_fields.items()}

    assert params["text"] == {
        "field": "text",
        "kind": "str",
        "options": ["--text"],
        "off_options": [],
        "file_option": "--text-file",
        "required": False,
        "default": None,
        "choices": [],
        "min": None,
        "max": None,
        "metavar": "TEXT",
        "help": "The content, in Markdown",
    }
    assert (params["note"]["options"], params["note"]["metavar"]) == ([], "NOTE")
    assert (params["sources"]["kind"], params["sources"]["options"]) == ("list", ["--from"])
    assert (params["confidence"]["min"], params["confidence"]["max"]) == (0, 1)
    assert params["on_conflict"]["choices"] == ["merge", "supersede", "reject"]
    assert (search["content"]["options"], search["content"]["off_options"]) == (["--content"], ["--no-content"])


class Validated(BaseModel):
    a: str

    @field_validator("a")
    @classmethod
    def check(cls, value: str) -> str:
        return value


class Constrained(BaseModel):
    a: Annotated[str, MinLen(1)]


class Nested(BaseModel):
    a: dict[str, Any]


def test_a_rule_that_only_one_route_would_apply_is_refused() -> None:
    with pytest.raises(TypeError, match="validator"):
        generate._refuse_validators(Validated)
    with pytest.raises(TypeError, match="does not know the rule"):
        generate.param("a", Constrained.model_fields["a"])
    with pytest.raises(TypeError, match="no way to give a"):
        generate.param("a", Nested.model_fields["a"])
