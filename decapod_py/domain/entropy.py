"""Tokens that are too random to be words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from decapod_py.domain.secret_forms import is_placeholder

_SHORTEST, _LONGEST = 24, 200  # what is longer is data

# Digests, public keys and data are as random as secrets, and none. They are named first, so that what they cover is
# passed over; only a token that nothing else covers is looked at.
_TOKENS = r"""
    [a-zA-Z][a-zA-Z0-9+.-]{1,20}+://[^\s"'<>`]*+
  | data:[\w/+.;=-]{0,100}+,[^\s"'<>`)]*+
  | [sS][hH][aA]-?(?:1|224|256|384|512)(?:sum)?[-=:$/][A-Za-z0-9+/_=-]*+
  | h1:[A-Za-z0-9+/]{43}=
  | (?<![A-Za-z0-9+/_-])(?P<token>[A-Za-z0-9+/_-]{24,}+={0,2})
"""
_PUBLIC = (
    *("MFkwEwYHKoZIzj0", "MIIBIjANBgkqhki", "MIICIjANBgkqhki", "MCowBQYDK2V"),  # public keys as DER
    *("AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh"),  # and as OpenSSH writes them
    *("pk_", "_Z", "Qm"),  # publishable keys, mangled C++ names, content identifiers
)


def random_tokens(text: str, long_words: list[str]) -> Iterator[tuple[int, int]]:
    """Where a token stands that may be a secret; only long words can hold one."""
    place = 0
    for word in long_words:
        place = text.find(word, place)
        for match in _tokens().finditer(text, place, place + len(word)) if len(word) >= _SHORTEST else ():
            if match["token"] and is_random(match["token"]) and not _is_data(text, match):
                yield match.span()
        place += len(word)


@cache
def _tokens() -> re.Pattern[str]:
    return re.compile(_TOKENS, re.VERBOSE)


def is_random(token: str) -> bool:
    """Whether small and capital letters and digits take turns as they do in random tokens, with no words among them.

    The thresholds were chosen on 120 MB of source and documents. Of random tokens of 24 characters nine in ten are
    found, of 64 all but three in a hundred; of all the names, paths and numbers in those sources, one.
    """
    if len(token) > _LONGEST or token.startswith(_PUBLIC):
        return False
    rest = re.sub(_HEX, "", token.rstrip("="))
    if len(rest) < _SHORTEST or not re.match(_MIXED, rest) or re.fullmatch(_MIXED_CASE_HEX, rest):
        return False
    words = sum(len(word) for word in re.findall(_WORD, rest))
    return (
        words < 0.5 * len(rest)
        and len(re.findall("[0-9]+", rest)) >= len(rest) // 16
        and _turns(rest) >= 0.36
        and _entropy(rest) >= (3.8 if len(rest) < 28 else 4.0)
        and not is_placeholder(token)
        and not _is_encoded_text(token)
    )


_HEX = r"[0-9a-f]{20,}|[0-9A-F]{20,}"
_MIXED_CASE_HEX = "(?:0x)?[0-9a-fA-F]+"
_MIXED = "(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])"
_WORD = "[A-Z]?[a-z]{3,}|[A-Z]{4,}"


def _turns(token: str) -> float:
    """How often a small letter, a capital or a digit is followed by another of the three, from 0 to 1."""
    from itertools import pairwise

    kinds = ["a" if c.islower() else "A" if c.isupper() else "0" for c in token if c.isalnum()]
    return sum(one != next_one for one, next_one in pairwise(kinds)) / len(kinds)


def _entropy(token: str) -> float:
    """Shannon's, in bits a character."""
    from math import log2

    shares = [token.count(character) / len(token) for character in set(token)]
    return -sum(share * log2(share) for share in shares)


def _is_encoded_text(token: str) -> bool:
    data = from_base64(token)
    return data is not None and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in data)


def from_base64(token: str) -> bytes | None:
    from base64 import b64decode

    digits = token.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except ValueError:
        return None


def _is_data(text: str, match: re.Match[str]) -> bool:
    """Whether it is a path with an ending, or one of several lines of encoded data."""
    start, end = match.span()
    if text[end : end + 1] == "." and "/" in match[0]:
        return True
    if text[max(0, start - 1) : start] not in ("", "\n") or text[end : end + 1] not in ("", "\n"):
        return False
    width = end - start
    before, after = text[max(0, start - 1 - width) : max(0, start - 1)], text[end + 1 : end + 1 + width]
    return any(re.fullmatch(_LINE_OF_DATA, line) for line in (before, after))


_LINE_OF_DATA = "[A-Za-z0-9+/=_-]{24,}"
