"""Policies against the best schedule there is, on instances small enough to look at all schedules."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshtide.scheduling import ORDERINGS, GlobalAllocation, NoInheritance, Policy
from freshtide.simulation import SimulatedTable, Simulation, Stream, Workload, least_weighted_staleness
from tests.examples import examples

HORIZON = 30.0


def listed(name: str, *files: tuple[float, float], alpha: float, priority: float = 1.0) -> SimulatedTable:
    return SimulatedTable(
        name=name, stream=Stream(period=10.0, arrivals=files), alpha=alpha, beta=0.0, priority=priority
    )


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    tables = []
    for number in range(draw(st.integers(1, 3))):
        moments = sorted(draw(st.sets(st.integers(1, 20), min_size=1, max_size=3)))
        tables.append(
            SimulatedTable(
                name=f"b{number}",
                stream=Stream(period=10.0, arrivals=tuple((float(moment), float(moment)) for moment in moments)),
                alpha=draw(st.sampled_from([1.0, 3.0])),
                beta=draw(st.sampled_from([0.0, 0.25])),
                priority=draw(st.sampled_from([1.0, 5.0])),
            )
        )
    if draw(st.booleans()):
        sources = tuple(table.name for table in tables[: draw(st.integers(1, len(tables)))])
        tables.append(SimulatedTable(name="v", sources=sources, alpha=2.0, priority=3.0))
    return Workload(tables=tuple(tables))


def scheduled(workload: Workload, policy: Policy, *, tracks: int = 1, horizon: float = HORIZON) -> float:
    """The weighted staleness that a policy comes to."""
    return Simulation(workload, policy, tracks=tracks, checking=True).run(horizon=horizon).weighted_staleness


@settings(max_examples=examples(60))
@given(workloads(), st.integers(1, 2), st.sampled_from(sorted(ORDERINGS)), st.sampled_from([None, 1.0]))
def test_no_policy_beats_the_best_schedule(
    workload: Workload, tracks: int, ordering: str, chopping: float | None
) -> None:
    policy = Policy(ordering=ordering, allocation=GlobalAllocation(), chopping=chopping)
    best = least_weighted_staleness(workload, tracks=tracks, horizon=HORIZON)
    assert scheduled(workload, policy, tracks=tracks) >= best * (1.0 - 1e-9)


def test_one_table_alone_is_scheduled_as_well_as_can_be() -> None:
    workload = Workload(tables=(listed("a", (2.0, 2.0), (9.0, 9.0), alpha=1.0),))
    best = least_weighted_staleness(workload, tracks=1, horizon=20.0)
    assert best == pytest.approx((3.0**2 / 2 + (8.0**2 - 1.0) / 2 + (11.0**2 - 1.0) / 2) / 20.0)
    assert scheduled(workload, Policy(), horizon=20.0) == pytest.approx(best)


def test_the_best_schedule_waits_where_that_pays() -> None:
    """A long update started at 1 would keep the track from what comes at 2 and matters a thousand times as much."""
    workload = Workload(
        tables=(listed("long", (1.0, 1.0), alpha=9.0), listed("dear", (2.0, 2.0), alpha=1.0, priority=1_000.0))
    )
    best = least_weighted_staleness(workload, tracks=1, horizon=12.0)
    eager = scheduled(workload, Policy(), horizon=12.0)
    assert best == pytest.approx((1_000.0 * (3.0**2 / 2 + (10.0**2 - 1.0) / 2) + 12.0**2 / 2) / 12.0)
    dear_after_long = 1_000.0 * (11.0**2 / 2 + (10.0**2 - 9.0**2) / 2)
    assert eager == pytest.approx((dear_after_long + 10.0**2 / 2 + (11.0**2 - 9.0**2) / 2) / 12.0)


def test_max_benefit_comes_close_to_the_best_schedule() -> None:
    """Over fixed instances under load: on average within a tenth of the best, and better than First In First Out."""
    ratios: dict[str, list[float]] = {"max-benefit": [], "fifo": []}
    rng = random.Random(11)
    for _ in range(25):
        workload = Workload(
            tables=tuple(
                listed(
                    f"t{number}",
                    *((moment, moment) for moment in sorted(rng.uniform(0.0, 20.0) for _ in range(2))),
                    alpha=rng.uniform(1.0, 5.0),
                    priority=rng.choice((1.0, 4.0)),
                )
                for number in range(3)
            )
        )
        best = least_weighted_staleness(workload, tracks=1, horizon=HORIZON)
        for ordering, found in ratios.items():
            policy = Policy(ordering=ordering, allocation=GlobalAllocation(), inheritance=NoInheritance())
            found.append(scheduled(workload, policy) / best)
    mean = {ordering: sum(found) / len(found) for ordering, found in ratios.items()}
    assert mean["max-benefit"] < 1.1
    assert mean["max-benefit"] < mean["fifo"]
