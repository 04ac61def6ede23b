"""Working trees with the gates on them: what tests of `decapod validate` share."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from support import StandingClock, git

from decapod_py.client import Decapod
from decapod_py.domain.event import Event, seal, to_line
from decapod_py.domain.fold import EVENTS
from decapod_py.foundation.clock import format_time
from decapod_py.foundation.ids import ulid

CODE = "def retry(times):\n    for attempt in range(times):\n        send(attempt)\n    return times\n"


class Reviewed:
    """One working tree, and what the gates say about it."""

    def __init__(self, top: Path, clock: StandingClock | None = None) -> None:
        self.top = top
        self.clock = clock or StandingClock()
        self.decapod = Decapod(top, actor="Ada", clock=self.clock)
        self.knowledge = self.decapod.knowledge

    def git(self, *arguments: str) -> str:
        return git(self.top, *arguments)

    def write(self, name: str, text: str) -> None:
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(text)

    def configure(self, text: str) -> None:
        self.write(".decapod/config.toml", f"format = 1\n{text}\n")

    def add(self, entry_id: str, provenance: str = "person:Ann", **more: Any) -> str:
        self.clock.forward(milliseconds=1_000)
        words = {"title": entry_id.title(), "text": f"About {entry_id}."}
        added = self.knowledge.add(**{"id": entry_id, "provenance": [provenance], **words, **more})
        return str(added["id"])

    def promote(self, source: str = "payments", *, approved_by: str | None = "Bea", **more: Any) -> str:
        """A promotion of an entry, which is added where it is not there yet."""
        if not self._has(source):
            self.add(source)
        self.clock.forward(milliseconds=1_000)
        words = {"evidence_refs": ["cmd:make test"], "reason": "It hurt", **more}
        named = {"approved_by": approved_by} if approved_by else {}
        return str(self.knowledge.promote(source_entry_id=source, **words, **named)["event_id"])

    def rule(self, promotion: str, entry_id: str = "procedural/payments") -> str:
        self.clock.forward(milliseconds=1_000)
        return str(self.knowledge.add(id=entry_id, provenance=[f"event:{promotion}"])["id"])

    def _has(self, entry_id: str) -> bool:
        return any(entry["id"] == entry_id for entry in self.knowledge.list(limit=1000)["entries"])

    def commit(self, message: str = "Work", *, author: str | None = None) -> str:
        self.git("add", "-A")
        named = [f"--author={author}"] if author else []
        self.git("commit", "-qm", message, "--allow-empty", *named)
        return self.git("rev-parse", "HEAD").strip()

    def branch(self, name: str = "work") -> None:
        self.git("checkout", "-qb", name)

    def validate(self, **options: Any) -> Any:
        return self.decapod.validate(**options)

    def found(self, **options: Any) -> list[tuple[str, str]]:
        """Gate and code of every finding."""
        result = self.validate(**options)
        broken = [gate for gate in result["gates"] if gate["state"] == "broken"]
        assert broken == []
        return [(finding["gate"], finding["code"]) for finding in result["findings"]]

    def states(self, **options: Any) -> dict[str, str]:
        return {gate["gate"]: gate["state"] for gate in self.validate(**options)["gates"]}

    def segments(self, ledger: str = EVENTS) -> list[Path]:
        return sorted((self.top / ".decapod" / "ledgers" / ledger).rglob("*.jsonl"))

    def put(self, *events: Event | bytes, ledger: str = EVENTS, name: int = 0) -> Path:
        """A segment with these lines, as somebody would bring it who uses another program."""
        path = self.top / ".decapod/ledgers" / ledger / "2026-03" / f"{ulid(self.clock.now + name, b'x' * 10)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(line if isinstance(line, bytes) else to_line(line) for line in events))
        return path

    def crafted(self, kind: str, text: dict[str, Any] | None = None, **fields: Any) -> Event:
        """An event with a hash that is right."""
        self.clock.forward(milliseconds=1_000)
        common = {
            "v": 1,
            "event_id": ulid(self.clock.now, os.urandom(10)),
            "ts": format_time(self.clock.now),
            "type": kind,
            "ledger": EVENTS,
            "actor": "Mallory",
            "prev": [],
        }
        return seal({**common, **fields}, text or {}, "00")


def made(top: Path) -> Reviewed:
    """A repository with one source file and one commit that `decapod init` is in."""
    top.mkdir(parents=True)
    git(top, "init", "-q")
    tree = Reviewed(top)
    tree.write("src/client.py", CODE)
    tree.decapod.init()
    tree.commit("Begin")
    return tree


def cloned(origin: Reviewed, name: str = "clone") -> Reviewed:
    """A clone that nobody has worked in."""
    git(origin.top.parent, "clone", "-q", str(origin.top), name)
    return Reviewed(origin.top.parent / name, origin.clock)


def lines_of(segment: Path) -> list[Event]:
    return [json.loads(line) for line in segment.read_bytes().splitlines()]


def files_of(top: Path) -> dict[str, bytes]:
    """Every file that is not git's or local."""
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file() and ".git" not in path.parts and not path.is_relative_to(top / ".decapod" / "local")
    }
