"""Results as plain text: stable, without colour, for a pipe and for reading. One function a shape, a table a module."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from decapod_py.domain.text import neutral
from decapod_py.surfaces.cli.plain.wording import Lines, Result

# Which module knows the operations of a group, or a top-level one: a command loads that alone.
MODULES = {
    "init": "upkeep",
    "status": "upkeep",
    "stats": "upkeep",
    "rebuild": "upkeep",
    "doctor": "upkeep",
    "uninstall": "upkeep",
    "ledger": "upkeep",
    "hooks": "upkeep",
    "connect": "upkeep",
    "scan": "proofs",
    "validate": "proofs",
    "review": "proofs",
    "proof": "proofs",
    "trust": "proofs",
    "knowledge": "knowledge",
    "why": "knowledge",
    "eval": "knowledge",
    "sync": "vault",
    "links": "vault",
    "tags": "vault",
    "tasks": "coordination",
    "agents": "coordination",
}


def render(name: str, result: Result) -> str:
    """The result of this operation for a reader."""
    # Each renderer keeps stored text to its line; this catches the field that one day forgets to.
    return neutral("\n".join(renderer_of(name)(result)))


def renderer_of(name: str) -> Callable[[Result], Lines]:
    module = import_module(f"{__name__}.{MODULES[name.split('.')[0]]}")
    known: dict[str, Callable[[Result], Lines]] = module.RENDERERS
    return known[name]
