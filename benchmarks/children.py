"""Processes to measure: spawned without a shell, timed to their end, with their peak memory."""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
Command = list[str]


class Spread(NamedTuple):
    """Seconds, of many runs."""

    best: float
    p50: float
    p95: float
    mean: float


class Finished(NamedTuple):
    seconds: float
    cpu_seconds: float  # of the process and its workers: what others do at the same time counts less
    peak_bytes: int  # of all of them together
    output: str


def spread(seconds: list[float]) -> Spread:
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return Spread(ordered[0], statistics.median(ordered), p95, statistics.fmean(ordered))


def environment(**more: str) -> dict[str, str]:
    """What children run with: bytecode may be written, and nothing of this machine's Decapod or git gets in."""
    ours = ("DECAPOD_", "GIT_", "PYTHON")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**plain, "PYTHONPATH": PROJECT, "GIT_CONFIG_NOSYSTEM": "1", **more}


def seconds_of(command: Command, place: str, settings: dict[str, str]) -> float:
    """The wall time of one run, from before the spawn to after the end."""
    start = time.perf_counter()
    done = subprocess.Popen(command, cwd=place, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    code = done.wait()
    took = time.perf_counter() - start
    if code:
        raise SystemExit(f"bench: {' '.join(command)} exited with {code}")
    return took


def interleaved(
    commands: dict[str, Callable[[int], Command]], rounds: int, place: str, settings: dict[str, str]
) -> dict[str, Spread]:
    """Runs each command once a round, so that whatever else the machine does disturbs all of them alike."""
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():  # bytecode and page cache are warm before anything counts
        seconds_of(command(-1), place, settings)
    for number in range(rounds):
        for name, command in commands.items():
            taken[name].append(seconds_of(command(number), place, settings))
    return {name: spread(seconds) for name, seconds in taken.items()}


def finished(command: Command, place: str, settings: dict[str, str]) -> Finished:
    """Runs to the end. The peak is the child's own `ru_maxrss`, or what it had with its workers when we looked."""
    start = time.perf_counter()
    child = subprocess.Popen(command, cwd=place, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert child.stdout is not None
    together = 0
    while not select.select([child.stdout], [], [], 0.1)[0]:
        together = max(together, _resident_with_workers(child.pid))
    output = child.stdout.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    took = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"bench: {' '.join(command)} exited with {child.returncode}\n{output}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Finished(took, usage.ru_utime + usage.ru_stime, max(usage.ru_maxrss * unit, together), output)


def _resident_with_workers(process: int) -> int:
    """What a process and its children hold now; pages they share count for each of them."""
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            family = [str(process), *file.read().split()]
    except OSError:
        return 0
    return sum(map(resident_bytes, family))


def resident_bytes(process: str) -> int:
    """The memory a process holds now; nothing where the system does not say."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            kilobytes = next((line.split()[1] for line in file if line.startswith("VmRSS")), "0")
    except OSError:
        return 0
    return int(kilobytes) * 1024


class McpClient:
    """A client of one server over its standard streams, just able enough to time it."""

    def __init__(self, command: Command, place: str, settings: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, cwd=place, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._last = 0

    def initialize(self) -> None:
        client = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise SystemExit(f"bench: {tool} failed: {result}")
        answer: dict[str, Any] = json.loads(result["content"][0]["text"])
        return answer

    def resident_bytes(self) -> int:
        return resident_bytes(str(self._process.pid))

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=20)
        self._process.stdout.close()

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self._process.stdout
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise SystemExit(f"bench: {method} failed: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
        raise SystemExit(f"bench: the server ended before it answered {method}")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
