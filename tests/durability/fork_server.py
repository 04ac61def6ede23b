"""Runs commands in forked children of a process that has imported everything: a real process each, in milliseconds.

One JSON object a line comes in, one goes out. A child runs `decapod_py.__main__.main` and dies at a named step, after a
delay, or at its own end.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import sys
from typing import IO, Any

from decapod_py.__main__ import main
from decapod_py.foundation import faults
from decapod_py.operations import catalogue

_IMPORTED_LATE = (
    "tomllib",
    "git",
    "decapod_py.domain.policy",
    "decapod_py.domain.provenance",
    "decapod_py.storage.kept",
    "decapod_py.storage.packing",
    "decapod_py.surfaces.cli.app",
    "decapod_py.surfaces.cli.plain",
    "decapod_py.surfaces.cli.plain.knowledge",
    "decapod_py.surfaces.cli.plain.upkeep",
    "decapod_py.views.verification",
)
_NEVER = 600.0


def serve(requests: IO[str], answers: IO[str]) -> None:
    catalogue.all_operations()
    for module in _IMPORTED_LATE:
        importlib.import_module(module)
    gc.freeze()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    for line in requests:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    out, err = os.memfd_create("out"), os.memfd_create("err")
    child = os.fork()
    if not child:
        _be_the_command(request, out, err)
    delay = request.get("kill_after")
    if signal.sigtimedwait({signal.SIGCHLD}, _NEVER if delay is None else delay) is None:
        os.kill(child, signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, _NEVER)
    _, status = os.waitpid(child, 0)
    return {"code": os.waitstatus_to_exitcode(status), "out": _text(out), "err": _text(err)}


def _text(handle: int) -> str:
    with os.fdopen(handle, "rb") as file:
        file.seek(0)
        return file.read().decode()


def _be_the_command(request: dict[str, Any], out: int, err: int) -> None:
    code = 70
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os.chdir(request["place"])
        for target, handle in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, err)):
            os.dup2(handle, target)
        faults.die_at(request.get("kill_at"), request.get("signal") or signal.SIGKILL)
        if request.get("largest_file"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["largest_file"], resource.RLIM_INFINITY))
        code = main(request["arguments"])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve(os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w"))
