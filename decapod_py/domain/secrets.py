"""Secrets in text: known kinds by their form, values by their name, and what is too random to be a word.

All of it is linear in the length of the text, and ordinary text costs little more than a few substring searches.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from decapod_py.domain.entropy import from_base64, random_tokens
from decapod_py.domain.patterns import matches
from decapod_py.domain.secret_forms import SHORTEST, is_placeholder, known_forms
from decapod_py.domain.text import visible

_RANDOM = "high entropy"


class Secret(NamedTuple):
    """What was found and where, counted from 1; `shown` is never the secret itself."""

    kind: str
    line: int
    column: int
    shown: str


class _Span(NamedTuple):
    start: int
    end: int
    kind: str


def has_secrets(texts: Sequence[str]) -> bool:
    """Whether any of these may hold one: a quick look at all of them at once, which errs on the side of yes."""
    whole = "\n\n".join(texts)
    # What one text opens, a block of a public key say, must not excuse what stands in the next.
    return "-----" in whole or any(_spans(whole))


def find_secrets(text: str, allowed: Sequence[str] = ()) -> list[Secret]:
    """The secrets in a text, in its order; `allowed` are patterns of values that are known to be none."""
    return _secrets(text, list(_spans(text)), allowed)


def find_secret_forms(text: str, allowed: Sequence[str] = ()) -> list[Secret]:
    """Those that are known by more than being random: a name or an id may well be that."""
    return _secrets(text, [span for span in _spans(text) if span.kind != _RANDOM], allowed)


def _secrets(text: str, spans: list[_Span], allowed: Sequence[str]) -> list[Secret]:
    if not spans:
        return []
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return [
        _secret(span, text, starts)
        for span in _each_once(spans)
        if not _is_allowed(text[span.start : span.end], allowed)
    ]


def _spans(text: str) -> Iterator[_Span]:
    long_words = [word for word in text.split() if len(word) >= SHORTEST]
    blocks = list(_blocks(text))
    yield from _private_keys(text, blocks)
    for start, end, kind in known_forms(text, long_words):
        yield _Span(start, end, kind)
    yield from _passwords_in_urls(text)
    yield from _named(text)
    for start, end in random_tokens(text, long_words):
        # A certificate or a public key is as random as a private one.
        if not _is_inside(blocks, start):
            yield _Span(start, end, _RANDOM)


def _each_once(spans: list[_Span]) -> Iterator[_Span]:
    """The first of those that overlap: sorting keeps their order, and the most telling kind was found first."""
    end = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start >= end:
            end = span.end
            yield span


def _is_allowed(secret: str, allowed: Sequence[str]) -> bool:
    return any(matches(pattern, secret, f"allowed secrets {pattern!r}", "[secrets] allow") for pattern in allowed)


def _secret(span: _Span, text: str, starts: list[int]) -> Secret:
    line = bisect_right(starts, span.start)
    secret = text[span.start : span.end]
    # A quarter at most: four characters of a short password would be half of it.
    shown = f"{visible(secret[: min(4, len(secret) // 4)])}…"
    return Secret(span.kind, line, span.start - starts[line - 1] + 1, shown)


_LONGEST_BLOCK = 20_000


def _blocks(text: str) -> Iterator[_Span]:
    """The `-----BEGIN NAME-----` blocks of the text, with their names. One without an end is its first line."""
    end = closing = 0
    for match in re.finditer(r"-{4,5} ?BEGIN ([A-Z0-9 ]{3,60}+)-{4,5}", text) if "BEGIN" in text else ():
        if match.start() >= end:
            if 0 <= closing < match.end():
                closing = text.find("---END", match.end())
            end = closing if 0 <= closing - match.end() < _LONGEST_BLOCK else match.end()
            yield _Span(match.start(), end, match[1])


def _is_inside(blocks: list[_Span], place: int) -> bool:
    index = bisect_right(blocks, place, key=lambda block: block.start) - 1
    return index >= 0 and place < blocks[index].end


def _private_keys(text: str, blocks: list[_Span]) -> Iterator[_Span]:
    for block in blocks:
        # A header alone is a sentence about keys.
        key = re.compile(r"[A-Za-z0-9+/=]{32}").search(text, block.start, block.start + 600)
        if "PRIVATE KEY" in block.kind and key:
            yield block._replace(kind="private key")
    if "LS0tLS1CRUdJTi" in text:  # "-----BEGIN" in base64, as a kubeconfig has it
        for match in re.finditer(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{50,}+", text):
            if b"PRIVATE KEY" in (from_base64(match[0][:64]) or b""):
                yield _Span(*match.span(), "private key")


def _passwords_in_urls(text: str) -> Iterator[_Span]:
    for match in re.finditer(_PASSWORD_IN_A_URL, text) if "://" in text else ():
        # `postgres:postgres@localhost` is how a fresh database is reached.
        if _is_password(match[1], match[2]):
            yield _Span(*match.span(2), "password in a URL")


_PASSWORD_IN_A_URL = r"://([^\s/?#:@\"'<>`]{0,100}+):([^\s/?#@\"'<>`]{4,200}+)@[\w\[]"
_NO_PASSWORDS = frozenset(
    ("password", "passwd", "pass", "pwd", "pw", "secret", "token", "key", "apikey", "api_key", "x")
)


def _is_password(user: str, password: str) -> bool:
    if password in (user, "") or password[0] in "${<":
        return False
    return password.lower() not in _NO_PASSWORDS and not is_placeholder(password)


_NAME = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|(?:api|access|auth|private|encryption|signing)[_-]?key|credentials?)"
    r"(?:[_-]?(?:key|value|string|prod|production|dev|test|staging|live|\d{1,3}))?"
)
_IS = r"[\"'\]]{0,2}[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}"
_ASSIGNED = (
    rf"{_NAME}{_IS}(?:([\"'`])(?P<quoted>[^\s\"'`]{{6,200}})\1"
    r"|(?P<bare>[^\s\"'`,;<>(){}\[\]|&]{8,200})(?=[\s,;\"'`)\]}|&]|$))"
)
_OPTION = rf"--(?:[a-z]{{1,20}}-){{0,3}}{_NAME}[ =][\"']?([^\s\"'`]{{8,200}})"
_BEARER = r"bearer[ :]{1,3}[\"']?([a-z0-9._~+/=-]{16,2000}+)"
_BASIC = r"authorization[\"']?[:=][ \t\"']{0,3}basic ([a-z0-9+/]{8,200}+={0,2})"
_OF_AWS = rf"(?:aws|amazon|secret_?access_?key)[\w .-]{{0,40}}{_IS}[\"']?([a-z0-9/+]{{40}})(?![a-z0-9/+=])"
_OF_TWILIO = rf"twilio[\w .-]{{0,40}}{_IS}[\"']?([0-9a-f]{{32}})(?![0-9a-z])"


def _named(text: str) -> Iterator[_Span]:
    """Values that are secrets because of what they are called."""
    # U+0130 alone becomes longer when it becomes small; without it, places in both texts are the same.
    lower = text.replace("\u0130", "I").lower()
    if "aws" in lower or "amazon" in lower or "access" in lower:
        yield from (
            _Span(*match.span(1), "AWS secret key")
            for match in re.finditer(_OF_AWS, lower)
            if not is_placeholder(match[1])
        )
    if "twilio" in lower:
        yield from (_Span(*match.span(1), "Twilio key") for match in re.finditer(_OF_TWILIO, lower))
    if "bearer" in lower:
        yield from _values(_BEARER, "bearer token", text, lower)
    if "basic " in lower:
        for match in re.finditer(_BASIC, lower):
            user, _, password = (
                (from_base64(text[match.start(1) : match.end(1)]) or b"").decode("latin-1").partition(":")
            )
            if _is_password(user, password):
                yield _Span(*match.span(1), "basic authorization")
    if any(word in lower for word in ("passw", "passphrase", "pwd", "secret", "token", "key", "credential")):
        if "--" in text:
            yield from _values(_OPTION, "secret in an option", text, lower)
        yield from _values(_ASSIGNED, "assigned secret", text, lower)


def _values(pattern: str, kind: str, text: str, lower: str) -> Iterator[_Span]:
    for match in re.finditer(pattern, lower):
        start, end = match.span("quoted" if match.lastgroup == "quoted" else match.lastindex or 0)
        # .NET calls the digest of a public key its token.
        if is_value(text[start:end]) and not lower.endswith("publickey", 0, match.start()):
            yield _Span(start, end, kind)


def is_value(value: str) -> bool:
    """Whether something that is called a secret may be one: no placeholder, name, path or piece of code.

    It has letters and digits. A password that is a plain word passes: sentences and declarations look the same.
    """
    if is_placeholder(value) or _is_name(value) or re.fullmatch(_ULID_OR_UUID, value):
        return False
    if value[0] in "$%{<[(@#&!/\\~" or value.endswith(("(", "{")) or "://" in value or "](" in value:
        return False
    return any(letter.isalpha() for letter in value) and any(digit.isdigit() for digit in value)


_ULID_OR_UUID = r"[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_PART = r"[A-Za-z]*+\d{0,4}+[a-z]?+"
_PARTS = rf"{_PART}(?:[-_./:+@\\]++{_PART})++"
_ALGORITHM = (
    r"(?:hmac|hs|rs|es|ps|sha|md|base|utf|oauth|argon|pbkdf|scrypt|bcrypt|aes|ed|rsa|ipv|x|v)[-_]?\d{1,5}[a-z]{0,3}"
)
_NUMBERED = rf"(?:{_NAME}|value|string|text|name|field|param|arg|var|test|user)s?\d{{0,4}}"
_TYPE = r"[a-z_][\w.]*(?:key|token|secret|password|credential)s?(?:types?)?"


def _is_name(value: str) -> bool:
    """Whether it names something: `settings.TOKEN_V2`, `db-password-2`, `sha256`, `token2`, `Ed25519PrivateKey`."""
    value = value.strip(".:").lower()
    return any(re.fullmatch(form, value) for form in (_PARTS, _ALGORITHM, _NUMBERED, _TYPE))
