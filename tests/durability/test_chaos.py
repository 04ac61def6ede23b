"""The short run of `make chaos`."""

from __future__ import annotations

import pytest
from durability.chaos import wreak


@pytest.mark.parametrize("seed", [1, 2])
def test_random_kills_lose_nothing_and_leave_nothing_half_written(seed: int) -> None:
    told: list[str] = []

    report = wreak(25, seed, told.append)

    assert str(report) == "25 kills, 0 lost, 0 half-written", "\n".join(told)
