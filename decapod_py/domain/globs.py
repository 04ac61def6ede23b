"""Path patterns as git and CODEOWNERS users write them: `src/**`, `*.py`, `docs/`."""

from __future__ import annotations

import re
from functools import lru_cache


def matches_glob(path: str, pattern: str) -> bool:
    """Whether a path seen from the top matches; a pattern without a slash matches in any folder."""
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = pattern.removeprefix("./")
    anywhere = "/" not in pattern.rstrip("/")
    pattern = pattern.lstrip("/")
    if pattern.endswith("/"):
        pattern += "**"
    expression = "(?:.*/)?" if anywhere else ""
    # Bounded by the pattern's own stars; `.*` twice in a row is joined, so nothing backtracks for long.
    for part in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern):
        expression += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part))
    return re.compile(expression + "(?:/.*)?" if not pattern.endswith("*") else expression)
