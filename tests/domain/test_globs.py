"""Path patterns."""

from __future__ import annotations

import pytest

from decapod_py.domain.globs import matches_glob


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        ("src/a.py", "src/**", True),
        ("src/x/a.py", "src/**", True),
        ("src/a.py", "src/", True),
        ("src/a.py", "src", True),
        ("lib/src/a.py", "src", True),
        ("lib/src/a.py", "/src", False),
        ("lib/src/a.py", "./src/**", False),
        ("src/a.py", "*.py", True),
        ("src/x/a.py", "*.py", True),
        ("src/x/a.py", "src/*.py", False),
        ("src/x/a.py", "src/**/*.py", True),
        ("src/a.py", "src/**/*.py", True),
        ("src/a.py", "**/a.py", True),
        ("a.py", "**/a.py", True),
        ("a.pyc", "*.py", False),
        ("a.py", "a.p?", True),
        ("a.py", "[ab].py", True),
        ("src/a\nb.py", "src/**", True),
        ("src/a\nb.py", "src/*.py", True),
        ("anything/at/all", "**", True),
        ("docs/a (1)+.md", "docs/a (1)+.md", True),
    ],
)
def test_a_pattern_matches_as_git_users_expect(path: str, pattern: str, matches: bool) -> None:
    assert matches_glob(path, pattern) is matches


@pytest.mark.parametrize("pattern", ["**/" * 40 + "x", "**/a/" * 40 + "x", "*a" * 40 + "b", "a/" * 3000])
def test_no_pattern_takes_long(pattern: str) -> None:
    assert not matches_glob("/".join(["a" * 40] * 60), pattern)
