"""Policy: what `.decapod/config.toml` decides, with defaults for all of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from decapod_py.domain.event import FORMAT, refuse_newer_format
from decapod_py.foundation.clock import DAY, parse_duration
from decapod_py.foundation.errors import Misused

# What follows the scheme and its colon.
SCHEMES = {
    "file": r"[^#]+(#.+)?",
    "url": r"\S+",
    "cmd": r"\S.*",
    "commit": r"[0-9a-f]{7,64}",
    "event": r"[A-Z0-9_]+",
    "person": r"\S.*",
}
# What each gate of `validate` does by default: fail, warn, or off.
GATE_LEVELS = {
    "format": "fail",
    "ledgers": "fail",
    "append-only": "fail",
    "database": "fail",
    "secrets": "fail",
    "promotions": "fail",
    "redactions": "fail",
    "clock": "fail",
    "drift": "warn",
    "markdown": "warn",
    "gaps": "warn",
    "diverged": "warn",
    "merge-keys": "warn",
    "cycles": "warn",
    "decay": "warn",
    "hidden-text": "warn",
    "size": "warn",
    "links": "warn",
    "proofs": "fail",
}
LEVELS = ("fail", "warn", "off")
LIFETIMES = {"default": {"ephemeral": DAY, "decay": 90 * DAY}}

CONFIG_TOML = f"""\
# Decapod's policy for this repository. Everything here is optional: what is commented out is the default.
format = {FORMAT}

[provenance]
# Whether files, lines, commits and events must exist when an entry cites them.
# resolve = true

[provenance.schemes]
# What may follow each scheme. Add schemes of your own, such as
# jira = '[A-Z]+-[0-9]+'
# file = '{SCHEMES["file"]}'
# url = '{SCHEMES["url"]}'
# cmd = '{SCHEMES["cmd"]}'
# commit = '{SCHEMES["commit"]}'
# event = '{SCHEMES["event"]}'
# person = '{SCHEMES["person"]}'

[promotion]
# Whether the one who proposes a rule may approve it.
# self_approval = false
# Who may approve rules, by the name or address that git shows for the commit that brought the approval.
# approvers = ['ana@example.com']

[gates]
# What `decapod validate` does about each kind of finding: 'fail', 'warn' or 'off'.
# drift = 'fail'

[secrets]
# Patterns of what looks like a secret and is none.
# allow = ['EXAMPLE[A-Z0-9]+']

[limits]
# From how many characters on an entry is a finding of the gate `size`.
# entry_characters = 20000

# Commands that prove something; `decapod proof run` runs them once you trust this file (`decapod trust`).
# [[proof]]
# name = 'tests'
# run = 'make test'
# required = true
# timeout = '10m'
# paths = ['src/**', 'tests/**']

[decay.default]
# How long an entry lives when nobody said: counted from its last version.
# ephemeral = '1d'
# decay = '90d'
# Further policies, for `decapod knowledge decay --policy NAME`, may be shorter:
# [decay.spring-cleaning]
# decay = '30d'
"""


class Proof(NamedTuple):
    """A command that proves something about the repository."""

    name: str
    run: str
    required: bool
    timeout: int  # milliseconds
    paths: tuple[str, ...]  # what it is about: a receipt is good while these files are what they were


class Policy(NamedTuple):
    schemes: dict[str, str] = SCHEMES
    resolve: bool = True  # what provenance points at must exist when it is written
    self_approval: bool = False
    lifetimes: dict[str, dict[str, int]] = LIFETIMES
    approvers: tuple[str, ...] = ()
    gates: dict[str, str] = GATE_LEVELS
    allowed_secrets: tuple[str, ...] = ()
    entry_characters: int = 20_000
    proofs: tuple[Proof, ...] = ()


def read_policy(table: dict[str, Any], place: str) -> Policy:
    """Checks a parsed config.toml: a wrong key is an error that names the nearest right one."""
    version = table.get("format", FORMAT)
    if not isinstance(version, int) or isinstance(version, bool):
        raise _wrong(place, "format must be a whole number")
    refuse_newer_format(version)
    _known_keys(table, ("format", "provenance", "promotion", "decay", "gates", "secrets", "limits", "proof"), "", place)
    provenance = _table(table, "provenance", place)
    _known_keys(provenance, ("schemes", "resolve"), "provenance", place)
    promotion = _table(table, "promotion", place)
    _known_keys(promotion, ("self_approval", "approvers"), "promotion", place)
    secrets = _table(table, "secrets", place)
    _known_keys(secrets, ("allow",), "secrets", place)
    limits = _table(table, "limits", place)
    _known_keys(limits, ("entry_characters",), "limits", place)
    return Policy(
        schemes={**SCHEMES, **_schemes(_table(provenance, "schemes", place), place)},
        resolve=_flag(provenance, "resolve", place, default=True),
        self_approval=_flag(promotion, "self_approval", place),
        lifetimes=_lifetimes(_table(table, "decay", place), place),
        approvers=_texts(promotion, "approvers", "promotion", place),
        gates={**GATE_LEVELS, **_levels(_table(table, "gates", place), place)},
        allowed_secrets=_texts(secrets, "allow", "secrets", place),
        entry_characters=_number(limits, "entry_characters", "limits", place, 20_000),
        proofs=_proofs(table.get("proof", []), place),
    )


def _schemes(table: dict[str, Any], place: str) -> dict[str, str]:
    for name, pattern in table.items():
        if not isinstance(pattern, str) or not name.isascii() or not name.isalnum():
            raise _wrong(place, f"provenance.schemes.{name} must be a pattern in quotes under a name of letters")
    return {name.lower(): pattern for name, pattern in table.items()}


def _lifetimes(table: dict[str, Any], place: str) -> dict[str, dict[str, int]]:
    lifetimes = dict(LIFETIMES)
    for name, given in table.items():
        if not isinstance(given, dict):
            raise _wrong(place, f"decay.{name} must be a table with lifetimes")
        _known_keys(given, ("ephemeral", "decay"), f"decay.{name}", place)
        if not all(isinstance(text, str) for text in given.values()):
            raise _wrong(place, f"a lifetime in decay.{name} must be a duration in quotes, such as '30d'")
        lifetimes[name] = {**LIFETIMES["default"], **{key: parse_duration(text) for key, text in given.items()}}
    return lifetimes


def _levels(table: dict[str, Any], place: str) -> dict[str, str]:
    _known_keys(table, tuple(GATE_LEVELS), "gates", place)
    for name, level in table.items():
        if level not in LEVELS:
            raise _wrong(place, f"gates.{name} must be one of {', '.join(LEVELS)}", _nearest(str(level), LEVELS))
    return table


def _proofs(tables: Any, place: str) -> tuple[Proof, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise _wrong(place, "proof must be tables, each begun with [[proof]]")
    proofs = [_proof(table, place) for table in tables]
    for name in {proof.name for proof in proofs}:
        if sum(proof.name == name for proof in proofs) > 1:
            raise _wrong(place, f"the proof {name!r} is there twice")
    return tuple(proofs)


def _proof(table: dict[str, Any], place: str) -> Proof:
    _known_keys(table, ("name", "run", "required", "timeout", "paths"), "proof", place)
    for key in ("name", "run"):
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise _wrong(place, f"a proof needs {key}, a text in quotes")
    timeout = table.get("timeout", "10m")
    if not isinstance(timeout, str):
        raise _wrong(place, "the timeout of a proof must be a duration in quotes, such as '10m'")
    return Proof(
        name=table["name"].strip(),
        run=table["run"],
        required=_flag(table, "required", place, default=True),
        timeout=parse_duration(timeout),
        paths=_texts(table, "paths", "proof", place) or ("**",),
    )


def _texts(table: dict[str, Any], name: str, section: str, place: str) -> tuple[str, ...]:
    found = table.get(name, [])
    if not isinstance(found, list) or not all(isinstance(text, str) and text.strip() for text in found):
        raise _wrong(place, f"{section}.{name} must be a list of texts in quotes")
    return tuple(found)


def _number(table: dict[str, Any], name: str, section: str, place: str, default: int) -> int:
    found = table.get(name, default)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise _wrong(place, f"{section}.{name} must be a whole number above 0")
    return found


def _table(table: dict[str, Any], name: str, place: str) -> dict[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise _wrong(place, f"{name} must be a table")
    return found


def _flag(table: dict[str, Any], name: str, place: str, *, default: bool = False) -> bool:
    found = table.get(name, default)
    if not isinstance(found, bool):
        raise _wrong(place, f"{name} must be true or false")
    return found


def _known_keys(table: dict[str, Any], known: tuple[str, ...], section: str, place: str) -> None:
    for key in table:
        if key not in known:
            raise _wrong(place, f"unknown key {key!r} in {section or 'the top level'}", _nearest(key, known))


def _nearest(key: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, known, 1, 0.5)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known)}"


def _wrong(place: str, message: str, hint: str | None = None) -> Misused:
    return Misused("bad-config", f"{place}: {message}", hint)
