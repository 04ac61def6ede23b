"""The form of provenance: one spelling, or a refusal that says why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.policy import SCHEMES
from decapod_py.domain.provenance import FileCitation, check_provenance, parse_file_citation, short_form
from decapod_py.foundation.errors import DecapodError, Misused

PATHS = st.text(alphabet="ab./~ C:\\#L19-\t\n\u3000é", max_size=12)
TEXTS = st.text() | st.builds("{}:{}".format, st.sampled_from([*SCHEMES, "File", "x"]), PATHS | st.text(max_size=20))


@given(TEXTS)
def test_any_text_is_provenance_in_its_one_form_or_refused(text: str) -> None:
    try:
        stored = check_provenance(text, SCHEMES)
    except DecapodError as refusal:
        assert refusal.code == "bad-provenance"
        assert refusal.message.isprintable()
    else:
        assert check_provenance(stored, SCHEMES) == stored
        assert stored.isprintable() or not any(ord(letter) < 32 for letter in stored)


@given(st.text(max_size=30), st.text(max_size=8))
def test_any_pattern_a_policy_may_hold_matches_or_is_refused(text: str, pattern: str) -> None:
    try:
        check_provenance(f"own:{text}", {"own": pattern})
    except DecapodError as refusal:
        assert refusal.code in ("bad-provenance", "bad-config", "pattern-timeout")


@given(st.sampled_from(["a.py", "src/b c.py", "ä/ö"]), st.integers(1, 999_999_999), st.integers(0, 100))
def test_a_file_citation_reads_back(path: str, first: int, more: int) -> None:
    citation = FileCitation(path, first, min(first + more, 999_999_999))

    assert parse_file_citation(str(citation).removeprefix("file:")) == citation


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("file:a#L9-L2", "the range runs backwards, from line 9 to 2"),
        ("file:a#L0", "lines are counted from 1"),
        ("file:../a", "the path leaves the repository"),
        ("file:/a", "the path must be relative to the repository's top, with forward slashes"),
        ("file:.", "the path names no file"),
        ("cmd:a\nb", "it holds a line break or a control character"),
        ("ftp:a", "its scheme is none of file, url, cmd, commit, event, person"),
        ("commit:a", "what follows commit: does not match [0-9a-f]{7,64}"),
    ],
)
def test_a_refusal_says_why(text: str, why: str) -> None:
    with pytest.raises(Misused) as refused:
        check_provenance(text, SCHEMES)
    assert refused.value.message.endswith(f"is no provenance: {why}")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("src/a.py:3-9", ("src/a.py", "#L3-L9")),
        ("src/a.py:3", ("src/a.py", "#L3")),
        ("src/a.py", ("src/a.py", "")),
        ("src/a.py#L3", ("src/a.py", "#L3")),
        ("a:b", ("a:b", "")),
        ("a:1:2", ("a:1", "#L2")),
    ],
)
def test_the_short_form_is_a_path_and_its_lines(text: str, parts: tuple[str, str]) -> None:
    assert short_form(text) == parts
