"""What `catalogue.json` holds. The fast route never imports this: typed dictionaries cost start-up time."""

from __future__ import annotations

from typing import Any, TypedDict


class Param(TypedDict):
    """One field of a request, as an option or an argument."""

    field: str
    kind: str  # str, int, float, bool, choice or list
    options: list[str]  # empty for an argument
    off_options: list[str]  # what says no, for a flag that also can
    file_option: str | None  # reads the text from a file; `-` then means standard input
    required: bool
    default: Any
    choices: list[str]
    min: float | None
    max: float | None
    metavar: str | None  # nothing for a flag or a choice
    help: str


class Command(TypedDict):
    """One operation, as a command."""

    name: str
    module: str
    help: str
    description: str
    writes: bool
    destructive: bool
    params: list[Param]
