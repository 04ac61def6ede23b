"""What the gates cost: `validate` on everything, on a change, and before every commit.

Run by itself it prints its bars and the time of each; `make bench` takes it in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import report
from children import Command, Spread, environment, finished, seconds_of, spread
from corpus import entries

ENTRIES, CITATIONS_EACH = 10_000, 2
TOUCHED = 50
HOOKED_ENTRIES = 2_000
_FILES, _LINES = 500, 200


class Gates(NamedTuple):
    everything: Spread
    everything_cpu: float  # seconds of the process and its workers: what others do at the same time counts less
    change: Spread
    plain_commit: Spread
    hooked_commit: Spread

    @property
    def added_by_hook(self) -> float:
        return self.hooked_commit.p50 - self.plain_commit.p50


def measured(scratch: str, script: Command, settings: dict[str, str], rounds: int) -> Gates:
    large = _repository(os.path.join(scratch, "validated"), ENTRIES, script, settings)
    everything = _repeated([*script, "validate"], large, settings, rounds)
    everything_cpu = finished([*script, "validate"], large, settings).cpu_seconds
    _git(large, settings, "switch", "-qc", "change")
    _touch(large, TOUCHED, 1, "changed")
    _git(large, settings, "commit", "-qam", "Change")
    change = _repeated([*script, "validate", "--base", "main"], large, settings, rounds)
    plain, hooked = _commits(os.path.join(scratch, "hooked"), script, settings, rounds)
    return Gates(everything, everything_cpu, change, plain, hooked)


def bars(gates: Gates) -> list[report.Bar]:
    citations = ENTRIES * CITATIONS_EACH
    return [
        report.below(f"validate, {ENTRIES:,} entries with {citations:,} citations", 5, gates.everything.p50, "s"),
        report.below(f"validate --base, a change of {TOUCHED} files", 1.5, gates.change.p50, "s"),
        report.below(
            f"pre-commit hook, {HOOKED_ENTRIES:,} entries, added to a commit", 300, gates.added_by_hook * 1e3, "ms"
        ),
    ]


def table(gates: Gates) -> report.Table:
    ms = report.milliseconds
    named = {
        f"`validate` of {ENTRIES:,} entries, all gates": gates.everything,
        f"`validate --base main` of {TOUCHED} changed files": gates.change,
        f"`git commit --no-verify` beside {HOOKED_ENTRIES:,} entries": gates.plain_commit,
        "`git commit` with the pre-commit hook": gates.hooked_commit,
    }
    rows = [[name, ms(one.best), ms(one.p50), ms(one.p95)] for name, one in named.items()]
    rows.append(["CPU of the first, with its workers", "", ms(gates.everything_cpu), ""])
    return report.Table("Gates", ["what", "best", "p50", "p95"], rows)


def _commits(place: str, script: Command, settings: dict[str, str], rounds: int) -> tuple[Spread, Spread]:
    """Commits of a line of code and an entry, with our hook and without, in turns."""
    _repository(place, HOOKED_ENTRIES, script, settings)
    seconds_of([*script, "hooks", "install", "pre-commit"], place, settings)
    settings = {**settings, "PATH": f"{os.path.dirname(script[0])}{os.pathsep}{settings['PATH']}"}
    taken: dict[bool, list[float]] = {False: [], True: []}
    for number in range(rounds + 1):
        for hooked in taken:
            _touch(place, 1, -1, f"{number} {hooked}")
            seconds_of(
                [*script, "knowledge", "add", f"Commit {number} {hooked}", "--from", "src/0.py:7"], place, settings
            )
            _git(place, settings, "add", "-A")
            command = ["git", "commit", "-qm", "Work", *([] if hooked else ["--no-verify"])]
            taken[hooked].append(seconds_of(command, place, settings))
    return spread(taken[False][1:]), spread(taken[True][1:])


def _repository(place: str, count: int, script: Command, settings: dict[str, str]) -> str:
    """A committed repository whose entries cite its source."""
    os.makedirs(os.path.join(place, "src"))
    for number in range(_FILES):
        with open(os.path.join(place, "src", f"{number}.py"), "w", encoding="utf-8") as file:
            file.writelines(f"value_{number}_{line} = compute({line} * {number})\n" for line in range(1, _LINES + 1))
    _git(place, settings, "init", "-q")
    seconds_of([*script, "init"], place, settings)
    corpus = place + ".jsonl"
    with open(corpus, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in _citing(count))
    seconds_of([*script, "knowledge", "import", corpus], place, settings)
    _git(place, settings, "add", "-A")
    _git(place, settings, "commit", "-qm", "Import")
    return place


def _citing(count: int) -> Iterator[dict[str, Any]]:
    for number, entry in enumerate(entries(count)):
        cited = range(number * CITATIONS_EACH, (number + 1) * CITATIONS_EACH)
        entry["provenance"] = [
            f"file:src/{one % _FILES}.py#L{(line := 1 + one // _FILES % (_LINES - 3))}-L{line + 2}" for one in cited
        ]
        yield entry


def _touch(place: str, files: int, line: int, word: str) -> None:
    """Changes one line in each of the first files."""
    for number in range(files):
        path = os.path.join(place, "src", f"{number}.py")
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines(keepends=True)
        lines[line] = f"# {word}\n"
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)


def _repeated(command: Command, place: str, settings: dict[str, str], rounds: int) -> Spread:
    """Warm: the first run, which fills caches, does not count."""
    seconds_of(command, place, settings)
    return spread([seconds_of(command, place, settings) for _ in range(rounds)])


def _git(place: str, settings: dict[str, str], *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=place, env=settings, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    script = [os.path.join(os.path.dirname(sys.executable), "decapod")]
    with tempfile.TemporaryDirectory(prefix="decapod-gates-", dir="/var/tmp") as scratch:
        with open(os.path.join(scratch, ".gitconfig"), "w", encoding="utf-8") as file:
            file.write("[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n")
        found = measured(scratch, script, environment(HOME=scratch), 5)
    for bar in bars(found):
        sys.stdout.write(f"{bar.name}: {bar.measured} ({bar.promised})\n")
    for row in table(found).rows:
        sys.stdout.write(f"{' | '.join(row)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
