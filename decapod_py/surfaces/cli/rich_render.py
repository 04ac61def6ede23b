"""Results on a terminal. Rich draws what gains from it; stored text is never read as markup, and comes in harmless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from decapod_py.domain.text import neutral, one_line
from decapod_py.domain.words import highlights
from decapod_py.surfaces.cli.plain import knowledge, proofs, render, upkeep, wording

Result = dict[str, Any]
_STATUS_STYLES = {"active": "green", "stale": "yellow", "deprecated": "yellow", "superseded": "dim", "deleted": "red"}
# The first word of a line of plain text, where it carries the meaning.
_WORD_STYLES = {
    "error:": "bold red",
    "FAILED:": "bold red",
    "DIFFERENT": "bold red",
    "warning:": "bold yellow",
    "similar:": "bold yellow",
    "proposed:": "bold yellow",
    "next:": "cyan",
    "fix:": "cyan",
    "verified:": "bold green",
    "approved:": "bold green",
    "inserted": "bold green",
    "merged": "bold green",
    "superseded": "bold green",
    "rebuilt:": "bold green",
    "recorded": "bold green",
}


def render_on_terminal(name: str, result: Result, console: Console | None = None) -> None:
    """Prints the result with colour and tables; Console itself honours NO_COLOR, TERM and COLUMNS."""
    screen = console or Console(highlight=False, markup=False, emoji=False)
    renderer = RENDERERS.get(name)
    if renderer:
        screen.print(renderer(result))
    elif name == "knowledge.export":
        # Lines for a program: wrapping them would break them.
        screen.print(Text(render(name, result)), soft_wrap=True)
    else:
        screen.print(_coloured(render(name, result)))


def _coloured(text: str) -> Text:
    lines = [_coloured_line(line) for line in text.split("\n")]
    return Text("\n").join(lines)


def _coloured_line(line: str) -> Text:
    coloured = Text(line)
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    if word in _WORD_STYLES:
        start = line.index(word)
        coloured.stylize(_WORD_STYLES[word], start, start + len(word))
    return coloured


def _stored(text: str) -> Text:
    return Text(neutral(text).strip("\n"))


def _highlighted(text: str, terms: list[str]) -> Text:
    shown = _stored(text)
    for start, end in highlights(shown.plain, terms):
        shown.stylize("bold yellow", start, end)
    return shown


def _status(status: str) -> Text:
    return Text(one_line(status), style=_STATUS_STYLES.get(status, ""))


def _facts(pairs: list[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            grid.add_row(Text(name), Text(value))
    return grid


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _entry(entry: Result) -> RenderableType:
    parts: list[RenderableType] = [_facts(knowledge.entry_facts(entry)), Text(""), _stored(entry["content"])]
    if entry.get("truncated"):
        parts.append(Text("cut; a larger --max-chars shows more", style="dim"))
    if entry["diverged"]:
        parts.append(_coloured(knowledge.settle_step(entry)))
    return Panel(Group(*parts), title=Text(one_line(entry["title"]), style="bold"), title_align="left")


def _listed(result: Result) -> RenderableType:
    if not result["entries"]:
        return Text(knowledge.listed_summary(result), style="dim")
    table = _table("id", "title", "status", "tags", "updated")
    for entry in result["entries"]:
        table.add_row(
            Text(one_line(entry["id"]), style="cyan"),
            Text(one_line(entry["title"])),
            _status("diverged" if entry["diverged"] else entry["status"]),
            Text(wording.joined(entry["tags"])),
            Text(one_line(entry["updated_at"])[:10], style="dim"),
        )
    return Group(table, Text(knowledge.listed_summary(result), style="dim"))


def _found(result: Result) -> RenderableType:
    parts: list[RenderableType] = []
    for number, hit in enumerate(result["results"], 1):
        parts.append(Text(f"{number}. ").append(one_line(hit["title"]), style="bold"))
        found = _highlighted(hit.get("content") or hit["snippet"], result["terms"])
        lines = [Text(knowledge.hit_line(hit), style="dim"), found]
        if "explain" in hit:
            lines.append(Text(f"why: {knowledge.explanation(hit['explain'])}", style="dim cyan"))
        parts.append(Padding(Group(*lines), (0, 0, 1, 3)))
    return Group(*parts, Text(knowledge.found_summary(result), style="dim"))


def _retrieval_evaluated(result: Result) -> RenderableType:
    columns = knowledge.measure_columns(result["k"])
    table = _table("mode", "kind", "queries", *columns.values())
    for row in result["measured"]:
        measures = [f"{row[name]:.3f}" for name in columns]
        table.add_row(one_line(row["mode"]), Text(one_line(row["kind"])), str(row["queries"]), *measures)
    notes = [Text(line, style="yellow") for line in knowledge.unmeasured(result)]
    return Group(table, *notes)


def _history(result: Result) -> RenderableType:
    parts: list[RenderableType] = [Text(one_line(result["id"]), style="cyan")]
    for event in result["events"]:
        inside: list[RenderableType] = [_facts(knowledge.history_facts(event))]
        if event["content"]:
            inside.append(_stored(event["content"]))
        parts += [Text(knowledge.history_heading(event), style="bold"), Padding(Group(*inside), (0, 0, 1, 2))]
    count = result["count"] + result["omitted"]
    note = f"{wording.quantity(count, 'event')}, newest first"
    if result["omitted"]:
        note += f"; {result['omitted']} older not shown, --limit shows more"
    return Group(*parts, Text(note, style="dim"))


def _status_of_workspace(result: Result) -> RenderableType:
    below = "\n".join([*wording.problems(result["problems"]), *upkeep.status_steps(result)])
    facts = _facts(upkeep.status_facts(result))
    return Group(facts, _coloured(below)) if below else facts


def _scanned(result: Result) -> RenderableType:
    parts: list[RenderableType] = []
    for alike in proofs.scan_groups(result):
        finding = alike[0]
        heading = Text(proofs.scan_place(finding), style="cyan").append(f"  {one_line(finding['kind'])}", style="dim")
        told = Text(one_line(finding["message"]), style="bold")
        parts += [heading, Padding(Group(told, _facts(proofs.scan_facts(alike))), (0, 0, 1, 2))]
    parts += [Text(note, style="yellow") for note in proofs.scan_notes(result)]
    return Group(*parts, Text(proofs.scan_summary(result), style="bold green" if result["ok"] else "bold red"))


def _shown(result: Result) -> RenderableType:
    columns = ("ts", "ledger", "type", "actor", "event_id")
    table = _table(*columns)
    for event in result["events"]:
        table.add_row(*(Text(one_line(str(event.get(column, "")))) for column in columns))
    note = wording.quantity(result["count"], "event")
    if result["omitted"]:
        note += f"; {result['omitted']} older not shown, --limit shows more"
    return Group(table, Text(f"{note}; --json shows them whole", style="dim"))


RENDERERS: dict[str, Callable[[Result], RenderableType]] = {
    "status": _status_of_workspace,
    "knowledge.get": _entry,
    "knowledge.list": _listed,
    "knowledge.search": _found,
    "knowledge.history": _history,
    "eval.retrieval": _retrieval_evaluated,
    "ledger.show": _shown,
    "scan": _scanned,
}
