"""Forked workers: the same results as without them, whoever is killed."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import PROJECT

from decapod_py.foundation import workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
THIS_PROCESS = os.getpid()


@pytest.fixture(autouse=True)
def spare_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with cores to spare, whatever this one has, and whatever threads run the tests."""
    monkeypatch.setattr(workers, "_spare", lambda: 2)


def process_and_square(number: int) -> tuple[bool, int]:
    return os.getpid() != THIS_PROCESS, number * number


def test_results_come_in_order_and_from_other_processes() -> None:
    assert list(workers.mapped(process_and_square, range(50), many=True)) == [(True, n * n) for n in range(50)]


def test_a_few_items_are_worth_no_process() -> None:
    assert list(workers.mapped(process_and_square, range(5), many=False)) == [(False, n * n) for n in range(5)]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_fewer_items_than_workers_leave_nobody_waiting(count: int) -> None:
    assert [square for _, square in workers.mapped(process_and_square, range(count), many=True)] == [
        n * n for n in range(count)
    ]


def test_results_larger_than_a_pipe_arrive_whole() -> None:
    assert [len(text) for text in workers.mapped(lambda size: "x" * size, [3_000_000, 1, 5_000_000], many=True)] == [
        3_000_000,
        1,
        5_000_000,
    ]


def test_questions_larger_than_a_pipe_arrive_whole() -> None:
    assert list(workers.mapped(len, ["x" * 3_000_000] * 5, many=True)) == [3_000_000] * 5


def test_what_a_killed_worker_leaves_is_done_here() -> None:
    def work(number: int) -> int:
        if number in (3, 4, 20) and os.getpid() != THIS_PROCESS:
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    assert list(workers.mapped(work, range(50), many=True)) == [n * n for n in range(50)]


def test_an_answer_cut_short_is_worked_out_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def half_sent(handle: int, value: object) -> None:
        if os.getpid() == THIS_PROCESS:
            return sending(handle, value)
        os.write(handle, b"\x80\x05\x95\xff\xff\x00")
        os._exit(0)

    sending = workers._send
    monkeypatch.setattr(workers, "_send", half_sent)
    assert list(workers.mapped(process_and_square, range(9), many=True)) == [(False, n * n) for n in range(9)]


def test_an_error_is_raised_by_the_process_that_asked() -> None:
    def work(number: int) -> int:
        return 10 // (number - 7)

    before = children()
    with pytest.raises(ZeroDivisionError):
        list(workers.mapped(work, range(20), many=True))
    assert children() == before


def test_who_stops_asking_leaves_no_process_behind() -> None:
    before = children()
    results: Iterator[int] = workers.mapped(lambda number: number, range(1_000), many=True)  # type: ignore[assignment]
    assert next(results) == 0
    assert len(children()) == len(before) + 2
    results.close()  # type: ignore[attr-defined]
    assert children() == before


def children() -> set[str]:
    """The processes of this one; other tests may have some that live on."""
    return {process for task in Path("/proc/self/task").glob("*/children") for process in task.read_text().split()}


def test_without_room_for_a_process_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refused)
    opened = len(os.listdir("/proc/self/fd"))
    assert list(workers.mapped(process_and_square, range(9), many=True)) == [(False, n * n) for n in range(9)]
    assert len(os.listdir("/proc/self/fd")) == opened


def test_a_worker_holds_nothing_that_was_open(tmp_path: Path) -> None:
    def held(_: int) -> list[str]:
        return [os.readlink(f"/proc/self/fd/{name}") for name in ("0", "1", *os.listdir("/proc/self/fd")[3:-1])]

    with open(tmp_path / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for found in workers.mapped(held, range(4), many=True):
            assert all(place.startswith("pipe:") for place in found)


@pytest.mark.parametrize("reason", ["a single core", "a second thread"])
def test_no_process_is_forked_for(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    done = threading.Event()
    if reason == "a single core":
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
        assert workers._spare() == 0
    else:
        waiting = threading.Thread(target=done.wait)
        waiting.start()
        assert workers._spare() == 0
        done.set()
        waiting.join()


ASKING = """
import fcntl, os, sys, time
from decapod_py.foundation import workers

workers._spare = lambda: 2
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)

def slowly(number):
    time.sleep(number and 0.05)
    return os.getpid()

for process in workers.mapped(slowly, range(1_000_000), many=True):
    print(process, flush=True)
"""


def test_workers_end_with_the_process_that_asks_and_keep_no_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    asking = subprocess.Popen([sys.executable, "-c", ASKING, str(lock)], cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    assert asking.stdout
    processes = {int(asking.stdout.readline()) for _ in range(6)}
    asking.kill()
    asking.wait()
    with open(lock, "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # at once: no worker has it
    assert len(processes) == 2
    assert all(ends_soon(process) for process in processes)


def ends_soon(process: int) -> bool:
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    ended, _, _ = select.select([handle], [], [], 20)
    os.close(handle)
    return bool(ended)
