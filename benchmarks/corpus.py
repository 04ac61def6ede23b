"""Entries to measure with: the same ones on every machine, in a text that has the shape of real notes.

Words follow Zipf's law, as in any language: a few are in most entries, most are in a few. A search index is fast or
slow because of that shape, so evenly random words would measure something else.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import accumulate, islice, product
from typing import Any, NamedTuple

SEED = 20_260_301
_VOCABULARY = 30_000
_FUNCTION_WORDS = 30  # the first ranks of any language; ours stand in the sentences already
_LEAST, _MOST = 300, 600  # characters of a text

# The head of the vocabulary: what engineers write about most.
_TECHNICAL = """
service request error retry queue test build config server client token cache timeout deploy branch commit database
index table record worker thread lock file path parser schema version release pipeline review module function handler
message event log metric alert latency memory limit batch job task user account session header payload response
endpoint route proxy socket stream buffer encoder decoder key hash signature certificate secret policy role permission
migration backup snapshot replica shard cluster node region network packet firewall container image registry volume
mount process signal scheduler timer clock format locale font layout widget button form page template script style
invoice payment order customer product catalogue search filter page report export import archive checksum digest
"""
_COMMON = list(dict.fromkeys(_TECHNICAL.split()))
_SENTENCES = (
    "The {} of the {} is {} before the {} {}.",
    "When {} {} the {}, {} must {} again within the {}.",
    "Never {} a {} while the {} is {}: the {} would {} the {}.",
    "We chose {} over {} because {} and {} did not {} under {}.",
    "If the {} {} fails, look at the {} in {} and then at {}.",
    "Each {} has its own {}; a {} that {} it is refused with {}.",
    "Since the {} of {} the {} takes the {} from {}, not from {}.",
    "A {} without {} is {} after {} and {} by the {}.",
)
_TITLES = (
    "{} stops at the {} {}",
    "How the {} {} its {}",
    "{} before {} in the {}",
    "Why {} does not {} the {} {}",
)
_QUESTIONS = (
    "why does the {} not {} after the {} {}",
    "what happens to {} when the {} and {} {}",
    "how do we {} a {} without the {} {}",
    "which {} is {} by the {} of {} now",
)
_PEOPLE = ("Ann", "Bao", "Chidi", "Dana Ortiz", "Emre", "Farah", "Goran", "Hye-jin")
_SYLLABLES = [first + vowel for first, vowel in product("bdfgklmnprstvz", "aeiou")] + ["an", "el", "or", "ist", "er"]


class Queries(NamedTuple):
    """Searches that real users make, found or not."""

    hits: list[str]  # three words of one entry
    misses: list[str]  # three words that nobody wrote
    questions: list[str]  # nine words of English around four words of one entry


def write_corpus(path: str, count: int) -> int:
    """Writes JSON lines that `knowledge import` reads; returns the bytes. One line at a time, so that we stay small."""
    written = 0
    with open(path, "wb") as file:
        for entry in entries(count):
            written += file.write(json.dumps(entry).encode() + b"\n")
    return written


def entries(count: int, seed: int = SEED) -> Iterator[dict[str, Any]]:
    writer = _Writer(seed)
    for number in range(count):
        yield writer.entry(number)


def queries(count: int, corpus_size: int) -> Queries:
    """Queries about entries from all over the corpus."""
    chooser = random.Random(SEED + 1)
    step = max(1, corpus_size // count)
    hits, questions = [], []
    for entry in islice(entries(corpus_size), 0, None, step):
        words = sorted({word.strip(".,:;").lower() for word in entry["content"].split()} - _GRAMMAR)
        hits.append(" ".join(chooser.sample(words, 3)))
        questions.append(chooser.choice(_QUESTIONS).format(*chooser.sample(words, 4)))
    misses = [" ".join(f"{chooser.choice('qxjw')}q{_invented(chooser, 3)}" for _ in range(3)) for _ in hits]
    return Queries(hits[:count], misses[:count], questions[:count])


_GRAMMAR = {word.strip(".,:;").lower() for sentence in _SENTENCES for word in sentence.split()}


class _Writer:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = _vocabulary()
        self._weights = list(accumulate(1 / (rank + _FUNCTION_WORDS) for rank in range(len(self._words))))

    def entry(self, number: int) -> dict[str, Any]:
        chooser = self._random
        entry: dict[str, Any] = {
            "title": self._filled(chooser.choice(_TITLES)),
            "content": self._text(chooser.randint(_LEAST, _MOST)),
            "provenance": self._provenance(number),
            "tags": sorted(set(chooser.choices(_COMMON, k=chooser.randint(0, 3)))),
        }
        if not number % 10:
            entry["merge_key"] = f"key-{number}"
        return entry

    def _text(self, length: int) -> str:
        sentences: list[str] = []
        size = 0
        while size < length:
            sentences.append(self._filled(self._random.choice(_SENTENCES)))
            size += len(sentences[-1]) + 1
        return " ".join(sentences)[:_MOST].rstrip()

    def _filled(self, template: str) -> str:
        chosen = self._random.choices(self._words, cum_weights=self._weights, k=template.count("{}"))
        filled = template.format(*chosen)
        return filled[0].upper() + filled[1:]

    def _provenance(self, number: int) -> str:
        kind = number % 3
        if kind == 0:
            return f"person:{self._random.choice(_PEOPLE)}"
        if kind == 1:
            return f"url:https://wiki.example.com/{self._random.choice(self._words)}/{number}"
        return f"cmd:make {self._random.choice(_COMMON)} JOB={number}"


def _vocabulary() -> list[str]:
    maker = random.Random(SEED - 1)
    words = dict.fromkeys(_COMMON)
    while len(words) < _VOCABULARY:
        words[_invented(maker, maker.randint(2, 4))] = None
    return list(words)


def _invented(chooser: random.Random, syllables: int) -> str:
    return "".join(chooser.choices(_SYLLABLES, k=syllables))
