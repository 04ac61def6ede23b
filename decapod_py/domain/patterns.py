"""Patterns that a policy holds: matched with a time limit, because a policy may hold a catastrophic one."""

from __future__ import annotations

from decapod_py.foundation.errors import Misused

_TIME_LIMIT = 0.25  # seconds for one match


def matches(pattern: str, text: str, whose: str, key: str) -> bool:
    """Whether the whole text matches. `whose` pattern it is and under which `key` go into the error, the text never."""
    import regex

    try:
        return regex.fullmatch(pattern, text, timeout=_TIME_LIMIT) is not None
    except TimeoutError:
        raise Misused(
            "pattern-timeout",
            f"the pattern of {whose} took longer than {_TIME_LIMIT} s",
            f"rewrite {key} in .decapod/config.toml",
        ) from None
    except regex.error as problem:
        raise Misused(
            "bad-config",
            f"the pattern of {whose} is no regular expression: {problem}",
            f"rewrite {key} in .decapod/config.toml",
        ) from None
