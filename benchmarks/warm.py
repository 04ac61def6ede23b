"""Runs in a process of its own: searches and adds through the Python call, each timed. Prints seconds as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from corpus import entries, queries

import decapod_py

_OTHER_SEED = 7  # texts that are not in the corpus


def main(repository: str, corpus_size: int, searches: int, adds: int) -> None:
    with decapod_py.open(repository, actor="bench") as decapod:
        knowledge = decapod.knowledge
        asked = queries(searches, corpus_size)
        taken = {
            kind: _timed(lambda query: knowledge.search(query=query, mode="lexical"), texts)
            for kind, texts in (("hit", asked.hits), ("miss", asked.misses), ("question", asked.questions))
        }
        found = [knowledge.search(query=query, mode="lexical")["count"] for query in (asked.hits[0], asked.misses[0])]
        if not found[0] or found[1]:
            raise SystemExit(f"bench: a hit and a miss found {found}")
        fresh = [_request(entry) for entry in entries(adds + _WARM_UP, _OTHER_SEED)]
        taken["add"] = _timed(lambda request: knowledge.add(**request), fresh)
    sys.stdout.write(json.dumps(taken))


_WARM_UP = 5


def _timed(call: Callable[[Any], object], arguments: list[Any]) -> list[float]:
    for argument in arguments[:_WARM_UP]:
        call(argument)
    taken = []
    for argument in arguments[_WARM_UP:]:
        start = time.perf_counter()
        call(argument)
        taken.append(time.perf_counter() - start)
    return taken


def _request(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": entry["title"],
        "text": entry["content"],
        "provenance": [entry["provenance"]],
        "tags": entry["tags"],
    }


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
