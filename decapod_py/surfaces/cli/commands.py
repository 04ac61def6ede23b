"""The commands as data, generated from the request models, so that no route needs pydantic to read a command line."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decapod_py.surfaces.cli.catalogue_shape import Command, Param

CATALOGUE = os.path.join(os.path.dirname(__file__), "catalogue.json")
PROGRAM = "decapod"
ALIASES = {"check": "validate"}  # what people type, and the operation they mean


_loaded: dict[str, Command] = {}


def commands() -> dict[str, Command]:
    """Every command by the name of its operation, in the order people read about them."""
    if not _loaded:
        with open(CATALOGUE, encoding="utf-8") as file:
            _loaded.update({command["name"]: command for command in json.load(file)})
    return _loaded


def words(name: str) -> list[str]:
    """`knowledge.add` as it is typed: `knowledge add`."""
    return name.split(".")


def spelling(param: Param) -> str:
    """What a user calls the field: its option, or the placeholder of the argument."""
    return param["options"][0] if param["options"] else param["metavar"] or param["field"]
