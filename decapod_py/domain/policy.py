"""Policy: what `.decapod/config.toml` decides, with defaults for all of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from decapod_py.domain.event import FORMAT, refuse_newer_format
from decapod_py.foundation.clock import DAY, parse_duration
from decapod_py.foundation.errors import Misused

# What follows the scheme and its colon.
SCHEMES = {
    "file": r"[^#]+(#L\d+(-L\d+)?)?",
    "url": r"\S+",
    "cmd": r"\S.*",
    "commit": r"[0-9a-f]{7,64}",
    "event": r"[A-Z0-9_]+",
    "person": r"\S.*",
}
LIFETIMES = {"default": {"ephemeral": DAY, "decay": 90 * DAY}}

CONFIG_TOML = f"""\
# Decapod's policy for this repository. Everything here is optional: what is commented out is the default.
format = {FORMAT}

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

[decay.default]
# How long an entry lives when nobody said: counted from its last version.
# ephemeral = '1d'
# decay = '90d'
# Further policies, for `decapod knowledge decay --policy NAME`, may be shorter:
# [decay.spring-cleaning]
# decay = '30d'
"""


class Policy(NamedTuple):
    schemes: dict[str, str] = SCHEMES
    self_approval: bool = False
    lifetimes: dict[str, dict[str, int]] = LIFETIMES


def read_policy(table: dict[str, Any], place: str) -> Policy:
    """Checks a parsed config.toml: a wrong key is an error that names the nearest right one."""
    version = table.get("format", FORMAT)
    if not isinstance(version, int) or isinstance(version, bool):
        raise _wrong(place, "format must be a whole number")
    refuse_newer_format(version)
    _known_keys(table, ("format", "provenance", "promotion", "decay"), "", place)
    provenance = _table(table, "provenance", place)
    _known_keys(provenance, ("schemes",), "provenance", place)
    promotion = _table(table, "promotion", place)
    _known_keys(promotion, ("self_approval",), "promotion", place)
    return Policy(
        schemes={**SCHEMES, **_schemes(_table(provenance, "schemes", place), place)},
        self_approval=_flag(promotion, "self_approval", place),
        lifetimes=_lifetimes(_table(table, "decay", place), place),
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


def _table(table: dict[str, Any], name: str, place: str) -> dict[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise _wrong(place, f"{name} must be a table")
    return found


def _flag(table: dict[str, Any], name: str, place: str) -> bool:
    found = table.get(name, False)
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
