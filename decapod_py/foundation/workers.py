"""Spare cores: forked processes work things out, and this one writes down what they found.

A worker is a copy of this process that holds nothing of it: no lock, no database, no file. It only reads and computes,
so it may be killed at any time, and it ends by itself when this process does.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST = 3  # more of them only wait for the one process that writes


def mapped(work: Callable[[Item], Result], items: Iterable[Item], *, many: bool) -> Iterator[Result]:
    """What `work` makes of each item, in order; `many` says that there are enough to be worth a few processes.

    What no worker answers, because it was killed or because `work` failed there, is done here: the result is the same
    with and without workers, and an error is raised by this process.
    """
    if not many:
        yield from map(work, items)
        return
    with _uncollected(), _team(work) as team:
        remaining = iter(items)
        if not team:
            yield from map(work, remaining)
            return
        asked = deque((worker, worker.asked(item)) for worker, item in zip(team, remaining, strict=False))
        while asked:
            worker, item = asked.popleft()
            try:
                result = worker.answer()
            except _Unanswered:
                result = work(item)
            # One question at a time: a worker that is not read from and not listening would wait for us, and we for it.
            for following in remaining:
                asked.append((worker, worker.asked(following)))
                break
            yield result


class _Unanswered(Exception):
    """The worker is gone."""


class _Worker(NamedTuple):
    process: int
    questions: int
    answers: Any  # a file of bytes

    def asked(self, item: Item) -> Item:
        try:
            _send(self.questions, item)
        except BrokenPipeError:
            pass  # it is gone, as its answer will tell
        return item

    def answer(self) -> Any:
        from pickle import UnpicklingError, load

        try:
            return load(self.answers)
        except (EOFError, UnpicklingError):
            raise _Unanswered from None

    def dismiss(self) -> None:
        os.close(self.questions)
        self.answers.close()
        try:
            os.kill(self.process, 9)  # it holds nothing that could be lost
            os.waitpid(self.process, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # somebody else waited for it


@contextmanager
def _team(work: Callable[[Any], Any]) -> Iterator[list[_Worker]]:
    team: list[_Worker] = []
    try:
        for _ in range(_spare()):
            worker = _forked(work)
            if worker is None:
                break
            team.append(worker)
        yield team
    finally:
        for worker in team:
            worker.dismiss()


def _spare() -> int:
    """How many workers this machine has room for. A process with threads is not forked: one may hold a lock."""
    if sys.platform != "linux":
        return 0
    try:
        alone = len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return 0
    cores = len(os.sched_getaffinity(0))
    return min(cores, _MOST) if alone and cores > 1 else 0


def _forked(work: Callable[[Any], Any]) -> _Worker | None:
    question, questions = os.pipe()
    answer, answers = os.pipe()
    try:
        process = os.fork()
    except OSError:  # no room for another process
        for handle in (question, questions, answer, answers):
            os.close(handle)
        return None
    if not process:
        _serve(work, question, answers)
    os.close(question)
    os.close(answers)
    return _Worker(process, questions, open(answer, "rb"))


def _serve(work: Callable[[Any], Any], question: int, answers: int) -> NoReturn:
    """The life of a worker. It never returns: nothing of the copied process may be finished or closed in its name."""
    from pickle import load
    from signal import SIG_IGN, SIGINT, signal

    try:
        signal(SIGINT, SIG_IGN)  # an interrupt is the other process's to handle
        os.dup2(question, 0)
        os.dup2(answers, 1)
        # All else that was open goes, the lock above all: it must not outlive the process that took it.
        os.closerange(3, 1 + max(map(int, os.listdir("/proc/self/fd"))))
        with open(0, "rb", closefd=False) as questions:
            while True:
                _send(1, work(load(questions)))
    finally:
        os._exit(0)  # without a word: whatever went wrong, the other process meets it too


def _send(handle: int, value: Any) -> None:
    from pickle import dumps

    view = memoryview(dumps(value, 5))
    while view:
        view = view[os.write(handle, view) :]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looking for garbage in cycles: much is made here and nothing of it refers back.

    A worker must not do so at all: it could close a database that is not its own.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
