"""Text rules of search: what is a word in any script, what a query asks for, which texts are alike.

A word is what SQLite's `unicode61` calls one: a run of letters and digits. Scripts that write no blanks between words,
or whose vowel signs `unicode61` takes for blanks, are cut into overlapping pairs of characters (grams) instead.
"""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import NamedTuple

MAX_TERMS = 32
_MAX_QUERY = 32_768  # characters of a query that are read at all
_MAX_PHRASE = 32  # words of one phrase
_MAX_SHINGLED = 2_000  # words of a text that count for likeness

# Indic scripts, Thai, Lao, Tibetan, Myanmar and Khmer: their vowel signs are marks, which `unicode61` drops.
_SIGNED = "\u0900-\u109f\u1780-\u17ff"
# Kana, Bopomofo, Hangul and the Han characters.
_UNSIGNED = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u318e\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
)
_RUN = f"[{_SIGNED}]+|[{_UNSIGNED}]+"
# Python and `unicode61` are not of one mind about rare signs and marks: none of them is part of a word.
_RESHAPED = rf"({_RUN})|[^\w\x00-\x7f]"
_PART = rf"{_RUN}|[^\W_{_SIGNED}{_UNSIGNED}]+"
_ASCII_PART = re.compile("[A-Za-z0-9]+")
_QUOTED = re.compile(r'"([^"]*)"')
_CLITIC = re.compile(r"['’](?:s|t|d|m|re|ve|ll)(?![^\W_])")
_PREFIX = re.compile(r"[^\W_]\*+\W*$")
_CURLY_QUOTES = str.maketrans("“”„‟«»\0", '"""""" ')
_PRIVATE = 0xE000  # signed scripts move here: `unicode61` keeps every private character as a letter

_STOP_WORDS = """
a about above after again against ain all also am an and any are aren as at be because been before being below
between both but by can cannot could couldn did didn do does doesn doing don down during each every few for from
further get got had hadn has hasn have haven having he her here hers herself him himself his how however i if in
into is isn it its itself just let ll may me might more most must my myself need no nor not now of off on once
only or other our ours ourselves out over own please same shall she should shouldn so some such than that the
their theirs them themselves then there these they this those through to too under until up upon us very was wasn
we were weren what when where which while who whom whose why will with won would wouldn you your yours yourself
yourselves
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

SKETCH_SIZE = 4
_STOP_BYTES = frozenset(word.encode() for word in STOP_WORDS)
_ONLY_WORDS = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))

_BLANKS = r"[\s\x00-\x1f\x7f-\x9f]+"
_ENDING = r"(?:ations?|ments?|ness|ings?|ied|ies|ions?|ed|ers?|es|ly|al|s|e|y)$"
_MAX_MATCHES = 1_000  # of a snippet's terms in one text
_SNAP = 24  # characters a cut may move to fall between two words


class Term(NamedTuple):
    """One thing a query asks for: a word, several in a row (a phrase), or the beginning of a word."""

    label: str  # as the user wrote it, for explanations and snippets
    words: tuple[str, ...]
    prefix: bool = False  # the last word is only a beginning


def normalise(text: str) -> str:
    """One form of each character: full-width letters, half-width kana and split accents become plain ones."""
    if text.isascii():
        return text
    from unicodedata import normalize  # most text is ASCII and never pays for it

    return normalize("NFKC", text)


def title_key(title: str) -> str:
    """Equal for titles that differ in case and blanks only."""
    return " ".join(normalise(title).casefold().split())


def tag_key(tag: str) -> str:
    """A tag as it is looked up in a `tags_key`: case does not count, blanks and commas do."""
    return "\x1f" + normalise(tag).casefold().replace("\x1f", " ") + "\x1f"


def tags_key(tags: Iterable[str]) -> str:
    """All tags of an entry in one string that contains the `tag_key` of each."""
    return "".join(map(tag_key, tags))


def searchable(text: str) -> str:
    """The text as it is indexed: every run of a grammed script is replaced by its grams."""
    if text.isascii():
        return text
    return _pattern(_RESHAPED).sub(_reshaped, normalise(text))


def indexed_words(indexed: str) -> list[str]:
    """The words and grams of a searchable text, in order and in lower case."""
    return _pattern(r"[^\W_]+|[\ue000-\uf8ff]+").findall(indexed.lower())


def parse(query: str) -> list[Term]:
    """What a query asks for: any text is a query, and one without words asks for nothing."""
    text = normalise(query[:_MAX_QUERY].encode("utf-8", "replace").decode()).translate(_CURLY_QUOTES)
    terms = [term for phrase in _QUOTED.findall(text) for term in _phrase_terms(phrase)]
    for chunk in _QUOTED.sub(" ", text).replace('"', " ").split():
        terms += _chunk_terms(chunk)
    terms = list(dict.fromkeys(terms))
    telling = [term for term in terms if len(term.words) > 1 or term.prefix or term.words[0] not in STOP_WORDS]
    return _longest(telling or terms)


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    # Compiled on first use: the ranges of many scripts take milliseconds, and most text is ASCII.
    return re.compile(pattern)


def _parts(text: str) -> list[str]:
    """The words, and the runs of grammed scripts, of a text."""
    return (_ASCII_PART if text.isascii() else _pattern(_PART)).findall(text)


def _has_run(text: str) -> bool:
    return not text.isascii() and _pattern(_RUN).search(text) is not None


def has_grams(text: str) -> bool:
    """Whether some of a text is in a script that is cut into grams."""
    return _has_run(normalise(text))


def _longest(terms: list[Term]) -> list[Term]:
    # A long word is a rare word, more often than not: of a pasted page the longest say most.
    if len(terms) <= MAX_TERMS:
        return terms
    kept = set(sorted(terms, key=lambda term: -len(term.label))[:MAX_TERMS])
    return [term for term in terms if term in kept]


def _phrase_terms(phrase: str) -> list[Term]:
    parts = _parts(phrase.lower())[:_MAX_PHRASE]
    if not parts:
        return []
    words = [word for part in parts[:-1] for word in _indexed_grams(part)] + _query_grams(parts[-1])
    # A single character of a run is the beginning of a gram.
    return [Term(" ".join(phrase.split()), tuple(words[:_MAX_PHRASE]), len(parts[-1]) == 1 and _has_run(parts[-1]))]


def _chunk_terms(chunk: str) -> list[Term]:
    """Terms of a part without blanks; `max_retry_count` is a phrase that counts on top of its three words."""
    prefix = bool(_PREFIX.search(chunk))
    chunk = _CLITIC.sub("", chunk.lower())
    parts = _parts(chunk)
    terms: list[Term] = []
    for number, part in enumerate(parts, 1):
        if _has_run(part):
            terms += _run_terms(part)
        else:
            terms.append(_word_term(part, prefix and number == len(parts)))
    if len(parts) > 1 and not _has_run(chunk):
        label = chunk.strip("*.,;:!?()[]{}<>'`")
        terms.insert(0, Term(label, tuple(parts[:_MAX_PHRASE]), prefix and len(parts) <= _MAX_PHRASE))
    return terms


def _word_term(word: str, prefix: bool) -> Term:
    # One letter begins too many words to mean any of them.
    return Term(word + "*", (word,), True) if prefix and len(word) > 1 else Term(word, (word,))


def _run_terms(run: str) -> list[Term]:
    """The whole run as a phrase, and its parts: pairs of ideographs and syllables, triples of signed letters."""
    if len(run) == 1:
        return [Term(run, (_moved(run),), True)]
    size = min(len(run), 3 if _is_signed(run) else 2)
    parts = [run[start : start + size] for start in range(len(run) - size + 1)]
    whole = [run] if len(parts) > 1 else []
    return [Term(part, tuple(_query_grams(part)[:_MAX_PHRASE])) for part in [*whole, *parts]]


def _query_grams(part: str) -> list[str]:
    """What stands in the index for a word, or for a run of a grammed script."""
    return _pairs(_moved(part)) if _has_run(part) else [part]


def _reshaped(found: re.Match[str]) -> str:
    return f" {' '.join(_indexed_grams(found[1]))} " if found[1] else " "


def _indexed_grams(part: str) -> list[str]:
    # The last character stands alone too, so that each character of a run is the beginning of some gram.
    grams = _query_grams(part)
    return [*grams, grams[-1][-1]] if len(part) > 1 and _has_run(part) else grams


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)] or [run]


def _is_signed(run: str) -> bool:
    return "\u0900" <= run[0] <= "\u17ff" and not "\u1100" <= run[0] <= "\u11ff"


def _moved(run: str) -> str:
    return "".join([chr(ord(letter) + _PRIVATE) for letter in run]) if _is_signed(run) else run


def shingles(indexed: str) -> set[int]:
    """Hashes of each two neighbouring words of a searchable text: alike texts share most of them."""
    words = indexed.lower().encode().translate(_ONLY_WORDS).split()[:_MAX_SHINGLED]
    words = [word for word in words if word not in _STOP_BYTES] or words
    if len(words) < 2:
        return set(map(crc32, words))
    return set(map(crc32, map(b" ".join, pairwise(words))))


def sketch(of: set[int]) -> list[int]:
    """The smallest shingles: two texts that share six in ten have one of these in common, 97 times in 100."""
    return sorted(of)[:SKETCH_SIZE]


def likeness(one: set[int], other: set[int]) -> float:
    """The share of all shingles that both texts have (Jaccard)."""
    return len(one & other) / len(one | other) if one and other else 0.0


def snippet(content: str, terms: Sequence[str], width: int = 200) -> str:
    """The passage with most of the terms, on one line and never longer than the width."""
    text = _pattern(_BLANKS).sub(" ", content).strip()
    if len(text) <= width:
        return text
    start, end = _densest(_folded(text), _rough_stems(terms), width)
    return _cut(text, start, end, width)


def highlights(text: str, terms: Sequence[str]) -> list[tuple[int, int]]:
    """Where the words of the terms start and end in a text."""
    matches = islice(_matches(_folded(text), _rough_stems(terms)), _MAX_MATCHES)
    return [(start, end) for start, end, _ in matches]


def _folded(text: str) -> str:
    """The text without case and accents, character by character, so that positions stay."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    letters = {ord(letter): normalize("NFKD", letter)[:1].lower()[:1] for letter in set(text)}
    return text.translate(letters)


def _rough_stems(terms: Sequence[str]) -> list[str]:
    parts = (part for term in terms for part in _parts(_folded(normalise(term))))
    return list(dict.fromkeys(_rough_stem(part) for part in parts))[: 2 * MAX_TERMS]


def _rough_stem(word: str) -> str:
    """The beginning of the words that search takes for the same, or nearly so; a short word stands for itself alone."""
    if _has_run(word):
        return word
    stem = _pattern(_ENDING).sub("", word)
    if len(stem) < 3:
        return word
    doubled = len(stem) > 3 and stem[-1] == stem[-2]
    return stem[:-1] if doubled else stem


def _densest(text: str, stems: list[str], width: int) -> tuple[int, int]:
    """Where the window with most different terms, then most matches, starts and ends; the first of equals."""
    matches = list(islice(_matches(text, stems), _MAX_MATCHES))
    best, window = (0, 0), (0, 0)
    last = 0
    for first, (start, _, _) in enumerate(matches):
        last = max(last, first)
        while last + 1 < len(matches) and matches[last + 1][1] - start <= width:
            last += 1
        inside = matches[first : last + 1]
        weight = (len({stem for _, _, stem in inside}), len(inside))
        if weight > best:
            best, window = weight, (start, matches[last][1])
    return window


def _matches(text: str, stems: list[str]) -> Iterator[tuple[int, int, str]]:
    """Where words that begin like a stem start and end. One pattern for all queries: compiling one takes longer."""
    for match in _pattern(_ANY_WORD).finditer(text):
        word = match[0]
        for stem in stems:
            place = 0 if word.isascii() else word.find(stem)  # no blanks part the words of some scripts
            if place < 0 or not word.startswith(stem, place) or (len(stem) < 3 and word.isascii() and word != stem):
                continue
            end = match.end() if word.isascii() else match.start() + place + len(stem)
            yield match.start() + place, end, stem
            break


_ANY_WORD = r"[^\s!-/:-@\[-`{-~]+"  # marks of Thai and others belong to their word, and are no letters to `re`


def _cut(text: str, start: int, end: int, width: int) -> str:
    """At most `width` characters around a window, cut between words if possible, with dots where text is missing."""
    begin = max(0, start - max(0, width - (end - start)) // 3)
    finish = min(len(text), begin + width)
    begin = max(0, finish - width)
    if begin:
        blank = text.find(" ", begin, min(begin + _SNAP, start + 1))
        begin = blank + 1 if blank >= 0 else begin + 1
    if finish < len(text):
        blank = text.rfind(" ", max(finish - _SNAP, min(end, finish)), finish)
        finish = blank if blank >= 0 else finish - 1
    passage = text[begin:finish].strip()
    return (("…" if begin else "") + passage + ("…" if finish < len(text) else ""))[:width]
