"""The gates by name, and one run of them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain.policy import GATE_LEVELS
from decapod_py.foundation.errors import DecapodError, Misused, refused_by_the_machine
from decapod_py.gates.context import Context, Skipped
from decapod_py.gates.finding import Finding

if TYPE_CHECKING:
    from types import ModuleType


class Outcome(NamedTuple):
    """What came of one gate."""

    gate: str
    level: str
    state: str  # passed, failed, warned, skipped, off or broken
    findings: list[Finding]
    reason: str | None = None  # why it was skipped, or how it broke


def names() -> list[str]:
    return list(GATE_LEVELS)


def module_of(gate: str) -> ModuleType:
    return importlib.import_module(f"decapod_py.gates.{gate.replace('-', '_')}")


def explanation(gate: str) -> str:
    """What a gate looks at and why: its module's own words."""
    return (module_of(known(gate)).__doc__ or "").strip()


def known(gate: str) -> str:
    if gate not in GATE_LEVELS:
        from difflib import get_close_matches

        close = get_close_matches(gate, names(), 1, 0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names())}"
        raise Misused("unknown-gate", f"no gate is called {gate!r}", hint)
    return gate


def run(context: Context, gate: str, level: str) -> Outcome:
    """One gate. One that breaks is told as broken: it neither passes nor hides what the others found."""
    if level == "off":
        return Outcome(gate, level, "off", [])
    try:
        reported = [finding._replace(gate=gate, level=level) for finding in module_of(gate).check(context)]
        found = [finding for finding in reported if context.concerns(finding)]
    except Skipped as reason:
        return Outcome(gate, level, "skipped", [], str(reason))
    except DecapodError as problem:
        return Outcome(gate, level, "broken", [], problem.message)
    except Exception as problem:
        refused = refused_by_the_machine(problem)
        return Outcome(
            gate, level, "broken", [], refused.message if refused else f"{type(problem).__name__}: {problem}"
        )
    state = {"fail": "failed", "warn": "warned"}[level] if found else "passed"
    return Outcome(gate, level, state, found)
