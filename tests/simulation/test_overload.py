"""More than can be done, by costs that are learnt from noisy updates: nobody drifts away, and pieces stay short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import pytest

from freshtide.core.costs import CostModel
from freshtide.scheduling import TARGET_LAGS
from freshtide.simulation import Result, SimulatedTable, Simulation, Stream, Workload


def learning(name: str, *, period: float, alpha: float, beta: float, **changes: object) -> SimulatedTable:
    stream = changes.pop("stream", Stream(period=period))
    return SimulatedTable(name=name, stream=stream, alpha=alpha, beta=beta, believed=CostModel(), **changes)  # type: ignore[arg-type]


def simulated(
    tables: Iterable[SimulatedTable], *, seed: int, variability: float, tracks: int, horizon: float
) -> Result:
    workload = Workload(tables=tuple(tables), seed=seed, variability=variability)
    return Simulation(workload, TARGET_LAGS, tracks=tracks).run(horizon=horizon)


def largest_through_smallest(result: Result) -> float:
    means = [found.mean for found in result.staleness.values()]
    return max(means) / min(means)


def gains(result: Result, table: str) -> Iterator[float]:
    """How much data each update of the table has brought."""
    for before, after in pairwise((0.0, *result.staleness[table].freshnesses)):
        yield after - before


@pytest.mark.parametrize("seed", range(3))
def test_three_equal_tables_stay_equal_and_short_when_each_second_of_data_takes_half_a_second(seed: int) -> None:
    """The others leave 44s beyond a period and an update: of that a third, or 28s of data, is for one piece."""
    names = ("one", "two", "three")
    tables = [learning(name, period=10.0, alpha=0.5, beta=0.5, target_lag=60.0) for name in names]
    result = simulated(tables, seed=seed, variability=0.3, tracks=1, horizon=3600.0)
    assert largest_through_smallest(result) < 1.2
    for name in names:
        found = sorted(gains(result, name))
        assert found[int(0.9 * len(found))] <= 30.0
        assert found[-1] <= 100.0, "another size is tried now and then, and no more than that"


def test_sixty_equal_tables_stay_equal_at_twice_what_can_be_done() -> None:
    tables = [learning(f"t{number}", period=1.0, alpha=0.02, beta=0.05) for number in range(60)]
    result = simulated(tables, seed=1, variability=0.5, tracks=2, horizon=600.0)
    assert largest_through_smallest(result) < 1.5


@pytest.mark.parametrize("target_lag", [3_600.0, 86_400.0])
def test_a_backlog_with_a_long_target_lets_short_targets_be_kept(target_lag: float) -> None:
    """Ten hours come at once, some twelve minutes of work; the others are a third of what can be done."""
    end = 36_100.0
    tables = [learning(f"s{number}", period=2.0, alpha=0.1, beta=0.005, target_lag=10.0) for number in range(6)]
    silent = Stream(period=60.0, outages=((100.0, end),))
    tables.append(learning("behind", period=60.0, alpha=0.5, beta=0.02, target_lag=target_lag, stream=silent))
    result = simulated(tables, seed=0, variability=0.3, tracks=1, horizon=end + 1_500.0)
    for table in tables[:-1]:
        found = result.staleness[table.name]
        commits = list(zip(found.moments, found.freshnesses, strict=True))
        beyond = sum(
            max(0.0, after - max(end, before, reached + 10.0))
            for (before, reached), (after, _) in pairwise(commits)
            if after > end
        )
        assert beyond < 0.03 * 1_500.0
    behind = result.staleness["behind"]
    assert behind.freshnesses[-1] > end + 1_300.0, "and it has caught up"


def test_pieces_grow_where_short_ones_cost_what_is_missing() -> None:
    """By its data alone the load is 0.945; with a file at a time fixed costs make it 1.05, and nobody would keep up."""
    tables = [
        SimulatedTable(name=name, stream=Stream(period=1.0), alpha=0.035, beta=0.315, target_lag=3.0)
        for name in ("one", "two", "three")
    ]
    result = simulated(tables, seed=0, variability=0.0, tracks=1, horizon=2000.0)
    assert max(found.mean for found in result.staleness.values()) < 3.0


@pytest.mark.parametrize("seed", range(2))
def test_twenty_equal_tables_stay_equal_at_the_edge_of_what_can_be_done(seed: int) -> None:
    tables = [learning(f"t{number}", period=1.0, alpha=0.01, beta=0.1) for number in range(20)]
    result = simulated(tables, seed=seed, variability=0.5, tracks=2, horizon=3000.0)
    assert largest_through_smallest(result) < 2.0


def test_pieces_are_no_longer_than_saves_anything_however_much_the_others_could_wait() -> None:
    """A third of what the targets leave would be 330s; ten seconds are two hundred fixed costs."""
    tables = [
        learning(f"t{number}", period=10.0, alpha=0.05, beta=0.18, priority=10.0 ** (number % 3), target_lag=1000.0)
        for number in range(12)
    ]
    result = simulated(tables, seed=0, variability=0.3, tracks=1, horizon=20_000.0)
    for table in tables:
        found = sorted(gains(result, table.name))
        assert found[int(0.9 * len(found))] * 0.18 <= 15.0
        assert len(found) > 30, "whatever its priority, it keeps moving"
