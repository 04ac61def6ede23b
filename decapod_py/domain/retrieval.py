"""How good a ranking is: what people hold a search to account with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import log2
from typing import NamedTuple


class Quality(NamedTuple):
    """Of one ranking, or the mean of many; each between 0 and 1."""

    hit_at_1: float  # whether the first result is relevant
    hit_at_5: float  # whether any of the first five is
    hit_at_k: float
    recall: float  # the share of what is relevant among the first k
    mrr: float  # one over the place of the first relevant result
    ndcg: float  # how close the order is to the best possible one


NONE = Quality(0, 0, 0, 0, 0, 0)


def quality(ranked: Sequence[str], relevant: Collection[str], k: int) -> Quality:
    """Measures the first k results of one query; `relevant` is not empty."""
    wanted = set(relevant)
    places = [place for place, found in enumerate(dict.fromkeys(ranked[:k]), 1) if found in wanted]
    best = sum(_gain(place) for place in range(1, min(len(wanted), k) + 1))
    first = places[0] if places else 0
    return Quality(
        hit_at_1=float(first == 1),
        hit_at_5=float(0 < first <= 5),
        hit_at_k=float(first > 0),
        recall=len(places) / len(wanted),
        mrr=1 / first if first else 0.0,
        ndcg=sum(map(_gain, places)) / best,
    )


def mean(qualities: Iterable[Quality]) -> Quality:
    """The same of several queries, each counting as much as any other."""
    every = list(qualities)
    return Quality(*(sum(column) / len(every) for column in zip(*every, strict=True))) if every else NONE


def _gain(place: int) -> float:
    return 1 / log2(place + 1)
