"""Staleness arithmetic, with the worked examples of Golab et al. 2011 by number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.core.staleness import StalenessCurve, trailing_edge


def test_figure_2_the_staleness_of_a_base_table() -> None:
    curve = StalenessCurve(since=0.0, freshness=0.0)
    curve.advance(5.0)
    assert 5.0 - curve.freshness == 5.0
    curve.refreshed(5.0, 3.0)
    assert 5.0 - curve.freshness == 2.0, "data stamped up to 3 is loaded at 5"
    curve.advance(11.0)
    assert 11.0 - curve.freshness == 8.0
    curve.refreshed(11.0, 9.0)
    assert 11.0 - curve.freshness == 2.0, "the batches stamped 7 and 9 are loaded together at 11"
    assert curve.maximum == 8.0
    assert curve.area == pytest.approx(5 * 5 / 2 + 6 * (2 + 8) / 2)
    assert curve.mean == pytest.approx(curve.area / 11)


@pytest.mark.parametrize(("first", "total"), [("J1", 80.0), ("J2", 85.0)])
def test_section_3_1_the_order_of_two_updates_decides_what_five_units_cost(first: str, total: float) -> None:
    execution, delta = {"J1": 3.0, "J2": 2.0}, {"J1": 10.0, "J2": 5.0}
    # A table starts as stale as its update can make it fresher.
    curves = {job: StalenessCurve(since=0.0, freshness=-gained) for job, gained in delta.items()}
    now = 0.0
    for job in (first, "J2" if first == "J1" else "J1"):
        now += execution[job]
        curves[job].refreshed(now, curves[job].freshness + delta[job])
    for curve in curves.values():
        curve.advance(now)
    assert now == 5.0
    assert sum(curve.area for curve in curves.values()) == pytest.approx(total)


def test_section_3_1_the_areas_under_the_two_curves_of_figure_3() -> None:
    first, second = StalenessCurve(since=0.0, freshness=-10.0), StalenessCurve(since=0.0, freshness=-5.0)
    first.refreshed(3.0, 0.0)
    second.refreshed(5.0, 0.0)
    first.advance(5.0)
    assert (first.area, second.area) == pytest.approx((42.5, 37.5))
    assert 5.0 - second.freshness == 5.0, "the staleness of table 2 drops from ten to five"


def test_the_trailing_edge_is_the_freshness_of_the_least_fresh_source() -> None:
    assert trailing_edge([5.0, 3.0, 9.0]) == 3.0
    assert trailing_edge([5.0, None, 9.0]) is None, "a source without data holds everything back"
    assert trailing_edge([0.0, -2.0]) == -2.0
    assert trailing_edge([]) is None


def test_before_any_time_has_passed_the_mean_is_the_staleness_itself() -> None:
    assert StalenessCurve(since=10.0, freshness=4.0).mean == 6.0


STEPS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=20)


@given(STEPS)
def test_the_area_is_what_small_steps_add_up_to(steps: list[tuple[int, int]]) -> None:
    curve = StalenessCurve(since=0.0, freshness=0.0)
    now, freshness, area, worst = 0.0, 0.0, 0.0, 0.0
    for wait, lag in steps:
        for _ in range(wait):
            area += (now - freshness) + 0.5
            now += 1.0
            worst = max(worst, now - freshness)
        freshness = max(freshness, now - lag)
        curve.refreshed(now, freshness)
    assert curve.area == pytest.approx(area)
    assert curve.maximum == pytest.approx(worst)
