"""Many processes that want one aspect at once: `claimers.py MODE PROCESSES ROUNDS TASK PLACE...`.

They are spread over the worktrees, open them, and are let go together in each round. `fresh`: another aspect each
round. `edge`: one aspect, where each round is the very millisecond in which the claim of the round before expires, and
everybody has tried a millisecond earlier, too. `unlocked`: as fresh, where the lock of the file system is a pretence.
All answers come out as one JSON list a round.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from typing import IO, Any

from support import NOON, StandingClock

from decapod_py.client import Decapod
from decapod_py.operations.catalogue import all_operations
from decapod_py.storage import lock

HOUR = 3_600_000


def race(mode: str, processes: int, rounds: int, task: str, places: list[str]) -> list[list[Any]]:
    all_operations()
    if mode == "unlocked":
        lock.held = contextlib.nullcontext  # type: ignore[assignment]
    starts = [os.pipe() for _ in range(rounds)]
    answers = []
    for number in range(processes):
        answer, told = os.pipe()
        if not os.fork():
            for _, start in starts:
                os.close(start)
            place = places[number % len(places)]
            _claim(mode, number, task, place, [wait for wait, _ in starts], os.fdopen(told, "w"))
        os.close(told)
        answers.append(os.fdopen(answer))
    return [_round(start, answers) for _, start in starts]


def _round(start: int, answers: list[IO[str]]) -> list[Any]:
    os.close(start)  # whoever waits for this end to close goes
    return [json.loads(answer.readline() or '{"died": true}') for answer in answers]


def _claim(mode: str, number: int, task: str, place: str, waits: list[int], told: IO[str]) -> None:
    code = 1
    try:
        clock = StandingClock(NOON)
        with Decapod(place, actor=f"Racer {number}", clock=clock) as decapod:
            decapod.tasks.status(task_id=task)
            for turn, wait in enumerate(waits):
                os.read(wait, 1)
                asked = {"task_id": task, "aspect": "edge" if mode == "edge" else f"{mode} {turn}"}
                asked["agent"] = f"agent {number} of turn {turn}"
                clock.now = NOON + (turn * HOUR if mode == "edge" else 0)
                early = _early(decapod, clock, asked) if mode == "edge" and turn else []
                told.write(json.dumps({**decapod.tasks.claim(**asked), "early": early}) + "\n")
                told.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _early(decapod: Decapod, clock: StandingClock, asked: dict[str, Any]) -> list[Any]:
    clock.forward(milliseconds=-1)
    try:
        return [decapod.tasks.claim(**asked)["ok"]]
    finally:
        clock.forward(milliseconds=1)


if __name__ == "__main__":
    print(json.dumps(race(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:])))
