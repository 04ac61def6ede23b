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
from decapod_py.views.change import LEDGERS
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
    for file, line, code, message in context.change.bad_lines:
        yield context.finding(code, message, _BACK, file=file, line=line)
    if not context.staged:
        yield from _bad_lines(context)
    for event, segment, offset in context.events():
        for code, message, fix in [*_used_twice(context, event), *_out_of_order(context, event)]:
            yield context.finding(
                code, message, fix, file=f"{LEDGERS}/{segment}", line=context.line_of(segment, offset)
            )


def _bad_lines(context: Context) -> Iterator[Finding]:
    assert context.change
    rows = context.state.connection.execute(
        "SELECT segment, line, code, message FROM segment_problems"
        " WHERE NOT tail AND code != 'newer-format' ORDER BY segment, line"
    )
    for segment, line, code, message in rows:
        if f"{LEDGERS}/{segment}" in context.change.paths:
            yield context.finding(code, message, _BACK, file=f"{LEDGERS}/{segment}", line=line)


def _used_twice(context: Context, event: Event) -> Iterator[tuple[str, str, str]]:
    if context.state.count("events", "event_id = ?", (event["event_id"],)) > 1:
        message = f"event {event['event_id']} stands here and elsewhere with other content"
        yield "id-used-twice", message, "find in git which line came later, and remove it"


def _out_of_order(context: Context, event: Event) -> Iterator[tuple[str, str, str]]:
    for parent in event["prev"]:
        found = context.state.event_of_hash(parent)
        if found and found["ledger"] == event["ledger"] and found["event_id"] >= event["event_id"]:
            message = f"event {event['event_id']} does not sort after {found['event_id']}, which it builds on"
            yield "order", message, "find in git who wrote it: no program of ours does"
