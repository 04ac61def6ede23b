"""`ledger verify`: everything that the ledgers can prove by themselves, read from the files alone."""

from __future__ import annotations

from typing import NamedTuple

from decapod_py.domain.fold import texts
from decapod_py.foundation.progress import Progress
from decapod_py.storage import segments


class Finding(NamedTuple):
    code: str
    severity: str  # error or warning
    place: str
    message: str
    fix: str


class Verification(NamedTuple):
    events: int
    segments: int
    ledgers: dict[str, int]
    gaps: int
    findings: list[Finding]


class _Seen(NamedTuple):
    event_id: str
    place: str
    prev: list[str]
    ledger: str
    type: str


def verify(ledgers: str, allow_gaps: bool, progress: Progress) -> Verification:
    """Form, hash, digest and ledger of every line; then ids, parents and redactions across all of them."""
    findings: list[Finding] = []
    seen: dict[str, _Seen] = {}
    redacted: set[str] = set()
    textless: list[tuple[str, str]] = []
    paths = sorted(segments.scan(ledgers))
    for number, path in enumerate(paths, 1):
        for line in segments.read(ledgers, path):
            place = f".decapod/ledgers/{path}:{line.number}"
            if line.problem:
                findings.append(_bad_line(line, place))
            elif line.event:
                event = line.event
                seen.setdefault(
                    event["hash"], _Seen(event["event_id"], place, event["prev"], event["ledger"], event["type"])
                )
                if "text" not in event:
                    textless.append((event["event_id"], place))
                if event["type"] == "event.redacted":
                    redacted |= set(texts(event, "redacts"))
        progress("verifying", number, len(paths))
    findings += _strays(ledgers)
    findings += _ids_used_twice(seen)
    findings += _missing_texts(textless, redacted)
    gaps = _broken_links(seen, allow_gaps)
    counts: dict[str, int] = {}
    for known in seen.values():
        counts[known.ledger] = counts.get(known.ledger, 0) + 1
    return Verification(
        len(seen), len(paths), dict(sorted(counts.items())), sum(gap.code == "gap" for gap in gaps), findings + gaps
    )


def _bad_line(line: segments.Line, place: str) -> Finding:
    assert line.problem
    if not line.terminated:
        return Finding(
            "torn-line",
            "warning",
            place,
            "the last line is incomplete: a crash, or a write that goes on",
            "none is needed",
        )
    return Finding(
        line.problem.code, "error", place, line.problem.message, "bring the line back from git: git log -p -- the file"
    )


def _strays(ledgers: str) -> list[Finding]:
    return [
        Finding(
            "stray-file",
            "warning",
            f".decapod/ledgers/{path.encode('utf-8', 'backslashreplace').decode()}",
            "the file is no segment, by its place or its name; it is not read",
            "move it out of the ledgers",
        )
        for path in segments.strays(ledgers)
    ]


def _ids_used_twice(seen: dict[str, _Seen]) -> list[Finding]:
    first: dict[str, _Seen] = {}
    findings = []
    for event in seen.values():
        other = first.setdefault(event.event_id, event)
        if other is not event:
            findings.append(
                Finding(
                    "id-used-twice",
                    "error",
                    event.place,
                    f"event {event.event_id} stands at {other.place} with other content",
                    "find in git which line came later, and remove it",
                )
            )
    return findings


def _missing_texts(textless: list[tuple[str, str]], redacted: set[str]) -> list[Finding]:
    return [
        Finding(
            "text-missing",
            "error",
            place,
            f"event {event_id} has lost its text, and no event redacts it",
            "bring the line back from git",
        )
        for event_id, place in textless
        if event_id not in redacted
    ]


def _broken_links(seen: dict[str, _Seen], allow_gaps: bool) -> list[Finding]:
    findings = []
    for event in seen.values():
        for parent in event.prev:
            found = seen.get(parent)
            if found is None or found.ledger != event.ledger:
                findings.append(
                    Finding(
                        "gap",
                        "warning" if allow_gaps else "error",
                        event.place,
                        f"event {event.event_id} builds on {parent[:12]}…, which is not here",
                        "merge the branch that has it; --allow-gaps accepts a partial history",
                    )
                )
            elif found.event_id >= event.event_id:
                findings.append(
                    Finding(
                        "order",
                        "error",
                        event.place,
                        f"event {event.event_id} does not sort after {found.event_id}, which it builds on",
                        "find in git who wrote it: no program of ours does",
                    )
                )
    return findings
