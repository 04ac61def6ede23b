"""Commands as processes that can be killed, and what must hold of a workspace whatever was killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from support import PROJECT

from decapod_py.client import Decapod
from decapod_py.foundation.clock import DAY, system_clock

KILLED = -9
TORN = "torn-line"
# The steps of a redaction after its event: `test_redact_crash` kills a process at each.
SCRUBBING = ("redaction-recorded", "redacted-files-written", "segment-stripped", "vacuumed", "log-emptied")
# The steps of a claim: `test_claim_races` kills a process at each.
CLAIMING = ("claims-made", "claims-locked", "claim-written", "claim-committed")
_ENOUGH = 500_000_000


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        assert self.code == 0, f"exit {self.code}\n{self.out}{self.err}"
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The code of the error."""
        found: str = json.loads(self.err.strip().splitlines()[-1])["error"]["code"]
        return found


def environment(home: Path) -> dict[str, str]:
    """An environment that knows nothing of the machine it runs on."""
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DECAPOD_", "GIT_"))}
    return {
        **kept,
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "DECAPOD_ACTOR": "Ada",
        "PYTHONPATH": f"{PROJECT}:{PROJECT / 'tests'}",
    }


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder in memory where there is one: a killed process loses nothing that the disk could have kept."""
    memory = Path("/dev/shm")
    usable = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ENOUGH
    with tempfile.TemporaryDirectory(prefix="decapod-", dir=memory if usable else None) as folder:
        yield Path(folder)


class Commands:
    """The fork server, seen from a test."""

    def __init__(self, home: Path) -> None:
        self.environment = environment(home)
        self._server = subprocess.Popen(
            [sys.executable, str(PROJECT / "tests" / "durability" / "fork_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def run(self, place: Path, *arguments: str, **how: Any) -> Done:
        """Runs a command; `kill_at`, `kill_after`, `signal` and `largest_file` say how it goes wrong."""
        assert self._server.stdin and self._server.stdout
        request = {"place": str(place), "arguments": [*arguments, "--json"], **how}
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return Done(**json.loads(self._server.stdout.readline()))

    def git(self, place: Path, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=place, capture_output=True, text=True, env=self.environment, check=False
        )
        assert done.returncode == 0, f"git {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}"
        return done.stdout

    def close(self) -> None:
        assert self._server.stdin and self._server.stdout
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


class Tree:
    """One working tree and the commands run in it."""

    def __init__(self, commands: Commands, top: Path) -> None:
        self.commands = commands
        self.top = top
        self.decapod = top / ".decapod"
        self.local = self.decapod / "local"

    def run(self, *arguments: str, **how: Any) -> Done:
        return self.commands.run(self.top, *arguments, **how)

    def ask(self, *arguments: str) -> Any:
        """The answer of a command that succeeds."""
        return self.run(*arguments).answer

    def git(self, *arguments: str) -> str:
        return self.commands.git(self.top, *arguments)

    def add(self, entry_id: str, text: str = "Something that is true.", *more: str) -> Any:
        words = ("--id", entry_id, "--title", f"About {entry_id}", "--text", text, "--provenance", "person:Ada")
        return self.ask("knowledge", "add", *words, *more)

    def entry(self, entry_id: str) -> Any:
        """The entry, or nothing where there is none."""
        done = self.run("knowledge", "get", entry_id)
        return done.answer if done.code == 0 or done.error != "not-found" else None

    def status_of(self, entry_id: str) -> str | None:
        entry = self.entry(entry_id)
        return entry["status"] if entry else None

    def event_ids(self) -> set[str]:
        shown = self.ask("ledger", "show", "--limit", "100000")
        return {event["event_id"] for event in shown["events"]}

    def segments(self) -> list[Path]:
        return sorted((self.decapod / "ledgers").rglob("*.jsonl"))

    def check(self, *, torn: bool | None = False) -> None:
        """Database and Markdown equal the fold, and every chain verifies. `torn=None`: a torn line may be there."""
        checked = self.ask("rebuild", "--check")
        problems = {problem["code"] for problem in checked["problems"]}
        assert problems <= {TORN} and checked["ok"], checked["problems"]
        verified = self.ask("ledger", "verify")
        findings = {finding["code"] for finding in verified["problems"]}
        assert findings <= {TORN} and verified["ok"], verified["problems"]
        if torn is not None:
            assert (TORN in findings) == torn == (TORN in problems)

    def clone(self, name: str = "clone") -> Tree:
        """A fresh clone of everything that is here."""
        self.git("add", "-A")
        self.git("commit", "-qm", "All", "--allow-empty")
        target = self.top.with_name(f"{self.top.name}-{name}")
        self.git("clone", "-q", "--local", str(self.top), str(target))
        return Tree(self.commands, target)

    def check_against_a_clone(self) -> None:
        """A clone that starts from the ledgers alone knows the same, and finds the same Markdown."""
        clone = self.clone()
        assert clone.ask("rebuild")["digest"] == self.ask("status")["digest"]
        assert clone.git("status", "--porcelain") == ""
        shutil.rmtree(clone.top)

    def copy_to(self, top: Path) -> Tree:
        """The same committed state elsewhere, without anything local."""
        shutil.copytree(self.top, top, symlinks=True, ignore=shutil.ignore_patterns("local"))
        return Tree(self.commands, top)


def new_tree(commands: Commands, top: Path) -> Tree:
    top.mkdir(parents=True)
    tree = Tree(commands, top)
    tree.git("init", "-q", "--template=")
    tree.ask("init")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "Begin")
    return tree


def lived_in_tree(commands: Commands, top: Path) -> Tree:
    """A repository in which every operation has something to act on."""
    tree = new_tree(commands, top)
    tree.add("plain")
    tree.add("keyed", "The first text.", "--merge-key", "key")
    tree.git("add", "-A")
    tree.add("old")
    tree.ask("knowledge", "deprecate", "old")
    tree.git("add", "-A")
    tree.add("source")
    _add_expired(tree, "fading")
    tree.git("add", "-A")
    tree.add("doomed")
    _receive_from_another_clone(tree)
    tree.git("add", "-A")
    tree.git("commit", "-qm", "Lived in")
    return tree


def propose(tree: Tree) -> str:
    """A promotion that nobody approved yet."""
    words = ("--source-entry-id", "source", "--evidence-ref", "url:https://example.com/", "--reason", "It held.")
    promotion: str = tree.ask("knowledge", "promote", *words, "--actor", "Ben")["event_id"]
    return promotion


def _add_expired(tree: Tree, entry_id: str) -> None:
    with Decapod(tree.top, actor="Ada", clock=lambda: system_clock() - 10 * DAY) as past:
        past.knowledge.add(
            id=entry_id, title="Fading", text="For a day.", provenance=["person:Ada"], ttl_policy="ephemeral"
        )


def _receive_from_another_clone(tree: Tree) -> None:
    """Brings two entries with one merge key, and one entry with two head versions."""
    tree.add("split", "As both knew it.")
    other = tree.clone("other")
    for side, name in ((tree, "left"), (other, "right")):
        side.add(name, "Held.", "--merge-key", "clash")
        side.ask("knowledge", "edit", "split", "--text", f"As the {name} has it.")
    for segment in other.segments():
        target = tree.decapod / "ledgers" / segment.relative_to(other.decapod / "ledgers")
        if not target.exists():
            shutil.copy(segment, target)
    tree.ask("status")
    shutil.rmtree(other.top)
