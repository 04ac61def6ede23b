"""Joins what words find with what meaning finds: words decide where they can, meaning helps where they cannot.

How much a query's words tell is its evidence: the share of them, by weight, that one of the best matches has. With much
of it the words alone decide, and no model is even loaded; with little of it meaning does; in between both are weighed.
The two bounds were chosen on `benchmarks/retrieval/queries.jsonl`; what they are worth, `fresh.jsonl` beside it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.domain.words import has_grams
from decapod_py.views.search import Hit, SearchOutcome

if TYPE_CHECKING:
    from decapod_py.views.meaning import Near
    from decapod_py.views.search import Candidate

MEANING_ALONE, WORDS_ALONE = 0.3, 0.7  # evidence up to which, and from which
FAR = 0.15  # what is less similar than this is about something else
_BEST_STAYS = 5  # the place that what words find best never falls below


def words_suffice(outcome: SearchOutcome) -> bool:
    return outcome.evidence >= WORDS_ALONE


def takes_words_at_their_word(query: str) -> bool:
    """Whether a query asks for just these words, or is in a script of which a small model knows next to nothing."""
    return '"' in query or "*" in query or has_grams(query)


def semantic(near: dict[int, Near], candidates: dict[int, Candidate], *, rank: str) -> list[Hit]:
    """Entries by meaning alone, the nearest first."""
    hits = [
        _hit(number, candidate, Hit(number, candidate.id, 0, 0, 0, 0), near[number], near[number].similarity, rank)
        for number, candidate in candidates.items()
        if number in near
    ]
    return _ordered(hits)


def hybrid(
    matches: list[Hit], evidence: float, near: dict[int, Near], candidates: dict[int, Candidate], *, rank: str
) -> list[Hit]:
    """Everything that words match, and what is near in meaning, in the order of both."""
    by_words = {hit.number: hit for hit in matches}
    most = max((hit.relevance for hit in matches), default=0) or 1.0
    nearest = max((near[number].similarity for number in candidates if number in near), default=0)
    words_weigh = min(1.0, max(0.0, (evidence - MEANING_ALONE) / (WORDS_ALONE - MEANING_ALONE)))
    hits = []
    for number, candidate in candidates.items():
        found = by_words.get(number)
        passage = near.get(number)
        if found is None and passage is None:
            continue
        plain = found or Hit(number, candidate.id, 0, 0, 0, 0)
        # Each as a share of its best: the two have nothing else in common.
        by_meaning = passage.similarity / nearest if passage else 0.0
        joined = words_weigh * plain.relevance / most + (1 - words_weigh) * by_meaning
        hits.append(_hit(number, candidate, plain, passage, joined, rank))
    return _with_the_best(_ordered(hits), matches[0].number if matches else None)


def _hit(number: int, candidate: Candidate, plain: Hit, near: Near | None, joined: float, rank: str) -> Hit:
    score = joined * candidate.feedback * (candidate.recency if rank == "recency_decay" else 1)
    return plain._replace(
        number=number, recency=candidate.recency, feedback=candidate.feedback, score=round(score, 6), near=near
    )


def _ordered(hits: list[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _with_the_best(hits: list[Hit], number: int | None) -> list[Hit]:
    """What words find best stays near the top: it may be the one thing that was meant."""
    place = next((place for place, hit in enumerate(hits) if hit.number == number), 0)
    if place < _BEST_STAYS:
        return hits
    # A trifle more than its neighbour: whoever sorts again must not swap them.
    best = hits[place]._replace(score=round(hits[_BEST_STAYS - 1].score + 1e-6, 6))
    return [*hits[: _BEST_STAYS - 1], best, *hits[_BEST_STAYS - 1 : place], *hits[place + 1 :]]
