"""The form of every line of the ledgers, and the chains between them.

A line must be canonical JSON whose hash and text digest match, in the ledger it names; an id belongs to one event, and
an event sorts after those it builds on. A line that was altered, or an event that was moved to another ledger, shows
here. With --base only what the change brings is read. A parent that is missing is the business of the gate `gaps`.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.domain.event import Event
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.storage.segments import Line
from decapod_py.views.change import file_of
from decapod_py.views.verification import verify

_BACK = "bring the line back from git: git log -p -- the file"


def check(context: Context) -> Iterator[Finding]:
    yield from _of_the_change(context) if context.change else _of_everything(context)


def _of_everything(context: Context) -> Iterator[Finding]:
    for found in verify(context.workspace.ledgers, True, context.workspace.progress).findings:
        if found.code not in ("gap", "torn-line", "newer-format"):
            file, _, line = found.place.rpartition(":")
            placed = line.isdigit()
            yield context.finding(
                found.code,
                found.message,
                found.fix,
                file=file if placed else found.place,
                line=int(line) if placed else None,
            )


def _of_the_change(context: Context) -> Iterator[Finding]:
    assert context.change
    redacted = context.state.redacted()
    for segment, lines in context.change.lines.items():
        for line in lines:
            for code, message in _of_a_line(line, redacted):
                yield context.finding(code, message, _BACK, file=file_of(segment), line=line.number)
    for event, segment, offset in context.change.brought:
        for code, message, fix in [*_used_twice(context, event), *_out_of_order(context, event)]:
            yield context.finding_at(segment, offset, code, message, fix)


def _of_a_line(line: Line, redacted: set[str]) -> Iterator[tuple[str, str]]:
    if line.problem and line.terminated and line.problem.code != "newer-format":
        yield line.problem.code, line.problem.message
    if line.event and "text" not in line.event and line.event["event_id"] not in redacted:
        yield "text-missing", f"event {line.event['event_id']} has lost its text, and no event redacts it"


def _used_twice(context: Context, event: Event) -> Iterator[tuple[str, str, str]]:
    if context.state.count("events", "event_id = ?", (event["event_id"],)) > 1:
        message = f"event {event['event_id']} stands here and elsewhere with other content"
        yield "id-used-twice", message, "find in git which line came later, and remove it"


def _out_of_order(context: Context, event: Event) -> Iterator[tuple[str, str, str]]:
    rows = context.state.connection.execute(
        "SELECT parent.event_id FROM events e JOIN event_parents p ON p.child = e.number"
        " JOIN events parent ON parent.hash = p.parent AND parent.ledger = e.ledger"
        " WHERE e.hash = ? AND parent.event_id >= e.event_id ORDER BY parent.event_id",
        (bytes.fromhex(event["hash"]),),
    )
    for (parent,) in rows:
        message = f"event {event['event_id']} does not sort after {parent}, which it builds on"
        yield "order", message, "find in git who wrote it: no program of ours does"
