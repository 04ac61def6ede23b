"""Passages: every word in one, none too long, code and headings kept together."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.chunks import MOST, TARGET, chunks

PARAGRAPH = "A paragraph of about a hundred characters, which says one thing and then says it once more for good. "


def cut(text: str) -> list[str]:
    return [text[first:last] for first, last in chunks(text)]


def test_a_text_without_words_has_no_passage() -> None:
    assert cut("") == []
    assert cut(" \n\n\t\n") == []


def test_a_short_text_is_one_passage() -> None:
    assert cut("\nOne thing.\n\nAnother.\n") == ["One thing.\n\nAnother."]


def test_paragraphs_are_joined_up_to_the_target() -> None:
    paragraph = PARAGRAPH.strip()

    found = cut("\n\n".join([paragraph] * 12))

    assert [passage.count(paragraph) for passage in found] == [4, 4, 4]
    assert all(len(passage) <= TARGET for passage in found)


def test_a_paragraph_between_target_and_most_stays_whole() -> None:
    long = (PARAGRAPH * 8).strip()

    assert cut(f"Before.\n\n{long}\n\nAfter.") == ["Before.", long, "After."]


def test_a_longer_paragraph_is_cut_after_a_sentence() -> None:
    found = cut(PARAGRAPH * 30)

    assert len(found) > 3
    assert all(passage.endswith("for good.") for passage in found)


def test_a_heading_stays_with_what_it_stands_above() -> None:
    long = (PARAGRAPH * 8).strip()

    assert cut(f"# Retries\n\n{long}") == [f"# Retries\n\n{long}"]


def test_a_code_fence_is_kept_whole_where_it_fits() -> None:
    code = "```python\n" + "value = compute(value)\n\n" * 30 + "```"
    assert TARGET < len(code) <= MOST

    assert cut(f"Run this:\n\n{code}\n\nThen that.") == ["Run this:", code, "Then that."]


def test_a_longer_code_fence_is_cut_between_lines() -> None:
    code = "~~~~\n" + "value = compute(value)\n" * 100 + "~~~~"

    found = cut(code)

    assert len(found) > 2
    assert all(line in ("~~~~", "value = compute(value)") for passage in found for line in passage.splitlines())


def test_a_fence_that_nobody_closes_ends_with_the_text() -> None:
    assert cut("```\none\n\ntwo") == ["```\none\n\ntwo"]


def test_a_megabyte_on_one_line_is_cut_at_the_most() -> None:
    found = cut("x" * 1_000_000)

    assert [len(passage) for passage in found] == [MOST] * 1_000


def test_a_text_without_blanks_between_words_is_cut_after_its_sentences() -> None:
    found = cut("東京タワーはどこですか。" * 500)

    assert max(map(len, found)) <= MOST
    assert all(passage.endswith("。") for passage in found)


@given(
    st.lists(st.sampled_from(["word", "w" * 1_200, "\n", "\n\n", " ", ". ", "```", "# ", "\t", "語" * 40, "a" * 490]))
)
def test_passages_cover_every_word_in_order_and_split_only_what_is_too_long(parts: list[str]) -> None:
    text = "".join(parts)

    spans = chunks(text)

    assert all(0 < last - first <= MOST for first, last in spans)
    assert all(one.last <= other.first for one, other in pairwise(spans))
    assert "".join("".join(passage.split()) for passage in cut(text)) == "".join(text.split())
    for first, last in spans:
        assert not text[first].isspace()
        assert not text[last - 1].isspace()
        if last < len(text) and not text[last].isspace():
            assert len(max(text.split(), key=len)) > MOST
