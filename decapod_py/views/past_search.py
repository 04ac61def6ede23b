"""Search over entries that are in no index: the state as it was, folded in memory.

It understands the same queries and stems like the index, but ranks with rank-bm25. Only a search in the past pays for
that: the library brings numpy, which takes five times as long to import as Python itself.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from decapod_py.domain import words
from decapod_py.foundation.clock import DAY
from decapod_py.views.search import (
    NOTHING,
    TOKENIZER,
    Filters,
    Hit,
    SearchOutcome,
    feedback_factor,
    recency_factor,
)

if TYPE_CHECKING:
    from decapod_py.domain.entry import Entry
    from decapod_py.domain.words import Term

_TITLE_WEIGHT, _TAGS_WEIGHT = 5, 3  # how often a word there counts
_DIGITS = 6  # of a score: what is equal so far is a tie
_OTHER = ""  # stands for every word that the query does not ask for


class _Field(NamedTuple):
    weight: int
    words: list[str]  # as written, for prefixes
    stems: list[str]


def search(
    entries: Sequence[Entry],
    query: str,
    *,
    now: int,
    filters: Filters = Filters(),  # noqa: B008  (immutable)
    rank: str = "relevance",
    limit: int = 10,
    feedback: Mapping[str, Mapping[str, int]] | None = None,
    explain: bool = False,
) -> SearchOutcome:
    """The best matches among these entries, ties by id; a hit's number is its place in the list."""
    terms = words.parse(query)
    pool = [(number, entry) for number, entry in enumerate(entries) if _wanted(entry, filters, now)]
    if not terms or not pool:
        return NOTHING
    found = _occurrences([entry for _, entry in pool], terms)
    known = {label for labels in found for label in labels}
    if known <= {_OTHER}:
        return NOTHING
    hits = []
    for (number, entry), labels, relevance in zip(pool, found, _relevances(found), strict=True):
        matched = tuple(dict.fromkeys(label for label in labels if label != _OTHER))
        if matched:
            outcomes = (feedback or {}).get(entry.id, {})
            factor = feedback_factor(outcomes.get("helped", 0), outcomes.get("hurt", 0))
            recency = recency_factor(entry.created, now)
            score = round(relevance * factor * (recency if rank == "recency_decay" else 1), _DIGITS)
            hits.append(Hit(number, entry.id, relevance, recency, factor, score, matched if explain else ()))
    hits.sort(key=lambda hit: (-hit.score, hit.id))
    return SearchOutcome(hits[:limit], len(hits), tuple(term.label for term in terms if term.label in known))


def _wanted(entry: Entry, filters: Filters, now: int) -> bool:
    status = entry.status_at(now)
    tags = words.tags_key(entry.tags)
    return (
        status != "deleted"
        and filters.status in (status, "any")
        and filters.scope in (entry.scope, None)
        and (filters.window_days is None or entry.created >= now - filters.window_days * DAY)
        and filters.author in (entry.author, None)
        and entry.path.startswith(filters.path_prefix or "")
        and (filters.since is None or entry.updated >= filters.since)
        and all(words.tag_key(tag) in tags for tag in filters.tags)
    )


def _relevances(found: list[list[str]]) -> list[float]:
    from rank_bm25 import BM25Okapi

    ranking = BM25Okapi(found)
    # Its own weight of a term is nought or negative when half of the entries have it, and so with one or two entries.
    ranking.idf = {
        label: math.log(1 + (len(found) - count + 0.5) / (count + 0.5)) for label, count in _spread(found).items()
    }
    return [
        round(float(score), _DIGITS)
        for score in ranking.get_scores([label for label in ranking.idf if label != _OTHER])
    ]


def _spread(found: list[list[str]]) -> dict[str, int]:
    """In how many entries each term occurs."""
    counts: dict[str, int] = {}
    for labels in found:
        for label in dict.fromkeys(labels):
            counts[label] = counts.get(label, 0) + 1
    return counts


def _occurrences(entries: Iterable[Entry], terms: list[Term]) -> list[list[str]]:
    """For each entry the label of each term as often as it occurs, and a filler for every other word of it."""
    split = [_split(entry) for entry in entries]
    asked_for = {word for term in terms for word in term.words}
    # A stem begins like its word, accents aside: other words cannot match and need no stemming.
    initials = {word[0] for word in asked_for}
    vocabulary = {word for fields in split for _, text in fields for word in text}
    stems = _stems([*asked_for, *(word for word in vocabulary if word[0] in initials or not word[0].isascii())])
    wanted = [(term, [stem for word in term.words for stem in stems.get(word, [])]) for term in terms]
    found = []
    for fields in split:
        labels: list[str] = []
        for weight, text in fields:
            stemmed = [stem for word in text for stem in stems.get(word, (word,))]
            field = _Field(weight, text, stemmed)
            labels += [term.label for term, asked in wanted for _ in range(_times(field, term, asked))]
            labels += [_OTHER] * len(stemmed)
        found.append(labels)
    return found


def _split(entry: Entry) -> list[tuple[int, list[str]]]:
    texts = ((_TITLE_WEIGHT, entry.title), (_TAGS_WEIGHT, " ".join(entry.tags)), (1, entry.content))
    return [(weight, words.indexed_words(words.searchable(text))) for weight, text in texts]


def _times(field: _Field, term: Term, asked: list[str]) -> int:
    if not asked:
        return 0
    if term.prefix:
        return field.weight * _count_beginnings(field.words, term.words)
    if len(asked) == 1:
        return field.weight * field.stems.count(asked[0])
    size = len(asked)
    starts = (place for place, stem in enumerate(field.stems) if stem == asked[0])
    return field.weight * sum(field.stems[start : start + size] == asked for start in starts)


def _count_beginnings(text: list[str], asked: tuple[str, ...]) -> int:
    *whole, beginning = asked
    size = len(whole)
    return sum(
        word.startswith(beginning) and text[place - size : place] == whole
        for place, word in enumerate(text)
        if place >= size
    )


def _stems(vocabulary: Iterable[str]) -> dict[str, list[str]]:
    """Each word as the index would keep it: SQLite itself does the stemming, so the two can never differ."""
    numbered = list(dict.fromkeys(vocabulary))
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE vocabulary USING fts5(word, tokenize = '{TOKENIZER}')")
    connection.execute("CREATE VIRTUAL TABLE stem USING fts5vocab(vocabulary, instance)")
    connection.executemany("INSERT INTO vocabulary (rowid, word) VALUES (?, ?)", enumerate(numbered))
    stems: dict[str, list[str]] = {}
    for number, stem in connection.execute("SELECT doc, term FROM stem ORDER BY doc, offset"):
        stems.setdefault(numbered[number], []).append(stem)
    connection.close()
    return stems
