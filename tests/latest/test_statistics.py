"""Update rates and costs as measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.latest.statistics import KeyGaps, TupleCost


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_gaps_of_a_key_are_averaged_from_the_beginning_on(arrivals: list[tuple[int, int]]) -> None:
    gaps, now, seen = KeyGaps(), 50.0, [0] * 4
    for gap, cell in arrivals:
        now += gap
        seen[cell] += 1
        begun = 50.0 + arrivals[0][0]
        assert gaps.observe(cell, now) == gaps.mean(cell) == pytest.approx((now - begun) / seen[cell])
    assert [gaps.mean(cell) is None for cell in range(4)] == [count == 0 for count in seen]


def test_a_key_that_changes_its_rate_is_followed() -> None:
    gaps = KeyGaps(memory=10)
    for moment in range(0, 1_000, 10):
        gaps.observe(0, moment)
    for moment in range(1_000, 1_100):
        gap = gaps.observe(0, moment)
    assert gap == pytest.approx(1.0, abs=0.01)


def test_a_key_that_comes_for_the_first_time_after_long_is_slow() -> None:
    gaps = KeyGaps()
    gaps.observe(0, 1.0)
    assert gaps.observe(1, 1_001.0) == 1_000.0


def test_a_cost_is_unknown_then_given_then_measured() -> None:
    assert TupleCost().seconds is None
    cost = TupleCost(2.0)
    assert cost.seconds == 2.0
    cost.observe(0, 9.0)
    assert cost.seconds == 2.0
    cost.observe(10, 5.0)
    assert cost.seconds == 0.5
    for _ in range(100):
        cost.observe(10, 1.0)
    assert cost.seconds == pytest.approx(0.1, rel=0.001)
