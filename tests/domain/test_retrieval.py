"""Measures of a ranking, against values worked out by hand."""

from __future__ import annotations

from math import log2

import pytest

from decapod_py.domain.retrieval import NONE, Quality, mean, quality


def test_a_perfect_ranking_is_one_in_every_measure() -> None:
    assert quality(["a", "b", "c"], ["a", "b"], 10) == Quality(1, 1, 1, 1, 1, 1)


def test_a_ranking_without_anything_relevant_is_nought() -> None:
    assert quality(["x", "y"], ["a"], 10) == NONE
    assert quality([], ["a"], 10) == NONE


def test_places_count() -> None:
    found = quality(["x", "a", "y", "z", "v", "b"], ["a", "b", "c"], 10)

    best = 1 + 1 / log2(3) + 1 / log2(4)
    assert found == Quality(0, 1, 1, 2 / 3, 1 / 2, pytest.approx((1 / log2(3) + 1 / log2(7)) / best))


def test_only_the_first_k_count() -> None:
    assert quality(["x", "y", "a"], ["a"], 2) == NONE


def test_what_is_listed_twice_is_found_once() -> None:
    assert quality(["a", "a"], ["a", "b"], 10).recall == 0.5


def test_more_relevant_than_k_can_still_be_a_perfect_order() -> None:
    assert quality(["a", "b"], ["a", "b", "c", "d"], 2).ndcg == 1


def test_the_mean_counts_each_query_alike() -> None:
    assert mean([Quality(1, 1, 1, 1, 1, 1), NONE]) == Quality(0.5, 0.5, 0.5, 0.5, 0.5, 0.5)
    assert mean([]) == NONE
