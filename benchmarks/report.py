"""The document: bars first, then every number, then how and where it was measured."""

from __future__ import annotations

from typing import NamedTuple


class Bar(NamedTuple):
    """One promise and what came out."""

    name: str
    promised: str
    measured: str
    met: bool


class Table(NamedTuple):
    title: str
    head: list[str]
    rows: list[list[str]]


def at_most(name: str, limit: float, value: float, unit: str) -> Bar:
    return Bar(name, f"at most {limit:g}{_blank(unit)}", _quantity(value, unit), value <= limit)


def below(name: str, limit: float, value: float, unit: str) -> Bar:
    return Bar(name, f"under {limit:g}{_blank(unit)}", _quantity(value, unit), value < limit)


def at_least(name: str, limit: float, value: float, unit: str) -> Bar:
    return Bar(name, f"{limit:,g}{_blank(unit)}", _quantity(value, unit), value >= limit)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.01 else f"{seconds * 1e3:.1f} ms"


def megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


def document(facts: list[tuple[str, str]], bars: list[Bar], tables: list[Table], method: str) -> str:
    met = sum(bar.met for bar in bars)
    rows = [[bar.name, bar.promised, bar.measured, "met" if bar.met else "**missed**"] for bar in bars]
    parts = [
        "# Benchmarks",
        "Written by `make bench`. Absolute times are this machine's; ratios carry over to others.",
        f"## Bars: {met} of {len(bars)} met",
        markdown(["bar", "promised", "measured", ""], rows),
        *(f"## {table.title}\n\n{markdown(table.head, table.rows)}" for table in tables),
        f"## Method\n\n{method}",
        f"## Machine\n\n{markdown(['', ''], [list(fact) for fact in facts])}",
    ]
    return "\n\n".join(parts) + "\n"


def markdown(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in [head, ["-" * width for width in widths], *rows]
    ]
    return "\n".join(lines)


def _quantity(value: float, unit: str) -> str:
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return digits + _blank(unit)


def _blank(unit: str) -> str:
    return unit if unit.startswith("/") or unit == "x" else f" {unit}"
