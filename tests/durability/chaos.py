"""Kills writers, a thousand of them, and looks for damage: `python tests/durability/chaos.py --kills 1000 [--seed N]`.

Random commands run as processes that die at a random step or at a random moment. A model remembers what was
acknowledged; whatever a killed command left must be its whole effect or none.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

from durability.commands import KILLED, TORN, Commands, Tree, new_tree, scratch_folder  # noqa: E402
from support import PROJECT  # noqa: E402

FULL_CHECK_EVERY = 25
PROPOSALS = "open proposals"  # what the model calls their number, among the ids of entries
KEYS = [f"key-{number}" for number in range(6)]
STEPS = sorted(
    {
        step
        for file in (PROJECT / "decapod_py").rglob("*.py")
        for step in re.findall(r'\bstep\("([a-z-]+)"\)', file.read_text())
    }
)


class Seen(NamedTuple):
    """What the model knows of an entry."""

    status: str
    content: str
    helped: int = 0
    key: str | None = None
    fades: bool = False


State = dict[str, Any]  # Seen by entry id, None for an entry that is not there


class Plan(NamedTuple):
    """A command and the states it may leave in what it touches: untouched first, done last."""

    arguments: list[str]
    outcomes: list[State]


class Report(NamedTuple):
    kills: int
    lost: int
    half_written: int
    commands: Counter[str]
    steps: Counter[str]

    def __str__(self) -> str:
        return f"{self.kills} kills, {self.lost} lost, {self.half_written} half-written"


class Chaos:
    """One working tree, its model and the commands that shake it."""

    def __init__(self, tree: Tree, seed: int, tell: Callable[[str], None]) -> None:
        self.tree = tree
        self.random = random.Random(seed)
        self.tell = tell
        self.model: State = {PROPOSALS: 0}
        self.number = 0
        self.kills = self.lost = self.half_written = 0
        self.commands: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.milliseconds = 15.0  # what a command takes at most, learnt from those that live

    def run(self, kills: int) -> Report:
        while self.kills < kills:
            if self._disturb() and self.kills % FULL_CHECK_EVERY == 0:
                self.check_everything()
                self.tell(f"{self.kills} kills, {len(self.model)} entries, {self.lost + self.half_written} failures")
        self.check_everything()
        self.tree.check_against_a_clone()
        return Report(self.kills, self.lost, self.half_written, self.commands, self.steps)

    def _disturb(self) -> bool:
        """Runs one command; says whether it was killed."""
        if self.random.random() < 0.05:
            self._meddle()
        name = self.random.choice(list(PLANS))
        plan = PLANS[name](self)
        if plan is None:
            return False
        how, step = self._death()
        begun = time.monotonic()
        done = self.tree.run(*plan.arguments, **how)
        killed = done.code == KILLED
        if killed:
            self.kills += 1
            self.commands[name] += 1
            self.steps[step] += 1
        else:
            self.milliseconds += 0.1 * (1000 * (time.monotonic() - begun) - self.milliseconds)
            assert done.code == 0, f"{plan.arguments} failed\n{done.out}{done.err}"
        self._look(name, step, plan, killed)
        return killed

    def _death(self) -> tuple[dict[str, Any], str]:
        if self.random.random() < 0.6:
            step = self.random.choice(STEPS)
            return {"kill_at": step}, step
        return {"kill_after": self.random.uniform(0.001, self.milliseconds / 1000)}, "some moment"

    def _look(self, name: str, step: str, plan: Plan, killed: bool) -> None:
        """The cheap check after every command: what it touched, one entry it did not, and the status."""
        found = self.observe(plan.outcomes[0])
        allowed = plan.outcomes if killed else plan.outcomes[-1:]
        if found not in allowed:
            self.half_written += killed
            self.lost += not killed
            self.tell(f"{name} at {step}: found {found}, which is none of {allowed}")
        self.model |= found
        self._compare(self.random.sample(sorted(self.model), 1))
        problems = {problem["code"] for problem in self.tree.ask("status")["problems"]} - {TORN}
        if problems:
            self.half_written += 1
            self.tell(f"{name} at {step}: {problems}")

    def _compare(self, names: list[str]) -> None:
        expected = {name: self.model[name] for name in names}
        self._compare_all(expected, self.observe(expected))

    def _compare_all(self, expected: State, found: State) -> None:
        for name in expected.keys() | found.keys():
            if found.get(name) != expected.get(name):
                self.lost += 1
                self.tell(f"{name} was acknowledged as {expected.get(name)} and is {found.get(name)}")

    def observe(self, names: State) -> State:
        return {name: self._proposals() if name == PROPOSALS else self._entry(name) for name in names}

    def _proposals(self) -> int:
        count: int = self.tree.ask("status")["proposals"]
        return count

    def _entry(self, entry_id: str) -> Seen | None:
        entry = self.tree.entry(entry_id)
        return seen(entry) if entry else None

    def check_everything(self) -> None:
        """Every acknowledged write is there, database and Markdown equal the fold, chains verify."""
        listed = self.tree.ask("knowledge", "list", "--status", "any", "--limit", "10000")["entries"]
        found = {entry["id"]: seen(entry) for entry in listed}
        known = {name: entry for name, entry in self.model.items() if name != PROPOSALS}
        self._compare_all({name: entry for name, entry in known.items() if entry and entry.status != "deleted"}, found)
        self.tree.check(torn=None)

    def _meddle(self) -> None:
        """What people and machines do meanwhile."""
        action = self.random.choice(["stage", "commit", "delete local", "damage database", "leave"])
        if action == "stage":
            self.tree.git("add", "-A")
        elif action == "commit":
            self.tree.git("add", "-A")
            self.tree.git("commit", "-qm", "Some work", "--allow-empty")
        elif action == "delete local":
            shutil.rmtree(self.tree.local, ignore_errors=True)
        elif action == "damage database" and (self.tree.local / "knowledge.db").exists():
            (self.tree.local / "knowledge.db").write_bytes(self.random.randbytes(20_000))

    def new_id(self) -> str:
        self.number += 1
        return f"e{self.number}"

    def some(self, *statuses: str, fades: bool = False) -> str | None:
        """An entry in one of these states."""
        found = [
            name
            for name, entry in self.model.items()
            if isinstance(entry, Seen) and entry.status in statuses and entry.fades == fades
        ]
        return self.random.choice(found) if found else None

    def holder(self, key: str) -> str | None:
        held = (
            name
            for name, entry in self.model.items()
            if isinstance(entry, Seen) and (entry.key, entry.status) == (key, "active")
        )
        return next(held, None)

    def change(self, arguments: list[str], after: State) -> Plan:
        """A command that is done whole or not at all."""
        return Plan(arguments, [{name: self.model.get(name) for name in after}, after])


def seen(entry: dict[str, Any]) -> Seen:
    fades = entry["ttl_policy"] == "ephemeral"
    return Seen(entry["status"], entry["content"], entry["feedback"]["helped"], entry["merge_key"], fades)


def _adding(text: str, *words: str) -> list[str]:
    return ["knowledge", "add", "--title", "A title", "--text", text, "--provenance", "person:Ada", *words]


def add(chaos: Chaos) -> Plan:
    new = chaos.new_id()
    text = f"Text of {new}. " * chaos.random.choice([1, 1, 1, 300])
    return chaos.change(_adding(text, "--id", new), {new: Seen("active", text.strip())})


def add_fading(chaos: Chaos) -> Plan:
    new = chaos.new_id()
    words = ("--id", new, "--ttl-policy", "ephemeral", "--expires-ts", "2020-01-01T00:00:00Z")
    return chaos.change(_adding("Gone soon.", *words), {new: Seen("active", "Gone soon.", fades=True)})


def add_under_a_key(chaos: Chaos) -> Plan:
    key, new = chaos.random.choice(KEYS), chaos.new_id()
    holder = chaos.holder(key)
    text = f"Text of {new} under {key}."
    if holder and chaos.random.random() < 0.5:
        after = {holder: chaos.model[holder]._replace(content=text)}
        return chaos.change(_adding(text, "--merge-key", key), after)
    after = {new: Seen("active", text, key=key)}
    if holder:
        after[holder] = chaos.model[holder]._replace(status="superseded")
    return chaos.change(_adding(text, "--id", new, "--merge-key", key, "--on-conflict", "supersede"), after)


def edit(chaos: Chaos) -> Plan | None:
    entry_id = chaos.some("active", "deprecated")
    if entry_id is None:
        return None
    chaos.number += 1
    text = f"Edit {chaos.number}."
    after = {entry_id: chaos.model[entry_id]._replace(content=text)}
    return chaos.change(["knowledge", "edit", entry_id, "--text", text], after)


def _set_status(chaos: Chaos, verb: str, status: str, *before: str) -> Plan | None:
    entry_id = chaos.some(*before)
    if entry_id is None:
        return None
    after = {entry_id: chaos.model[entry_id]._replace(status=status)}
    return chaos.change(["knowledge", verb, entry_id], after)


def deprecate(chaos: Chaos) -> Plan | None:
    return _set_status(chaos, "deprecate", "deprecated", "active")


def delete(chaos: Chaos) -> Plan | None:
    return _set_status(chaos, "delete", "deleted", "deprecated", "superseded")


def revive(chaos: Chaos) -> Plan | None:
    plan = _set_status(chaos, "revive", "active", "deprecated", "superseded")
    if plan is None:
        return None
    (entry,) = plan.outcomes[-1].values()
    return None if entry.key and chaos.holder(entry.key) else plan


def decay(chaos: Chaos) -> Plan | None:
    fading = [
        name
        for name, entry in chaos.model.items()
        if isinstance(entry, Seen) and entry.fades and entry.status == "active"
    ]
    after = {name: chaos.model[name]._replace(status="stale") for name in fading}
    return chaos.change(["knowledge", "decay"], after) if after else None


def retrieval_log(chaos: Chaos) -> Plan | None:
    entry_id = chaos.some("active")
    if entry_id is None:
        return None
    words = ["--query", "q", "--returned-id", entry_id, "--used-id", entry_id, "--outcome", "helped"]
    after = {entry_id: chaos.model[entry_id]._replace(helped=chaos.model[entry_id].helped + 1)}
    return chaos.change(["knowledge", "retrieval-log", *words], after)


def promote(chaos: Chaos) -> Plan | None:
    source = chaos.some("active")
    if source is None:
        return None
    words = ["--source-entry-id", source, "--evidence-ref", "person:Ada", "--reason", "It held.", "--actor", "Ben"]
    return chaos.change(["knowledge", "promote", *words], {PROPOSALS: chaos.model[PROPOSALS] + 1})


def approve(chaos: Chaos) -> Plan | None:
    return _end_proposal(chaos, "approve", "--actor", "Cy")


def revoke_promotion(chaos: Chaos) -> Plan | None:
    return _end_proposal(chaos, "revoke-promotion", "--reason", "It did not hold.")


def _end_proposal(chaos: Chaos, verb: str, *words: str) -> Plan | None:
    events = chaos.tree.ask("ledger", "show", "--ledger", "knowledge.promotions", "--limit", "10000")["events"]
    ended = {event.get("promotion") for event in events}
    still_open = [event["event_id"] for event in events if event["type"] == "promotion.recorded"]
    still_open = [event_id for event_id in still_open if event_id not in ended]
    if not still_open:
        return None
    return chaos.change(
        ["knowledge", verb, chaos.random.choice(still_open), *words], {PROPOSALS: chaos.model[PROPOSALS] - 1}
    )


def import_(chaos: Chaos) -> Plan:
    """Lines go in one after the other: a crash may leave the first of them."""
    ids = [chaos.new_id() for _ in range(chaos.random.choice([2, 12]))]
    file = chaos.tree.top.with_name("import.jsonl")
    lines = [{"id": new, "title": "T", "content": f"Text of {new}.", "provenance": "person:Ada"} for new in ids]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    outcomes = [
        {new: Seen("active", f"Text of {new}.") if place < count else None for place, new in enumerate(ids)}
        for count in range(len(ids) + 1)
    ]
    return Plan(["knowledge", "import", str(file)], outcomes)


def upkeep(*arguments: str) -> Callable[[Chaos], Plan]:
    """A command that changes no knowledge."""
    return lambda chaos: Plan(list(arguments), [{}])


PLANS: dict[str, Callable[[Chaos], Plan | None]] = {
    "add": add,
    "add something fading": add_fading,
    "add under a key": add_under_a_key,
    "edit": edit,
    "deprecate": deprecate,
    "delete": delete,
    "revive": revive,
    "decay": decay,
    "retrieval-log": retrieval_log,
    "promote": promote,
    "approve": approve,
    "revoke-promotion": revoke_promotion,
    "import": import_,
    "pack": upkeep("ledger", "pack"),
    "restore": upkeep("ledger", "restore"),
    "rebuild": upkeep("rebuild"),
    "status": upkeep("status"),
    "search": upkeep("knowledge", "search", "text"),
}


def wreak(kills: int, seed: int, tell: Callable[[str], None]) -> Report:
    with scratch_folder() as folder:
        commands = Commands(folder / "home")
        try:
            return Chaos(new_tree(commands, folder / "tree"), seed, tell).run(kills)
        finally:
            commands.close()


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill writers and look for damage.")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    begun = time.monotonic()
    report = wreak(options.kills, options.seed, lambda line: print(line, flush=True))
    print("killed: " + ", ".join(f"{name} {count}" for name, count in report.commands.most_common()))
    print("at: " + ", ".join(f"{step} {count}" for step, count in report.steps.most_common()))
    print(f"{time.monotonic() - begun:.0f} s")
    print(report)
    return 1 if report.lost or report.half_written else 0


if __name__ == "__main__":
    sys.exit(main())
