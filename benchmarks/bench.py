"""`make bench`: what Decapod costs, beside the bare interpreter, measured in one run and held against our bars.

Prints every number, good or bad, and writes docs/benchmarks.md. `--quick` takes half a minute, leaves 100k entries out
and writes nothing; `--check` exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import floors
import report
import validate
import vault
from children import (
    PROJECT,
    Command,
    Finished,
    McpClient,
    Spread,
    environment,
    finished,
    interleaved,
    seconds_of,
    spread,
)
from corpus import queries, write_corpus
from machine import described

MAIN_SIZE = 10_000  # entries, for everything that is not measured at every size
BARE = "python -c pass"


class Effort(NamedTuple):
    """How long a run may take."""

    sizes: tuple[int, ...]
    cold_rounds: int
    searches: int
    adds: int
    servers: int
    round_trips: int
    validations: int


FULL = Effort((1_000, MAIN_SIZE, 100_000), 40, 200, 500, 7, 200, 9)
QUICK = Effort((1_000, MAIN_SIZE), 11, 60, 150, 3, 60, 3)


class Bulk(NamedTuple):
    """Import and rebuild at one size."""

    entries: int
    imported: Finished
    rebuilt: Finished
    database_bytes: int
    ledger_bytes: int
    bare_files_seconds: float  # for as many new files, written by nothing but this script


class Server(NamedTuple):
    """One MCP server, seen by its client."""

    bare: Spread
    first_answer: Spread
    first_call: Spread
    round_trip: Spread
    resident: int


class Measured(NamedTuple):
    cold: dict[str, Spread]
    warm: dict[int, dict[str, Spread]]
    bulk: dict[int, Bulk]
    server: Server
    gates: validate.Gates
    vault: vault.Vault


class Bench:
    """Scratch repositories and the way to run the program in them."""

    def __init__(self, scratch: str, effort: Effort) -> None:
        self.scratch = scratch
        self.effort = effort
        home = os.path.join(scratch, "home")
        os.mkdir(home)
        with open(os.path.join(home, ".gitconfig"), "w", encoding="utf-8") as file:
            file.write(
                "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
            )
        self.settings = environment(HOME=home)
        self.script = _console_script(scratch)

    def measured(self) -> Measured:
        bulk: dict[int, Bulk] = {}
        warm: dict[int, dict[str, Spread]] = {}
        for size in self.effort.sizes:
            bulk[size] = self._bulk(size)
            if size == MAIN_SIZE:
                # A start is measured before the adds of the warm process make the corpus larger.
                cold, server = self._cold(size), self._server(size)
            warm[size] = self._warm(size)
        _say("gates: validate, validate --base and the pre-commit hook")
        gates = validate.measured(self.scratch, self.script, self.settings, self.effort.validations)
        _say("vault: sync of hand edits, and every tool")
        kept = vault.measured(self.scratch, self.script, self.settings, self.effort.validations)
        return Measured(cold, warm, bulk, server, gates, kept)

    def _bulk(self, size: int) -> Bulk:
        _say(f"{size:,} entries: import and rebuild")
        place = self._repository(size)
        os.mkdir(place)
        self._git(place, "init", "-q")
        seconds_of([*self.script, "init"], place, self.settings)
        corpus = os.path.join(self.scratch, f"corpus-{size}.jsonl")
        write_corpus(corpus, size)
        bare_files = floors.written_files(os.path.join(self.scratch, f"bare-{size}"), size)
        _settle()
        imported = finished([*self.script, "knowledge", "import", corpus, "--json"], place, self.settings)
        if json.loads(imported.output)["added"] != size:
            raise SystemExit(f"bench: the import says {imported.output}")
        if size <= MAIN_SIZE:
            self._git(place, "add", "-A")
            self._git(place, "commit", "-qm", "Import")
        _settle()
        rebuilt = finished([*self.script, "rebuild", "--json"], place, self.settings)
        if not json.loads(rebuilt.output)["ok"]:
            raise SystemExit(f"bench: the rebuild says {rebuilt.output}")
        _settle()
        return Bulk(
            size,
            imported,
            rebuilt,
            os.path.getsize(os.path.join(place, ".decapod", "local", "knowledge.db")),
            _size_below(os.path.join(place, ".decapod", "ledgers")),
            bare_files,
        )

    def _cold(self, size: int) -> dict[str, Spread]:
        _say(f"{size:,} entries: cold starts, {self.effort.cold_rounds} rounds")
        asked = queries(self.effort.cold_rounds, size)
        place = self._repository(size)
        module = [sys.executable, "-m", "decapod_py"]
        found = finished([*self.script, "knowledge", "search", asked.hits[0], "--json"], place, self.settings)
        known = json.loads(found.output)["results"][0]["id"]

        def add(number: int) -> Command:
            text = f"Cold start {number}: {asked.questions[number]}"
            return ["knowledge", "add", text, "--provenance", "person:Ann"]

        return interleaved(
            {
                BARE: lambda _: [sys.executable, "-c", "pass"],
                "decapod --help": lambda _: [*self.script, "--help"],
                "decapod knowledge get": lambda _: [*self.script, "knowledge", "get", known],
                "decapod knowledge search, hit": lambda n: [
                    *self.script,
                    "knowledge",
                    "search",
                    "--mode",
                    "lexical",
                    asked.hits[n],
                ],
                "decapod knowledge search, miss": lambda n: [
                    *self.script,
                    "knowledge",
                    "search",
                    "--mode",
                    "lexical",
                    asked.misses[n],
                ],
                "decapod knowledge search, question": lambda n: [
                    *self.script,
                    "knowledge",
                    "search",
                    "--mode",
                    "lexical",
                    asked.questions[n],
                ],
                "decapod knowledge add": lambda n: [*self.script, *add(n)],
                "decapod knowledge add --actor": lambda n: [*self.script, *add(n), "--actor", "bench"],
                "python -m decapod_py knowledge search, hit": lambda n: [
                    *module,
                    "knowledge",
                    "search",
                    "--mode",
                    "lexical",
                    asked.hits[n],
                ],
                "python -m decapod_py knowledge add": lambda n: [*module, *add(n)],
            },
            self.effort.cold_rounds,
            place,
            self.settings,
        )

    def _warm(self, size: int) -> dict[str, Spread]:
        _say(f"{size:,} entries: warm searches and adds")
        program = os.path.join(PROJECT, "benchmarks", "warm.py")
        numbers = [size, self.effort.searches, self.effort.adds]
        done = finished([sys.executable, program, self._repository(size), *map(str, numbers)], PROJECT, self.settings)
        taken = json.loads(done.output)
        taken["fsync"] = floors.synced_appends(os.path.join(self.scratch, f"synced-{size}"), self.effort.searches)
        return {name: spread(seconds) for name, seconds in taken.items()}

    def _server(self, size: int) -> Server:
        _say(f"{size:,} entries: MCP, {self.effort.servers} servers")
        place = self._repository(size)
        asked = queries(self.effort.round_trips, size).hits
        bare, resident = [], []
        first_answers: list[float] = []
        first_calls: list[float] = []
        round_trips: list[float] = []
        for _ in range(self.effort.servers):
            bare.append(seconds_of([sys.executable, "-c", "pass"], place, self.settings))
            start = time.perf_counter()
            client = McpClient([*self.script, "mcp"], place, self.settings)
            client.initialize()
            first_answers.append(time.perf_counter() - start)
            for number, query in enumerate(asked):
                start = time.perf_counter()
                client.call("knowledge_search", {"query": query, "mode": "lexical"})
                (round_trips if number else first_calls).append(time.perf_counter() - start)
            resident.append(client.resident_bytes())
            client.close()
        return Server(spread(bare), spread(first_answers), spread(first_calls), spread(round_trips), max(resident))

    def _repository(self, size: int) -> str:
        return os.path.join(self.scratch, f"of-{size}")

    def _git(self, place: str, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=place, env=self.settings, check=True, stdout=subprocess.DEVNULL)


def _console_script(scratch: str) -> Command:
    """`decapod` as installed beside this interpreter, or else the same few lines that an installer writes."""
    installed = os.path.join(os.path.dirname(sys.executable), "decapod")
    if os.path.exists(installed):
        return [installed]
    path = os.path.join(scratch, "decapod")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!{sys.executable}\nimport sys\nfrom decapod_py.__main__ import main\nsys.exit(main())\n")
    os.chmod(path, 0o755)
    return [path]


def _settle() -> None:
    """What the step before left to be written must not be paid for by the next."""
    os.sync()


def _size_below(folder: str) -> int:
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)


def _say(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")


def _bars(measured: Measured) -> list[report.Bar]:
    """Every promise about speed and size, and what came out."""
    cold, warm, bulk, server, gates, kept = measured
    bare = cold[BARE].p50
    at_main = warm[MAIN_SIZE]
    large = max(warm)
    bars = [
        report.at_most(
            f"cold search at {MAIN_SIZE:,} entries, times `{BARE}`",
            8,
            max(cold[f"decapod knowledge search, {kind}"].p50 for kind in ("hit", "miss", "question")) / bare,
            "x",
        ),
        report.at_most("cold durable add, times the same", 20, cold["decapod knowledge add"].p50 / bare, "x"),
        report.below(f"warm search of three words at {MAIN_SIZE:,}, hit, p50", 3, at_main["hit"].p50 * 1e3, "ms"),
        report.below(f"warm search of three words at {MAIN_SIZE:,}, miss, p50", 3, at_main["miss"].p50 * 1e3, "ms"),
        report.at_least("durable adds in one process", 500, _rate(at_main["add"]), "/s"),
        report.at_least(
            "import, the slowest size",
            3_000,
            min(one.entries / one.imported.seconds for one in bulk.values()),
            "entries/s",
        ),
        report.below("MCP spawn to first answer", 0.8, server.first_answer.p50, "s"),
        report.below("MCP server, resident", 100, server.resident / 1e6, "MB"),
        *validate.bars(gates),
        *vault.bars(kept),
    ]
    if large < 100_000:
        return bars
    return [
        *bars,
        report.below("warm English question at 100,000, p50", 40, warm[large]["question"].p50 * 1e3, "ms"),
        report.below("rebuild of 100,000 events", 12, bulk[large].rebuilt.seconds, "s"),
        report.below("rebuild of 100,000 events, peak memory", 600, bulk[large].rebuilt.peak_bytes / 1e6, "MB"),
    ]


def _rate(calls: Spread) -> float:
    return 1 / calls.mean


def _tables(measured: Measured) -> list[report.Table]:
    cold, warm, bulk, server, gates, kept = measured
    bare = cold[BARE].p50
    ms = report.milliseconds
    return [
        report.Table(
            f"Cold start at {MAIN_SIZE:,} entries",
            ["command", "best", "p50", "p95", f"p50 / `{BARE}`"],
            [
                [f"`{name}`", ms(one.best), ms(one.p50), ms(one.p95), f"{one.p50 / bare:.1f}x"]
                for name, one in cold.items()
            ],
        ),
        report.Table(
            "Warm, in one process through the Python call",
            ["entries", "call", "p50", "p95"],
            [
                [f"{size:,}", _WARM_NAMES[name], ms(one.p50), ms(one.p95)]
                for size, calls in warm.items()
                for name, one in calls.items()
            ],
        ),
        report.Table(
            "Bulk",
            [
                "entries",
                "import",
                "CPU",
                "per s",
                "peak",
                "rebuild",
                "CPU",
                "per s",
                "peak",
                "database",
                "ledgers",
                "bare files",
            ],
            [
                [
                    f"{size:,}",
                    *_bulk_cells(size, one.imported),
                    *_bulk_cells(size, one.rebuilt),
                    report.megabytes(one.database_bytes),
                    report.megabytes(one.ledger_bytes),
                    f"{one.bare_files_seconds:.1f} s",
                ]
                for size, one in bulk.items()
            ],
        ),
        report.Table(
            f"MCP over stdio at {MAIN_SIZE:,} entries",
            ["what", "best", "p50", "p95"],
            [
                [name, ms(one.best), ms(one.p50), ms(one.p95)]
                for name, one in (
                    (f"`{BARE}`, beside each spawn", server.bare),
                    ("spawn to the answer of `initialize`", server.first_answer),
                    ("first `knowledge_search` after it", server.first_call),
                    ("warm `knowledge_search`", server.round_trip),
                )
            ]
            + [["server, resident after all calls", "", report.megabytes(server.resident), ""]],
        ),
        validate.table(gates),
        *vault.tables(kept),
    ]


def _bulk_cells(size: int, done: Finished) -> list[str]:
    rate = f"{size / done.seconds:,.0f}"
    return [f"{done.seconds:.1f} s", f"{done.cpu_seconds:.1f} s", rate, report.megabytes(done.peak_bytes)]


_WARM_NAMES = {
    "hit": "search, three words, hit",
    "miss": "search, three words, miss",
    "question": "search, nine-word question",
    "add": "durable add",
    "fsync": "one append and `fsync`, bare",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no 100k entries, no document")
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is missed")
    parser.add_argument("--scratch", default=_disk(), help="where to make the repositories")
    parser.add_argument(
        "--output", default=os.path.join(PROJECT, "docs", "benchmarks.md"), help="the document to write"
    )
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL
    with tempfile.TemporaryDirectory(prefix="decapod-bench-", dir=options.scratch) as scratch:
        facts = described(scratch)
        measured = Bench(scratch, effort).measured()
    bars = _bars(measured)
    document = report.document(facts, bars, _tables(measured), _method(effort))
    sys.stdout.write(document)
    if not options.quick:
        os.makedirs(os.path.dirname(options.output), exist_ok=True)
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(document)
    return 1 if options.check and not all(bar.met for bar in bars) else 0


def _disk() -> str:
    """A temp directory that is on a disk: /tmp often is memory, where a durable write costs nothing."""
    return "/var/tmp" if os.path.isdir("/var/tmp") else tempfile.gettempdir()


def _method(effort: Effort) -> str:
    return f"""\
- **Cold start**: each command is a process of its own, run once a round beside `{BARE}`, {effort.cold_rounds} rounds,
  after one run that does not count. Ratios are of medians. `decapod` is the console script; `python -m decapod_py`
  stands beside it. `PYTHONDONTWRITEBYTECODE` is unset. An add without `--actor` asks git for `user.name`, as users do.
- **Search** is by words alone (`--mode lexical`), as it is without the semantic extra; meaning is measured in
  [retrieval.md](retrieval.md).
- **Warm**: one process, `decapod_py.open(...)`, {effort.searches} different queries and {effort.adds} adds. A hit is
  three words of one entry, a miss three words that no entry has, a question nine words of which four are one entry's.
  An add is durable when it returns.
- **Bulk**: `decapod knowledge import` of a file, then `decapod rebuild` with the Markdown in place, each a process with
  its start; memory and CPU are of the process and its workers together, memory as seen ten times a second, with shared
  pages counted for each. The disk is synced before each. Beside them stands what as many bare files cost: ext4 is up to
  ten times slower to make files near where many were deleted, as by an earlier run of this. Where they take long, name
  another place with `--scratch`.
- **MCP**: {effort.servers} servers one after the other, {effort.round_trips} searches each.
{vault.method(effort.validations)}
- **Corpus**: seeded, so the same everywhere: 300 to 600 characters an entry, 30,000 words in Zipf's distribution within
  English sentences, provenance of `person:`, `url:` and `cmd:` in turn, a merge key on every tenth. Scratch
  repositories are real git."""


if __name__ == "__main__":
    sys.exit(main())
