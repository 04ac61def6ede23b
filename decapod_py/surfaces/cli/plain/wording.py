"""How plain text is worded everywhere: quantities, facts, lists and next steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from decapod_py.domain.text import neutral, one_line

Result = dict[str, Any]
Lines = Iterable[str]


def quantity(number: int, singular: str, plural: str | None = None) -> str:
    """`1 entry`, `2 entries`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def entries(number: int) -> str:
    return quantity(number, "entry", "entries")


def facts(pairs: list[tuple[str, str]]) -> list[str]:
    """Aligned `name  value` lines; what has no value is left out."""
    told = [(name, value) for name, value in pairs if value]
    width = max((len(name) for name, _ in told), default=0)
    return [f"{name:<{width}}  {value}" for name, value in told]


def indented(text: str, by: str = "    ") -> list[str]:
    return [f"{by}{line}".rstrip() for line in neutral(text).strip("\n").split("\n")]


def joined(texts: Iterable[str]) -> str:
    return ", ".join(one_line(text) for text in texts)


def problems(found: list[Result]) -> Lines:
    """Problems with their fix, the way every check reports them."""
    for problem in found:
        place = f"{one_line(problem['place'])}: " if problem["place"] else ""
        yield f"{problem['severity']}: {place}{one_line(problem['message'])} [{one_line(problem['code'])}]"
        if problem["fix"]:
            yield f"  fix: {one_line(problem['fix'])}"


def next_steps(steps: list[str]) -> Lines:
    return (f"next: {one_line(step)}" for step in steps)


def counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {one_line(name)}" for name, number in counts.items() if number)
