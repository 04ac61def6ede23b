"""What somebody does who writes to the ledgers behind the program's back, and what the gates say to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support import git, run

from decapod_py.domain.event import Event, seal, to_line
from decapod_py.foundation.ids import milliseconds_of, ulid

EVENTS = "knowledge.events"
PROMOTIONS = "knowledge.promotions"


def segments(place: Path, ledger: str = EVENTS) -> list[Path]:
    return sorted((place / ".decapod" / "ledgers" / ledger).rglob("*.jsonl"))


def events(place: Path, ledger: str = EVENTS) -> list[Event]:
    return [json.loads(line) for segment in segments(place, ledger) for line in segment.read_bytes().splitlines()]


def resealed(event: Event, **changes: Any) -> Event:
    """The event with other fields, and hashes that match them: keyless hashes keep nobody from that."""
    text = dict(changes.pop("text", event["text"]))
    fields = {
        name: value for name, value in {**event, **changes}.items() if name not in ("hash", "text_sha256", "text")
    }
    text.pop("_", None)
    return seal(fields, text, text.pop("salt", "0" * 32))


def after(event: Event, **changes: Any) -> Event:
    """A new event that builds on another one."""
    event_id = ulid(milliseconds_of(event["event_id"]) + 1)
    return resealed(event, **{"event_id": event_id, "prev": [event["hash"]], **changes})


def put(place: Path, event: Event, ledger: str | None = None) -> Path:
    """Writes an event into a segment of its own."""
    folder = place / ".decapod" / "ledgers" / (ledger or event["ledger"]) / "2026-11"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{ulid(milliseconds_of(event['event_id']) + 5)}.jsonl"
    path.write_bytes(to_line(event))
    return path


def place_of(top: Path, path: Path) -> str:
    return path.relative_to(top).as_posix()


def commit(place: Path, message: str = "Work", *more: str) -> str:
    git(place, "add", "-A")
    git(place, "commit", "-qm", message, "--allow-empty", *more)
    return git(place, "rev-parse", "HEAD").strip()


def validated(place: Path, *options: str, **environment: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON answer of `validate`."""
    done = run(place, "validate", *options, "--json", **environment)
    assert done.stdout, f"validate {' '.join(options)} said nothing:\n{done.stderr}"
    return done.returncode, json.loads(done.stdout)


def told(answer: dict[str, Any]) -> list[tuple[str, str, str | None, int | None]]:
    """Gate, code and place of each finding."""
    return [(one["gate"], one["code"], one["file"], one["line"]) for one in answer["findings"]]


def codes(answer: dict[str, Any]) -> set[tuple[str, str]]:
    return {(one["gate"], one["code"]) for one in answer["findings"]}
