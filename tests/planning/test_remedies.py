"""Remedies are tried out before they are named, the cheapest first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.core.costs import GivenCost
from freshtide.planning import Assurance, Demand, Remedy, promises, remedies
from freshtide.scheduling import Policy, adaptive_policy
from tests.examples import examples

from .demanding import asks, demand_sets

ADAPTIVE = adaptive_policy()


def test_what_is_kept_needs_no_remedy_nor_does_a_table_without_a_target() -> None:
    assert remedies([asks("orders", target=3600.0), asks("clicks")], ADAPTIVE, 1) == {}
    assert remedies([asks("clicks")], Policy(), 1) == {}


def test_another_scheduler_on_the_same_tracks_comes_first() -> None:
    remedy = remedies([asks("orders", every=300.0, takes=10.0, target=1000.0)], Policy(), 1)["orders"]
    assert remedy == Remedy(scheduler="adaptive", bound=remedy.bound)
    assert remedy.bound == pytest.approx(910.0)
    assert remedy.words == "`scheduler: adaptive` would do: at most 15m 10s stale."


def test_group_and_run_is_named_where_its_bound_is_the_one_that_suffices() -> None:
    tables = [asks(f"t{number}", every=300.0, cost=GivenCost(0.0, 0.01), target=400.0) for number in range(3)]
    assert remedies(tables, Policy(), 2)["t0"].scheduler == "group-and-run"


def test_a_longer_period_is_cheaper_than_another_track() -> None:
    """Fixed costs weigh less on larger files: 100 of every 300 seconds for four tables do not fit on one track."""
    tables = [asks(f"t{number}", every=300.0, takes=100.0) for number in range(4)]
    tables[0] = replace(tables[0], target_lags={"t0": 3600.0})
    remedy = remedies([*tables[:3], asks("t3", every=300.0, takes=1.0)], ADAPTIVE, 1)["t0"]
    assert remedy.period is not None
    assert remedy.tracks is None
    table, period = remedy.period
    # Two others take 200 of 300 seconds and one takes 1; what is left for 100 seconds is a period of 100 / (99 / 300).
    assert table == "t0"
    assert period == pytest.approx(100.0 / (99.0 / 300.0), rel=0.005)


def test_the_fewest_tracks_are_named_where_nothing_less_will_do() -> None:
    tables = [asks(f"t{number}", every=300.0, cost=GivenCost(0.0, 0.5), target=3600.0) for number in range(5)]
    remedy = remedies(tables, ADAPTIVE, 1)["t0"]
    assert remedy == Remedy(tracks=3, bound=remedy.bound)
    found = promises(tables, ADAPTIVE, 2)["t0"]
    assert found.verdict is not Assurance.KEPT


def test_at_last_the_target_lag_that_can_be_kept() -> None:
    remedy = remedies([asks("orders", every=300.0, takes=10.0, target=60.0)], ADAPTIVE, 1)["orders"]
    assert remedy.target_lag == pytest.approx(910.0)
    assert "a target lag of 15m 10s would do" in remedy.words


def test_where_nothing_helps_nothing_is_named() -> None:
    assert remedies([asks("slow", cost=GivenCost(0.0, 1.5), target=86_400.0)], ADAPTIVE, 1) == {}


@settings(max_examples=examples(150))
@given(demands=demand_sets(), tracks=st.integers(1, 3), policy=st.sampled_from([Policy(), ADAPTIVE]))
def test_a_remedy_that_is_named_works(demands: list[Demand], tracks: int, policy: Policy) -> None:
    for name, remedy in remedies(demands, policy, tracks).items():
        changed, scheduler, number = remedy.applied(demands, policy, tracks)
        if remedy.target_lag is not None:
            changed = [replace(d, target_lags={name: remedy.target_lag}) if d.unit == name else d for d in changed]
        kept = promises(changed, scheduler, number)[name]
        assert kept.verdict is Assurance.KEPT
        assert kept.bound == pytest.approx(remedy.bound)


def test_no_number_of_tracks_is_tried_that_no_machine_has() -> None:
    """A table that asks for ten million tracks: the search ends, and what else would do is named."""
    tables = [asks("orders", every=0.01, takes=1e5, target=60.0), asks("clicks", every=300.0, takes=1.0, target=10.0)]
    for policy in (Policy(), ADAPTIVE):
        assert all((remedy.tracks or 0) <= 1_000 for remedy in remedies(tables, policy, 2).values())
