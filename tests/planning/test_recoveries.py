"""When tables that are behind will have caught up, against runs of the scheduler."""

from __future__ import annotations

import random

import pytest

from freshtide.core.costs import GivenCost
from freshtide.planning import Demand, eager_bound, recoveries
from freshtide.scheduling import Adaptive, GlobalAllocation, Mode, Policy, adaptive_policy
from freshtide.simulation import CompletedUpdate, SimulatedTable, Simulation, Stream, Workload
from freshtide.simulation.experiments.leontyev import CUT, HORIZON, OUTAGE, TRACKS, VARIABILITY, workload

from .demanding import asks

ADAPTIVE = adaptive_policy()


def demands_in(world: Workload, variability: float = 0.0) -> list[Demand]:
    return [
        asks(
            table.name,
            every=world.periods[table.name],
            cost=GivenCost(table.alpha, table.beta, variability),
        )
        for table in world.tables
    ]


def caught_up(world: Workload, policy: Policy, tracks: int, *, horizon: float) -> dict[str, tuple[float, float]]:
    """When each table that was cut was seen in recovery mode first, if it has one, and when nothing waited for it."""
    streams = {table.name: table.stream for table in world.tables if table.stream is not None}
    cut = {name for name, stream in streams.items() if stream.outages}
    outage = next(stream.outages[0] for stream in streams.values() if stream.outages)
    simulation = Simulation(world, policy, tracks=tracks)
    entered: dict[str, float] = {}
    cleared: dict[str, float] = {}

    def watch(update: CompletedUpdate) -> None:
        if update.end < outage[1] or len(cleared) == len(cut):
            return
        for name in cut:
            reservation = simulation.scheduler.look(name).reservation
            if reservation is not None and reservation.mode is Mode.RECOVERY:
                entered.setdefault(name, update.end)
        if update.table in cut and update.start >= outage[1] and not simulation.scheduler.look(update.table).pending:
            cleared.setdefault(update.table, update.end)

    simulation.run(horizon=horizon, on_update=watch)
    return {name: (entered.get(name, outage[1]), cleared.get(name, horizon)) for name in cut}


def due_in(table: SimulatedTable, outage: tuple[float, float]) -> int:
    assert table.stream is not None
    stream, count, due = table.stream, 0, table.stream.first
    while due < outage[1]:
        count += due >= outage[0]
        due += stream.period
    return count


@pytest.mark.parametrize("costs", ["average", "worst"])
def test_the_tables_of_figure_9_recover_when_it_is_expected(costs: str) -> None:
    """The last of them within a seventh, whatever shares were reserved by."""
    world = workload(1)
    policy = adaptive_policy(Adaptive(costs="average" if costs == "average" else "worst"))
    waiting = {table.name: due_in(table, OUTAGE) for table in world.tables if table.name in CUT}
    found = recoveries(demands_in(world, VARIABILITY), policy, TRACKS, waiting)
    assert set(found) == set(CUT)
    seen = caught_up(world, policy, TRACKS, horizon=HORIZON)
    expected = max(recovery.expected or 0.0 for recovery in found.values())
    assert expected == pytest.approx(max(end for _, end in seen.values()) - OUTAGE[1], rel=1 / 7)
    assert not any(recovery.at_once for recovery in found.values()), "each takes all that the others leave"


@pytest.mark.parametrize("seed", range(30))
def test_no_table_takes_longer_to_recover_than_is_guaranteed(seed: int) -> None:
    rng = random.Random(seed)
    tracks, number = rng.randint(1, 3), rng.randint(2, 6)
    names = [f"t{place}" for place in range(number)]
    cut = set(names[: rng.choice([1, 1, 2, 3])])
    outage = (40.0, rng.uniform(150.0, 300.0))
    load = rng.choice([0.3, 0.6, 0.8]) * tracks
    tables = []
    for name in names:
        period, share, fixed = rng.uniform(1.0, 6.0), min(0.8, load / number), rng.random()
        stream = Stream(period=period, phase=rng.uniform(0.1, 1.0) * period, outages=(outage,) if name in cut else ())
        tables.append(
            SimulatedTable(name=name, stream=stream, alpha=share * period * fixed, beta=share * (1.0 - fixed))
        )
    world = Workload(tables=tuple(tables), seed=seed)
    policy = adaptive_policy(Adaptive(recovery=rng.choice(["fastest", "together"]), early=rng.random() < 0.5))
    waiting = {table.name: due_in(table, outage) for table in tables if table.name in cut}
    found = recoveries(demands_in(world), policy, tracks, waiting)
    # Those that wait for others are in recovery mode after them.
    horizon = outage[1] + 1.5 * sum(recovery.guaranteed or 0.0 for recovery in found.values())
    seen = caught_up(world, policy, tracks, horizon=horizon)
    for name, recovery in found.items():
        assert recovery.guaranteed is not None
        since = outage[1] if recovery.at_once else seen[name][0]
        assert seen[name][1] - since <= recovery.guaranteed


def test_a_lone_table_is_told_both_ends() -> None:
    """At 10 s an update of a minute it catches up with 60 files in 600 s of work, with five sixths of a track to do it.

    p_r = e = 10, Theta = 60 + 10: x = (70 * 60 + (3600 + 60) * 10) / 50, and a recovery period until the first release.
    """
    found = recoveries([asks("orders", every=60.0, takes=10.0)], ADAPTIVE, 1, {"orders": 60})["orders"]
    assert found.expected == pytest.approx(600.0 / (5.0 / 6.0))
    assert found.guaranteed == pytest.approx((70.0 * 60.0 + 3660.0 * 10.0) / 50.0 + 10.0)
    assert found.sentence == (
        "60 files wait for 'orders': it is expected to have caught up in 12m, in 13m 46s at most."
    )


def test_a_table_within_its_bound_is_not_behind() -> None:
    assert recoveries([asks("orders", every=60.0, takes=10.0)], ADAPTIVE, 1, {"orders": 2}) == {}


def test_another_scheduler_guarantees_nothing_and_loads_several_files_at_once() -> None:
    """With chopping to three periods 60 files are 20 updates of 10 s."""
    found = recoveries([asks("orders", every=60.0, takes=10.0)], Policy(), 1, {"orders": 60})["orders"]
    assert found.guaranteed is None
    assert found.expected == pytest.approx(200.0 / (5.0 / 6.0))


def test_where_the_tracks_have_no_time_left_nobody_catches_up() -> None:
    tables = [asks("orders", every=60.0, takes=40.0), asks("clicks", every=60.0, takes=30.0)]
    found = recoveries(tables, Policy(), 1, {"orders": 60})["orders"]
    assert (found.expected, found.guaranteed) == (None, None)
    assert "no time left" in found.sentence


# The eager bound


EAGER = Policy(ordering="fifo", allocation=GlobalAllocation(), chopping=None)


def test_an_eager_scheduler_has_a_factor_and_another_one_is_told_what_it_would_be() -> None:
    tables = [asks(f"t{number}", every=60.0, takes=0.1) for number in range(4)]
    found = eager_bound(tables, EAGER, 2)
    assert found.is_eager
    assert found.factor is not None
    assert found.factor > 1.0
    assert "This scheduler is eager" in found.sentence
    other = eager_bound(tables, Policy(), 2)
    assert (other.is_eager, other.factor) == (False, found.factor)


def test_no_run_of_an_eager_scheduler_exceeds_the_eager_bound() -> None:
    tables = [asks(f"t{number}", every=60.0 + number, takes=0.2) for number in range(6)]
    world = Workload(
        tables=tuple(
            SimulatedTable(name=d.unit, stream=Stream(period=d.pace), alpha=d.cost.coefficients[0]) for d in tables
        )
    )
    horizon = 6_000.0
    result = Simulation(world, EAGER, tracks=2).run(horizon=horizon)
    factor = eager_bound(tables, EAGER, 2).factor
    assert factor is not None
    total = sum(result.staleness[d.unit].mean * horizon for d in tables)
    # LOW/2: a file holds what came since the one before it.
    least = sum(d.pace**2 * (horizon // d.pace) / 2.0 for d in tables)
    assert total <= factor * least * 1.01


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ([asks("orders"), asks("view", "orders")], "views such as 'view'"),
        ([asks("orders", arrival_jitter=300.0)], "at any time"),
        ([asks("orders", every=60.0, takes=50.0)], "alpha must be less than"),
        ([], "no tables"),
    ],
)
def test_where_the_theorem_does_not_hold_the_reason_is_told(tables: list[Demand], why: str) -> None:
    found = eager_bound(tables, EAGER, 1)
    assert found.factor is None
    assert why in found.sentence
