"""What a vault of linked Markdown costs: taking hand edits in, and every tool of an agent beside 10,000 entries.

Run by itself it prints its bars and the time of each; `make bench` takes it in.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from json import dumps
from typing import Any, NamedTuple

import report
from children import Command, McpClient, Spread, environment, seconds_of, spread
from corpus import SEED, entries

ENTRIES, CHANGED = 10_000, 1_000
_LINKS_EACH = 4
# They look at every file, or at every line of the ledgers: no index answers that.
SWEEPS = ("status", "sync", "ledger_verify")

Arguments = Callable[[int], dict[str, Any]]


class Vault(NamedTuple):
    unchanged: Spread
    syncs: dict[str, float]  # what was done to so many files, and the seconds to take it in
    tools: dict[str, Spread]
    resident: int

    @property
    def slowest_sync(self) -> float:
        return max(self.syncs.values())

    @property
    def slowest_tool(self) -> tuple[str, float]:
        p50, name = max((one.p50, name) for name, one in self.tools.items() if name not in SWEEPS)
        return name, p50


def measured(scratch: str, script: Command, settings: dict[str, str], rounds: int) -> Vault:
    place = _repository(os.path.join(scratch, "vault"), script, settings)
    tools, resident = _tools(place, script, settings, max(rounds, 5))
    commit(place, settings)
    seconds_of([*script, "sync"], place, settings)
    unchanged = spread([seconds_of([*script, "sync"], place, settings) for _ in range(rounds)])
    syncs = {}
    for name, touch in _TOUCHES.items():
        touch(os.path.join(place, ".decapod", "knowledge"))
        os.sync()
        syncs[name] = seconds_of([*script, "sync", "--allow-deletions"], place, settings)
        commit(place, settings)
        seconds_of([*script, "status"], place, settings)
    return Vault(unchanged, syncs, tools, resident)


def bars(vault: Vault) -> list[report.Bar]:
    name, slowest = vault.slowest_tool
    return [
        report.below(f"sync of {ENTRIES:,} files, none changed, p50", 1, vault.unchanged.p50, "s"),
        report.below(f"sync of {CHANGED:,} changed, new, moved or removed files", 5, vault.slowest_sync, "s"),
        report.below(f"slowest tool over stdio at {ENTRIES:,}, p50 (`{name}`)", 10, slowest * 1e3, "ms"),
        report.below("MCP server, resident after every tool", 150, vault.resident / 1e6, "MB"),
    ]


def tables(vault: Vault) -> list[report.Table]:
    ms = report.milliseconds
    syncs = [["nothing", ms(vault.unchanged.p50)], *([name, ms(seconds)] for name, seconds in vault.syncs.items())]
    tools = [[f"`{name}`", ms(one.best), ms(one.p50), ms(one.p95)] for name, one in vault.tools.items()]
    return [
        report.Table(f"`decapod sync` of {ENTRIES:,} files", [f"{CHANGED:,} files", "taken in"], syncs),
        report.Table(f"Every tool over stdio at {ENTRIES:,} linked entries", ["tool", "best", "p50", "p95"], tools),
    ]


def method(rounds: int) -> str:
    sweeps = ", ".join(f"`{name}`" for name in SWEEPS)
    return f"""\
- **Vault**: {ENTRIES:,} entries of {_LINKS_EACH} links each, in 50 folders, committed. `sync` is a process with its
  start, {rounds} times with nothing changed and once for each way of touching {CHANGED:,} files, every change committed
  before the next. Tools are called one after the other by one client of one server with all toolsets. `tags`, `stats`,
  `links_broken` and `links_graph` work out the whole once and answer from it until somebody writes: their p95 is the
  first call. {sweeps} look at every file or every line each time and are held to no bar; `validate`, `review` and
  `scan` are not called here."""


def _repository(place: str, script: Command, settings: dict[str, str]) -> str:
    os.makedirs(place)
    _git(place, settings, "init", "-q")
    seconds_of([*script, "init"], place, settings)
    corpus = place + ".jsonl"
    with open(corpus, "w", encoding="utf-8") as file:
        file.writelines(dumps(entry) + "\n" for entry in _linked())
    seconds_of([*script, "knowledge", "import", corpus], place, settings)
    commit(place, settings)
    return place


def _linked() -> Iterator[dict[str, Any]]:
    chooser = random.Random(SEED)
    for number, entry in enumerate(entries(ENTRIES)):
        others = ", ".join(f"[[note-{chooser.randrange(ENTRIES)}]]" for _ in range(_LINKS_EACH))
        yield {**entry, "id": f"area-{number % 50}/note-{number}", "content": f"{entry['content']}\n\nSee {others}."}


def commit(place: str, settings: dict[str, str]) -> None:
    _git(place, settings, "add", "-A")
    _git(place, settings, "commit", "-qm", "Work")


def _git(place: str, settings: dict[str, str], *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=place, env=settings, check=True, stdout=subprocess.DEVNULL)


def _files(vault: str) -> list[str]:
    found = [os.path.join(folder, name) for folder, _, names in os.walk(vault) for name in names]
    return sorted(found)


def _edit(vault: str) -> None:
    for path in _files(vault)[:CHANGED]:
        with open(path, "a", encoding="utf-8") as file:
            file.write("\nMore, by hand.\n")


def _add(vault: str) -> None:
    os.mkdir(os.path.join(vault, "new"))
    for number in range(CHANGED):
        with open(os.path.join(vault, "new", f"{number}.md"), "w", encoding="utf-8") as file:
            file.write(f"# Note {number}\n\n{'Some words of a note. ' * 20}\n")


def _move(vault: str) -> None:
    os.mkdir(os.path.join(vault, "moved"))
    for path in _files(vault)[2 * CHANGED : 3 * CHANGED]:
        os.rename(path, os.path.join(vault, "moved", os.path.basename(path)))


def _remove(vault: str) -> None:
    for path in _files(vault)[-CHANGED:]:
        os.unlink(path)


_TOUCHES = {"changed": _edit, "new": _add, "moved": _move, "removed": _remove}


def _tools(place: str, script: Command, settings: dict[str, str], rounds: int) -> tuple[dict[str, Spread], int]:
    client = McpClient([*script, "mcp", "--toolset", "all"], place, settings)
    client.initialize()
    task = client.call("tasks_create", {"title": "Measure", "agent": "bench"})["task_id"]
    taken = {name: spread(_timed(client, name, arguments, rounds)) for name, arguments in _calls(task).items()}
    resident = client.resident_bytes()
    taken |= {name: spread(_timed(client, name, lambda _: {}, 3)) for name in SWEEPS}
    client.close()
    return taken, resident


def _timed(client: McpClient, tool: str, arguments: Arguments, rounds: int) -> list[float]:
    taken = []
    for number in range(rounds):
        wanted = arguments(number)
        start = time.perf_counter()
        client.call(tool, wanted)
        taken.append(time.perf_counter() - start)
    return taken


def _calls(task: str) -> dict[str, Arguments]:
    """Every tool that asks or changes one thing, with arguments that are others each time."""
    fresh = count()

    def entry(number: int) -> str:
        return f"area-{number * 7 % 50}/note-{number * 7}"

    def on_task(number: int) -> dict[str, Any]:
        return {"task_id": task, "agent": "bench", "aspect": f"part {number}"}

    return {
        "knowledge_get": lambda number: {"id": entry(number)},
        "knowledge_list": lambda _: {},
        "knowledge_search": lambda number: {
            "query": ("retry queue timeout", "token cache", "deploy branch review")[number % 3],
            "mode": "lexical",
        },
        "knowledge_history": lambda number: {"id": entry(number)},
        "knowledge_drift": lambda _: {},
        "why": lambda _: {"place": "src/a.py:1"},
        "tags": lambda _: {},
        "stats": lambda _: {},
        "links_show": lambda number: {"id": entry(number), "depth": 2, "limit": 20},
        "links_broken": lambda _: {"limit": 20},
        "links_graph": lambda _: {"limit": 50},
        "knowledge_add": lambda _: {
            "title": f"Measured {next(fresh)}",
            "text": f"What was measured, number {next(fresh)}.",
            "provenance": ["person:Ann"],
        },
        "knowledge_edit": lambda number: {"id": entry(number), "text": f"Now as of {next(fresh)}. [[note-1]]"},
        "knowledge_deprecate": lambda number: {"id": entry(number + 100), "reason": "measured"},
        "knowledge_revive": lambda number: {"id": entry(number + 100)},
        "knowledge_retrieval_log": lambda number: {
            "query": "retry",
            "returned_ids": [entry(number)],
            "outcome": "helped",
        },
        "agents_register": lambda number: {"agent": f"agent-{number}"},
        "agents_info": lambda number: {"agent": f"agent-{number}"},
        "agents_list": lambda _: {},
        "tasks_create": lambda number: {"title": f"Task {number}", "agent": "bench"},
        "tasks_claim": on_task,
        "tasks_renew": on_task,
        "tasks_status": lambda _: {"task_id": task},
        "tasks_release": on_task,
        "tasks_list": lambda _: {},
        "tasks_post_finding": lambda number: {"task_id": task, "agent": "bench", "summary": f"Finding {number}"},
        "tasks_findings": lambda _: {"task_id": task},
        "ledger_show": lambda _: {},
        "proof_list": lambda _: {},
    }


def main() -> int:
    script = [os.path.join(os.path.dirname(sys.executable), "decapod")]
    with tempfile.TemporaryDirectory(prefix="decapod-vault-", dir="/var/tmp") as scratch:
        with open(os.path.join(scratch, ".gitconfig"), "w", encoding="utf-8") as file:
            file.write("[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n")
        found = measured(scratch, script, environment(HOME=scratch), 9)
    for bar in bars(found):
        sys.stdout.write(f"{bar.name}: {bar.measured} ({bar.promised})\n")
    for table in tables(found):
        for row in table.rows:
            sys.stdout.write(f"{' | '.join(row)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
