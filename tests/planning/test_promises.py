"""What can be promised, and why not more."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.core.costs import CostModel, GivenCost
from freshtide.core.errors import Origin
from freshtide.planning import Assurance, Demand, promises
from freshtide.project import parse_scheduler
from freshtide.scheduling import Adaptive, Policy, adaptive_policy
from freshtide.simulation import Simulation

from .demanding import asks, calm_sets, demand_sets, workload_of

KEPT, CANNOT, NONE = Assurance.KEPT, Assurance.CANNOT_BE_KEPT, Assurance.NO_GUARANTEE
ADAPTIVE = adaptive_policy()


def named(scheduler: str) -> Policy:
    policy, problems = parse_scheduler(scheduler, Origin(file="here"))
    assert policy is not None, problems
    return policy


def test_a_lone_table_under_the_adaptive_scheduler_has_the_bound_of_definition_13() -> None:
    """One track, one table: Y = e, so that Theta = p + e, and A = Theta + p + (p + J + kappa)."""
    orders = asks("orders", every=300.0, takes=10.0, target=920.0, arrival_jitter=2.0, timestamp_jitter=5.0)
    promise = promises([orders], ADAPTIVE, 1)["orders"]
    assert promise.bound == pytest.approx(3 * 300.0 + 10.0 + 2.0 + 5.0)
    assert promise.verdict is KEPT
    assert promise.rests_on == ()


def test_a_target_lag_below_the_bound_cannot_be_kept_for_certain() -> None:
    promise = promises([asks("orders", every=300.0, takes=10.0, target=900.0)], ADAPTIVE, 1)["orders"]
    assert promise.verdict is CANNOT
    assert promise.bound == pytest.approx(910.0)
    assert "no less than 15m 10s can be promised" in promise.reason


def test_a_table_without_a_target_lag_has_a_bound_all_the_same() -> None:
    promise = promises([asks("orders", every=300.0, takes=10.0)], ADAPTIVE, 1)["orders"]
    assert promise.verdict is KEPT
    assert promise.bound == pytest.approx(910.0)


@pytest.mark.parametrize("scheduler", ["max-benefit", "edf", "fifo", "edf-partitioned", "prp", "myopic"])
def test_other_schedulers_promise_nothing(scheduler: str) -> None:
    promise = promises([asks("orders", target=86_400.0)], named(scheduler), 4)["orders"]
    assert (promise.verdict, promise.bound) == (NONE, None)
    assert "has no bound" in promise.reason


def test_what_cannot_be_avoided_cannot_be_kept_under_any_scheduler_and_its_parts_are_named() -> None:
    orders = asks("orders", every=300.0, takes=10.0, timestamp_jitter=20.0, target=320.0)
    hourly = asks("hourly", "orders", every=300.0, takes=5.0, target=334.0)
    for policy in (Policy(), ADAPTIVE):
        found = promises([orders, hourly], policy, 8)
        assert found["orders"].verdict is CANNOT
        assert found["orders"].reason == (
            "5m 30s cannot be avoided, 10s too much: its file comes every 5m, is 20s old, and its update takes 10s"
        )
        assert found["hourly"].verdict is CANNOT
        assert "a file of 'orders' comes every 5m, is 20s old, and the updates up to here take 15s" in (
            found["hourly"].reason
        )


def test_what_a_feed_holds_back_from_views_counts() -> None:
    orders = asks("orders", every=60.0, held_back=600.0, target=120.0)
    late = asks("late", "orders", every=60.0, target=650.0)
    found = promises([orders, late], Policy(), 2)
    assert found["orders"].verdict is NONE
    assert found["late"].verdict is CANNOT
    assert "is final 10m later" in found["late"].reason


def test_a_bucket_has_to_close_before_it_can_be_seen() -> None:
    orders = asks("orders", every=60.0)
    hourly = asks("hourly", "orders", every=60.0, bucket=3600.0, coarseness=3600.0, target=1800.0)
    found = promises([orders, hourly], ADAPTIVE, 1)
    assert found["hourly"].verdict is CANNOT
    assert "a bucket of 1h has to close" in found["hourly"].reason
    # It is updated once in a bucket, and a bucket behind what its sources would allow.
    plain = promises([orders, asks("hourly", "orders", every=3600.0)], ADAPTIVE, 1)
    assert found["hourly"].bound == pytest.approx((plain["hourly"].bound or 0.0) + 3600.0)


def test_a_table_that_takes_longer_than_its_data_falls_behind_for_ever() -> None:
    slow = asks("slow", cost=GivenCost(0.0, 1.2), target=86_400.0)
    view = asks("view", "slow", target=86_400.0)
    for policy in (Policy(), ADAPTIVE):
        found = promises([slow, view], policy, 16)
        assert {promise.verdict for promise in found.values()} == {CANNOT}
        assert "'slow' takes 1.2s of work per second of data" in found["view"].reason


def test_more_work_per_second_of_data_than_tracks_cannot_be_done() -> None:
    heavy = [asks(f"t{number}", cost=GivenCost(0.0, 0.4), target=86_400.0) for number in range(3)]
    found = promises(heavy, Policy(), 1)
    assert {promise.verdict for promise in found.values()} == {CANNOT}
    assert "1.2s of work per second of data, more than 1 track can do" in found["t0"].reason
    assert {promise.verdict for promise in promises(heavy, Policy(), 2).values()} == {NONE}


def test_work_that_no_target_lag_asks_for_breaks_none() -> None:
    heavy = [asks(f"t{number}", cost=GivenCost(0.0, 0.4)) for number in range(3)]
    found = promises([*heavy, asks("small", target=3600.0)], Policy(), 1)
    assert found["small"].verdict is NONE


def test_a_set_that_cannot_be_reserved_names_the_table_that_asks_most_and_what_would_do() -> None:
    tables = [asks("large", every=300.0, takes=200.0, target=3600.0), asks("small", every=300.0, takes=150.0)]
    promise = promises(tables, ADAPTIVE, 1)["large"]
    assert promise.bound is None
    assert "'large' asks most" in promise.reason
    assert "2 tracks would do" in promise.reason


def test_worst_costs_that_do_not_fit_leave_no_guarantee_but_average_costs_might_do() -> None:
    cost = GivenCost(200.0, 0.0, variability=0.8)
    tables = [asks("orders", every=300.0, cost=cost, target=3600.0)]
    assert promises(tables, ADAPTIVE, 4)["orders"].verdict is NONE
    by_average = promises(tables, adaptive_policy(Adaptive(costs="average")), 4)["orders"]
    assert by_average.verdict is KEPT
    assert "in expectation" in " ".join(by_average.rests_on)


def test_a_promise_that_rests_on_assumed_costs_says_so() -> None:
    unknown = asks("orders", cost=CostModel(), known_by="assumed", target=3600.0)
    promise = promises([unknown, asks("clicks")], ADAPTIVE, 1)["orders"]
    assert promise.rests_on == ("No costs have been learnt of 'orders': 0.5s an update is assumed.",)


def test_costs_that_nobody_knows_make_nothing_impossible() -> None:
    """By what is assumed they need two tracks; but updates may turn out to be quick."""
    unknown = [asks(f"t{n}", every=1.0, cost=CostModel(), known_by="assumed", target=60.0) for n in range(3)]
    promise = promises(unknown, ADAPTIVE, 1)["t0"]
    assert promise.verdict is NONE
    assert "2 tracks would do" in promise.reason
    assert "0.5s an update is assumed" in " ".join(promise.rests_on)


def test_without_a_period_or_the_age_of_files_nothing_is_promised_nor_to_what_depends_on_it() -> None:
    tables = [
        replace(asks("aimless"), period=None),
        asks("ageless", timestamp_jitter=None),
        asks("view", "ageless"),
        asks("punctuated", held_back=math.inf),
        asks("stable", "punctuated"),
        asks("fine"),
    ]
    found = promises(tables, ADAPTIVE, 4)
    assert {name for name, promise in found.items() if promise.bound is not None} == {"punctuated", "fine"}
    assert "the feed of 'aimless' declares no period" in found["aimless"].reason
    assert "how old the files of 'ageless' are" in found["view"].reason
    assert "punctuation" in found["stable"].reason


def test_tables_of_an_update_group_share_a_bound_and_have_target_lags_of_their_own() -> None:
    group = replace(asks("both", every=300.0, takes=10.0), target_lags={"a": 1000.0, "b": 320.0})
    found = promises([group], ADAPTIVE, 1)
    assert found["a"].bound == found["b"].bound == pytest.approx(910.0)
    assert (found["a"].verdict, found["b"].verdict) == (KEPT, CANNOT)


def test_group_and_run_bounds_base_tables_of_similar_periods() -> None:
    """Bateni et al. 2009, lemma 4.2: (7/6)(1 + alpha) B, and what files are older than their arrival."""
    tables = [
        asks(f"t{n}", every=300.0, cost=GivenCost(0.0, 0.01), timestamp_jitter=5.0, target=400.0) for n in range(3)
    ]
    promise = promises(tables, named("group-and-run"), 2)["t0"]
    assert promise.bound == pytest.approx(7 / 6 * 1.01 * 300.0 + 5.0)
    assert promise.verdict is KEPT


def test_group_and_run_promises_nothing_to_views_nor_beside_them() -> None:
    tables = [asks("orders", takes=1.0), asks("view", "orders", takes=1.0), asks("daily", every=86_400.0)]
    found = promises(tables, named("group-and-run"), 8)
    assert {name for name, promise in found.items() if promise.bound is None} == {"orders", "view"}
    assert "the view 'view' is in it" in found["orders"].reason


def test_group_and_run_needs_updates_that_are_short_and_regular() -> None:
    slow = [asks("orders", every=300.0, takes=100.0, target=3600.0)]
    assert "alpha must be at most 1/8" in promises(slow, named("group-and-run"), 8)["orders"].reason
    irregular = [asks("orders", every=300.0, arrival_jitter=300.0, target=3600.0)]
    assert "at any time" in promises(irregular, named("group-and-run"), 8)["orders"].reason
    too_few = [asks("orders", every=60.0, target=3600.0), asks("clicks", every=3600.0)]
    assert "need two tracks each" in promises(too_few, named("group-and-run"), 2)["orders"].reason


@settings(max_examples=150)
@given(demands=demand_sets(), tracks=st.integers(1, 3))
def test_no_simulated_run_of_the_adaptive_scheduler_breaks_a_bound(demands: list[Demand], tracks: int) -> None:
    assert_kept(demands, ADAPTIVE, tracks)


@settings(max_examples=100)
@given(demands=calm_sets(), tracks=st.integers(2, 6))
def test_no_simulated_run_of_group_and_run_breaks_a_bound(demands: list[Demand], tracks: int) -> None:
    assert_kept(demands, named("group-and-run"), tracks)


def assert_kept(demands: list[Demand], policy: Policy, tracks: int) -> None:
    simulation = Simulation(workload_of(demands), policy, tracks=tracks, checking=True)
    result = simulation.run(horizon=30 * max(demand.pace for demand in demands))
    for name, promise in promises(demands, policy, tracks).items():
        if promise.bound is not None:
            assert result.staleness[name].maximum <= promise.bound * (1 + 1e-9)


@settings(max_examples=60)
@given(demands=demand_sets(jittered=False))
def test_what_cannot_be_kept_for_its_own_sake_is_not_kept_on_any_number_of_tracks(demands: list[Demand]) -> None:
    found = promises(demands, Policy(), len(demands))
    result = Simulation(workload_of(demands), Policy(), tracks=len(demands), checking=True).run(
        horizon=30 * max(d.pace for d in demands)
    )
    for name, promise in found.items():
        if "cannot be avoided" in promise.reason and promise.target_lag is not None:
            assert result.staleness[name].maximum > promise.target_lag
