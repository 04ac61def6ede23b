"""`decapod eval retrieval`."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from decapod_py.domain.retrieval import Quality, mean, quality
from decapod_py.foundation.errors import Misused, Refused
from decapod_py.operations.catalogue import operation
from decapod_py.views import embedding

if TYPE_CHECKING:
    from decapod_py.operations.requests import EvalRetrieval
    from decapod_py.operations.shapes import BadLine, Measured, RetrievalEvaluated, UnknownId
    from decapod_py.views.state import State
    from decapod_py.workspace import Workspace

MODES = ("lexical", "semantic", "hybrid")
_ALL = "all"
_MOST_TOLD = 10
_FORM = 'a line is {"query": "...", "relevant": ["id", ...], "kind": "..."}; kind may be left out'


class Judged(NamedTuple):
    """A query, and what it should find."""

    line: int
    query: str
    relevant: list[str]
    kind: str


@operation(tool=False)
def retrieval(workspace: Workspace, request: EvalRetrieval) -> RetrievalEvaluated:
    """Measure how well search finds what it should, on a file of queries and relevant ids.

    Each line of the file is a JSON object with query, relevant (a list of entry ids) and, if you like, kind: measures
    are given for each kind and for all. Bad lines and unknown ids are reported, and the rest is measured.
    """
    modes = _modes(request.modes)
    judged, bad = _read(workspace, request.file)
    known, unknown = _known(workspace.state(), judged)
    if not known:
        raise Refused("no-queries", f"{request.file} has no query whose relevant ids are here{_reasons(bad)}", _FORM)
    measured: list[Measured] = []
    for mode in modes:
        measured += _measured(workspace, known, mode, request.k)
    return {
        "ok": not bad and not unknown,
        "k": request.k,
        "queries": len(known),
        "measured": measured,
        "bad": bad,
        "unknown": unknown,
    }


def _reasons(bad: list[BadLine]) -> str:
    """Why lines were not read: the first few, for a file of another form has as many as it has lines."""
    told = "".join(f"; line {one['line']}: {one['message']}" for one in bad[:_MOST_TOLD])
    return f"{told}; and {len(bad) - _MOST_TOLD} more" if len(bad) > _MOST_TOLD else told


def _modes(asked: list[str]) -> list[str]:
    for mode in asked:
        if mode not in MODES:
            raise Misused("bad-mode", f"there is no mode {mode!r}", f"there are {', '.join(MODES)}")
        if mode != "lexical":
            embedding.refuse_absent()
    return list(dict.fromkeys(asked)) or list(MODES if embedding.is_installed() else MODES[:1])


def _read(workspace: Workspace, name: str) -> tuple[list[Judged], list[BadLine]]:
    judged: list[Judged] = []
    bad: list[BadLine] = []
    for number, line in enumerate(_bytes(workspace, name).split(b"\n"), 1):
        if line.strip():
            try:
                judged.append(_judged(number, line))
            except Misused as problem:
                bad.append({"line": number, "code": problem.code, "message": problem.message})
    return judged, bad


def _bytes(workspace: Workspace, name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        with open(os.path.join(workspace.directory, name), "rb") as file:
            return file.read().removeprefix(b"\xef\xbb\xbf")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise Misused("no-file", f"{name!r} cannot be read: {reason}") from None


def _judged(number: int, line: bytes) -> Judged:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise Misused("not-json", f"it is not JSON: {problem}") from None
    if not isinstance(row, dict):
        raise Misused("bad-query", f"it is not an object: {_FORM}")
    query, relevant, kind = row.get("query"), row.get("relevant"), row.get("kind", _ALL)
    if not isinstance(query, str) or not query.strip():
        raise Misused("bad-query", "query is missing, or no text")
    if not isinstance(relevant, list) or not relevant or not all(isinstance(one, str) for one in relevant):
        raise Misused("bad-query", "relevant is missing, or no list of entry ids")
    if not isinstance(kind, str):
        raise Misused("bad-query", "kind is no text")
    return Judged(number, query, list(dict.fromkeys(relevant)), kind)


def _known(state: State, judged: list[Judged]) -> tuple[list[Judged], list[UnknownId]]:
    """The queries without the ids that nothing here has: those would count as missed for ever."""
    known: list[Judged] = []
    unknown: list[UnknownId] = []
    for one in judged:
        here = [entry_id for entry_id in one.relevant if state.entry(entry_id)]
        unknown += [{"line": one.line, "id": entry_id} for entry_id in one.relevant if entry_id not in here]
        if here:
            known.append(one._replace(relevant=here))
    return known, unknown


def _measured(workspace: Workspace, judged: list[Judged], mode: str, k: int) -> list[Measured]:
    """One row a kind, in the order of the file, and one for all."""
    by_kind: dict[str, list[Quality]] = {}
    for number, one in enumerate(judged, 1):
        found = quality(_found(workspace, one.query, mode, k), one.relevant, k)
        by_kind.setdefault(one.kind, []).append(found)
        workspace.progress(f"asking, {mode}", number, len(judged))
    rows = [_row(mode, kind, found) for kind, found in by_kind.items() if kind != _ALL]
    return [*rows, _row(mode, _ALL, [one for found in by_kind.values() for one in found])]


def _found(workspace: Workspace, query: str, mode: str, k: int) -> list[str]:
    """The ids that a user would get: the very same search."""
    from decapod_py.operations.knowledge.search import search
    from decapod_py.operations.requests import Search

    request = Search.model_validate({"query": query, "mode": mode, "limit": k, "content": False})
    return [hit["id"] for hit in search(workspace, request)["results"]]


def _row(mode: str, kind: str, found: list[Quality]) -> Measured:
    average = mean(found)
    return {
        "mode": mode,
        "kind": kind,
        "queries": len(found),
        "hit_at_1": round(average.hit_at_1, 4),
        "hit_at_5": round(average.hit_at_5, 4),
        "hit_at_k": round(average.hit_at_k, 4),
        "recall": round(average.recall, 4),
        "mrr": round(average.mrr, 4),
        "ndcg": round(average.ndcg, 4),
    }
