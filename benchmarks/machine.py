"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
import sqlite3
import time


def described(place: str) -> list[tuple[str, str]]:
    """Facts about this machine and the file system of a place."""
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return [
        ("date", time.strftime("%Y-%m-%d", time.gmtime())),
        ("CPU", f"{_cpu_model()}, {_cores()} cores"),
        ("memory", f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.1f} GB"),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("file system", _file_system(os.path.realpath(place))),
        ("Python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("SQLite", sqlite3.sqlite_version),
        ("load when it began", load),
    ]


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _cpu_model() -> str:
    for line in _lines("/proc/cpuinfo"):
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or "unknown"


def _file_system(place: str) -> str:
    """The type of the longest mount point that the place lies under."""
    mounts = [line.split()[1:3] for line in _lines("/proc/mounts")]
    above = [(point, kind) for point, kind in mounts if place.startswith(point.rstrip("/") + "/")]
    return max(above, key=lambda mount: len(mount[0]))[1] if above else "unknown"


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
