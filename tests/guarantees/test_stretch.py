"""Lemma 4.2 and theorems 4.3 and 5.1 of Bateni et al. 2009 as functions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshtide.guarantees import (
    Group,
    GroupedLoad,
    grouped_breaches,
    least_weighted_staleness,
    staleness_bound,
    stretch_bound,
    waiting_bound,
    waiting_breaches,
    weighted_staleness_bound,
)
from freshtide.guarantees.stretch import STRETCH, WEIGHTED_FACTOR
from freshtide.scheduling import GroupAndRun, Load, tracks_of

MINUTES = Group(tables=6, tracks=3, longest=60.0, shortest=30.0)
LOADS = st.builds(
    GroupedLoad,
    alpha=st.floats(0.0, 0.3),
    tracks=st.integers(1, 40),
    tables=st.integers(3, 20),
    groups=st.integers(1, 3),
)


def test_lemma_4_2_an_update_waits_a_sixth_of_a_period_at_most() -> None:
    assert waiting_bound(MINUTES) == 10.0
    assert waiting_breaches(MINUTES, alpha=3 / 48) == []


def test_lemma_4_2_asks_for_tracks_in_proportion_to_the_tables() -> None:
    (breach,) = waiting_breaches(MINUTES, alpha=0.1)
    assert "6 tables on the 3 tracks" in breach.reason
    assert breach.tracks_needed == 5
    assert waiting_breaches(replace(MINUTES, tracks=5), alpha=0.1) == []


def test_no_number_of_tracks_makes_up_for_slow_updates() -> None:
    (breach,) = waiting_breaches(replace(MINUTES, tracks=100), alpha=0.2)
    assert "at most 1/8, and is 0.2" in breach.reason
    assert breach.tracks_needed is None


def test_lengths_that_differ_by_more_than_a_factor_of_two_are_not_quasiperiodic() -> None:
    (breach,) = waiting_breaches(replace(MINUTES, shortest=20.0), alpha=0.01)
    assert "between 20s and 60s" in breach.reason


def test_theorem_4_3_asks_for_two_tracks_a_group_and_fast_updates() -> None:
    load = GroupedLoad(alpha=0.1, tracks=5, tables=8, groups=3)
    reasons = [breach.reason for breach in grouped_breaches(load)]
    assert reasons == [
        "3 groups need twice as many tracks, and there are 5",
        "with 8 tables in 3 groups on 5 tracks alpha must be at most (p - g)/(8t) = 0.0312, and is 0.1",
    ]
    assert {breach.tracks_needed for breach in grouped_breaches(load)} == {10}
    assert grouped_breaches(replace(load, tracks=10)) == []


@given(LOADS)
def test_the_number_of_tracks_that_would_do_does_unless_updates_are_too_slow(load: GroupedLoad) -> None:
    for breach in grouped_breaches(load):
        if breach.tracks_needed is None:
            assert load.alpha > 1 / 8
        else:
            left = grouped_breaches(replace(load, tracks=breach.tracks_needed))
            assert all(other.tracks_needed is None for other in left)


@given(LOADS)
def test_theorem_4_3_p_over_16_t_suffices(load: GroupedLoad) -> None:
    alpha = min(1 / 8, load.tracks / (16.0 * load.tables))
    if load.tracks >= 2 * load.groups:
        assert grouped_breaches(replace(load, alpha=alpha)) == []


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(0, 10))
def test_what_theorem_4_3_asks_of_all_is_what_lemma_4_2_asks_of_each_group(sizes: list[int], more: int) -> None:
    """In the groups that the scheduler really forms."""
    loads = [
        Load(table=f"{place}/{number}", period=10.0**place, execution=0.1)
        for place, size in enumerate(sizes)
        for number in range(size)
    ]
    tracks = 2 * len(sizes) + more
    alpha = min(1 / 8, (tracks - len(sizes)) / (8.0 * len(loads)))
    assert grouped_breaches(GroupedLoad(alpha=alpha, tracks=tracks, tables=len(loads), groups=len(sizes))) == []
    partition = GroupAndRun().partition(loads, tracks)
    for place, size in enumerate(sizes):
        own = len(tracks_of(partition.lanes[partition.lane_of[f"{place}/0"]].own))
        group = Group(tables=size, tracks=own, longest=10.0**place, shortest=0.5 * 10.0**place)
        assert waiting_breaches(group, alpha=alpha) == []


@given(st.floats(0.0, 1 / 8), st.floats(0.001, 1e6))
def test_theorem_4_3_the_stretch_is_below_3(alpha: float, longest: float) -> None:
    group = Group(tables=1, tracks=1, longest=longest, shortest=longest / 2.0)
    assert 7 / 3 - 1e-9 <= stretch_bound(group, alpha=alpha) <= 2.625 + 1e-9 < STRETCH
    assert staleness_bound(group, alpha=alpha) == pytest.approx((1 + 1 / 6) * (1 + alpha) * longest)


def test_theorem_5_1_has_a_factor_of_4_5_to_the_sum_and_of_9_to_the_least() -> None:
    assert weighted_staleness_bound(10.0) == 45.0
    assert weighted_staleness_bound(10.0) / least_weighted_staleness(10.0) == WEIGHTED_FACTOR
