"""What can be promised, and why not more."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.core.costs import CostModel, GivenCost
from freshtide.core.errors import Origin
from freshtide.planning import Assurance, Demand, promises
from freshtide.project import parse_scheduler
from freshtide.scheduling import TARGET_LAGS, Adaptive, Policy, adaptive_policy
from freshtide.simulation import SimulatedTable, Simulation, Stream, Workload
from tests.examples import IS_THOROUGH, examples

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


def test_equal_tables_have_equal_bounds_though_their_updates_differed_by_chance() -> None:
    """What is believed of them is alike, and that is what they are ranked by."""
    rng = random.Random(1)
    tables = [
        asks(
            f"t{number}",
            every=10.0,
            cost=CostModel.learnt_from((10.0, rng.lognormvariate(-2.5, 0.7)) for _ in range(3)),
            known_by="learnt",
        )
        for number in range(40)
    ]
    found = [promise.bound or 0.0 for promise in promises(tables, replace(TARGET_LAGS, chopping=None), 2).values()]
    assert 10.0 < max(found) < 1.1 * min(found)


@pytest.mark.parametrize("scheduler", ["max-benefit", "edf", "fifo", "edf-partitioned", "prp", "myopic"])
def test_other_schedulers_promise_nothing(scheduler: str) -> None:
    promise = promises([asks("orders", target=86_400.0)], named(scheduler), 4)["orders"]
    assert (promise.verdict, promise.bound) == (NONE, None)
    assert "has no bound" in promise.reason


def test_what_cannot_be_avoided_cannot_be_kept_under_any_scheduler_and_its_parts_are_named() -> None:
    orders = asks("orders", every=300.0, takes=10.0, target=300.0)
    hourly = asks("hourly", "orders", every=300.0, takes=5.0, target=314.0)
    for policy in (Policy(), ADAPTIVE):
        found = promises([orders, hourly], policy, 8)
        assert found["orders"].verdict is CANNOT
        assert found["orders"].reason == (
            "5m 10s cannot be avoided, 10s too much: its file comes every 5m, and its update takes 10s"
        )
        assert found["hourly"].verdict is CANNOT
        assert "a file of 'orders' comes every 5m, and the updates up to here take 15s" in found["hourly"].reason


def test_a_target_lag_below_the_age_that_files_may_have_is_not_refused_as_they_may_be_young() -> None:
    orders = asks("orders", every=300.0, takes=10.0, timestamp_jitter=1200.0, target=600.0)
    young = Stream(period=300.0, timestamp_jitter=1200.0, arrivals=tuple((300.0 * n, 300.0 * n) for n in range(1, 50)))
    world = Workload(tables=(SimulatedTable(name="orders", stream=young, alpha=10.0),))
    assert Simulation(world, Policy(), tracks=1).run(horizon=12_000.0).staleness["orders"].maximum <= 600.0
    assert promises([orders], Policy(), 1)["orders"].verdict is NONE
    assert "can be promised" in promises([orders], ADAPTIVE, 1)["orders"].reason


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
        asks(f"t{n}", every=300.0, cost=GivenCost(0.0, 0.01), timestamp_jitter=5.0, least_age=5.0, target=400.0)
        for n in range(3)
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


def test_a_file_that_brings_many_periods_of_data_at_once_is_within_the_promise() -> None:
    """Files that are ten minutes old come each minute, one of them is not: it brings eleven minutes of data.

    That one takes 5m 30s. The ten files after it bring nothing new, so that the table gets 10m + 1m + 5m 30s stale.
    """
    orders = asks("orders", every=60.0, cost=GivenCost(0.0, 0.5), timestamp_jitter=600.0)
    stream = Stream(
        period=60.0,
        timestamp_jitter=600.0,
        arrivals=tuple((60.0 * n, max(0.0, 60.0 * n - (0.0 if n == 40 else 600.0))) for n in range(1, 101)),
    )
    world = Workload(tables=(SimulatedTable(name="orders", stream=stream, alpha=0.0, beta=0.5),))
    seen = Simulation(world, ADAPTIVE, tracks=2).run(horizon=6_000.0).staleness["orders"].maximum
    assert seen == pytest.approx(16 * 60.0 + 30.0)
    bound = promises([orders], ADAPTIVE, 2)["orders"].bound
    assert bound is not None
    assert seen <= bound


def test_files_that_are_all_of_one_age_bring_a_period_each() -> None:
    """What counts is the spread of the ages, not the ages."""
    steady = asks("orders", every=60.0, cost=GivenCost(0.0, 0.5), timestamp_jitter=600.0, least_age=600.0)
    assert promises([steady], ADAPTIVE, 1)["orders"].bound == pytest.approx(3 * 60.0 + 30.0 + 600.0)


@settings(max_examples=examples(150))
@given(demands=demand_sets(), tracks=st.integers(1, 3))
def test_no_simulated_run_of_the_adaptive_scheduler_breaks_a_bound(demands: list[Demand], tracks: int) -> None:
    assert_kept(demands, ADAPTIVE, tracks)


@settings(max_examples=examples(100))
@given(demands=calm_sets(), tracks=st.integers(2, 6))
def test_no_simulated_run_of_group_and_run_breaks_a_bound(demands: list[Demand], tracks: int) -> None:
    assert_kept(demands, named("group-and-run"), tracks)


@settings(max_examples=100 if IS_THOROUGH else 6)
@given(demands=demand_sets(), tracks=st.integers(1, 3))
def test_no_simulated_run_of_the_default_scheduler_breaks_a_bound(demands: list[Demand], tracks: int) -> None:
    assert_kept(demands, TARGET_LAGS, tracks)


def test_the_default_scheduler_says_how_long_a_table_waits_at_worst() -> None:
    """Alone there is no wait: a file each minute, and what comes just after an update has begun waits for two."""
    alone = promises([asks("orders", every=60.0, takes=2.0, target=65.0)], TARGET_LAGS, 1)["orders"]
    assert alone.verdict is KEPT
    assert alone.bound == pytest.approx(64.0)
    crowd = [asks(f"t{number}", every=60.0, takes=2.0, target=65.0) for number in range(20)]
    found = promises(crowd, TARGET_LAGS, 2)["t0"]
    assert found.verdict is NONE, "it may well be kept"
    assert found.bound is not None
    assert found.bound > 65.0
    assert "waits for its turn for up to" in found.reason


def test_what_moves_on_but_may_stay_behind_is_told() -> None:
    """An update takes nearly as long as its data, and the others leave it a few seconds at a time."""
    heavy = asks("heavy", every=60.0, cost=GivenCost(0.1, 0.9))
    tight = [asks(f"t{number}", every=60.0, takes=10.0, target=100.0) for number in range(9)]
    found = promises([heavy, *tight], TARGET_LAGS, 1)["heavy"]
    assert (found.verdict, found.bound) == (NONE, None)
    assert "at worst more has come by then than the 1m of data that one update takes" in found.reason


def assert_kept(demands: list[Demand], policy: Policy, tracks: int) -> None:
    simulation = Simulation(workload_of(demands), policy, tracks=tracks, checking=True)
    result = simulation.run(horizon=30 * max(demand.pace for demand in demands))
    for name, promise in promises(demands, policy, tracks).items():
        if promise.bound is not None:
            assert result.staleness[name].maximum <= promise.bound * (1 + 1e-9)


@settings(max_examples=examples(60))
@given(demands=demand_sets())
def test_what_cannot_be_kept_for_its_own_sake_is_not_kept_on_any_number_of_tracks(demands: list[Demand]) -> None:
    found = promises(demands, Policy(), len(demands))
    result = Simulation(workload_of(demands), Policy(), tracks=len(demands), checking=True).run(
        horizon=30 * max(d.pace for d in demands)
    )
    for name, promise in found.items():
        if "cannot be avoided" in promise.reason and promise.target_lag is not None:
            assert result.staleness[name].maximum > promise.target_lag
