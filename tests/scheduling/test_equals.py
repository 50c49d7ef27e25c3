"""Equal tables are served alike, though what is learnt of them differs by chance; unequal ones keep what they cost."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Mapping
from dataclasses import replace
from statistics import mean

import pytest

from freshtide.core.commands import StartUpdate
from freshtide.core.costs import CostModel, GivenCost
from freshtide.core.events import DataArrived, Event, UpdateFinished
from freshtide.scheduling import TARGET_LAGS, Chopping, ScheduledTable, Scheduler
from tests.scheduling.bench import Bench

TABLES, TRACKS = 200, 2
WARM_UP, END = 40.0, 120.0
# The standard deviation of the logarithm of what updates take: a factor of 2.
NOISE = math.log(2.0)


def mean_latencies(costs: Mapping[str, float], *, chopping: Chopping, seed: int = 0) -> dict[str, float]:
    """Of the files that land after the warm-up: a file per second for each table, more than the tracks can take singly.

    The first update of a table takes three times as long as the others.
    """
    rng = random.Random(seed)
    scheduler = Scheduler(
        [ScheduledTable(name=name, period=1.0, cost=CostModel()) for name in costs],
        tracks=TRACKS,
        policy=replace(TARGET_LAGS, chopping=chopping),
        uniform=rng.random,
        explaining=False,
    )
    ahead: list[tuple[float, int, str, StartUpdate | None, float]] = []
    for number, name in enumerate(costs):
        heapq.heappush(ahead, (rng.random(), number, name, None, 0.0))
    number = len(costs)
    waiting: dict[str, list[float]] = {name: [] for name in costs}
    latencies: dict[str, list[float]] = {name: [] for name in costs}
    updated: set[str] = set()
    while ahead[0][0] < END:
        now, _, name, update, seconds = heapq.heappop(ahead)
        event: Event
        if update is None:
            event = DataArrived(name, now)
            waiting[name].append(now)
            heapq.heappush(ahead, (now + 1.0, number, name, None, 0.0))
            number += 1
        else:
            event = UpdateFinished(name, update.track, update.upto, update.upto, seconds)
            updated.add(name)
            latencies[name] += [now - stamp for stamp in waiting[name] if WARM_UP <= stamp <= update.upto]
            waiting[name] = [stamp for stamp in waiting[name] if stamp > update.upto]
        for command in scheduler.handle([event], now):
            if isinstance(command, StartUpdate):
                began = command.table
                seconds = costs[began] * rng.lognormvariate(-NOISE * NOISE / 2.0, NOISE)
                seconds *= 1.0 if began in updated else 3.0
                heapq.heappush(ahead, (now + seconds, number, began, command, seconds))
                number += 1
    return {name: mean(found) for name, found in latencies.items()}


@pytest.mark.parametrize("chopping", ["slack", None])
def test_equal_tables_wait_alike_though_their_updates_differ_by_chance(chopping: Chopping) -> None:
    found = mean_latencies({f"t{number}": 0.1 for number in range(TABLES)}, chopping=chopping)
    assert max(found.values()) / min(found.values()) < 1.4


def test_cheap_tables_go_before_dear_ones_where_they_do_differ() -> None:
    costs = {f"t{number}": 0.4 if number % 4 == 0 else 0.04 for number in range(TABLES)}
    found = mean_latencies(costs, chopping="slack")
    dear, cheap = (mean(found[name] for name in costs if costs[name] == cost) for cost in (0.4, 0.04))
    # Staleness goes with the cube root of the cost, about.
    assert 1.5 < dear / cheap < 10.0 ** (1.0 / 3.0) * 1.2


def scheduled(name: str, *seconds: float) -> ScheduledTable:
    """A table whose updates took so long."""
    cost = CostModel.learnt_from((1.0, took) for took in seconds)
    return ScheduledTable(name=name, period=1.0, cost=cost, freshness=0.0, safe=0.0)


def believed(*tables: ScheduledTable) -> dict[str, float]:
    """What the scheduler takes an update of each to cost."""
    bench = Bench(ScheduledTable(name="busy", period=1.0, cost=GivenCost(1.0, 0.0)), *tables, policy=TARGET_LAGS)
    bench.at(1.0).arrives("busy", 1.0)
    bench.happens(*(DataArrived(table.name, 1.0) for table in tables))
    return {candidate.table: candidate.cost for candidate in bench.scheduler.best(len(tables))}


def _noisy(rng: random.Random, cost: float, updates: int) -> list[float]:
    return [cost * rng.lognormvariate(-NOISE * NOISE / 2.0, NOISE) for _ in range(updates)]


def test_what_chance_makes_of_equal_tables_is_not_believed() -> None:
    rng = random.Random(1)
    tables = [scheduled(f"t{number}", *_noisy(rng, 0.1, 3)) for number in range(100)]
    learnt = [table.cost.expected(1.0) for table in tables]
    found = believed(*tables).values()
    assert max(learnt) / min(learnt) > 4.0
    assert max(found) / min(found) < 2.0
    assert mean(found) == pytest.approx(0.1, rel=0.2)


def test_one_dear_table_among_many_equal_ones_stays_dear() -> None:
    rng = random.Random(2)
    tables = [scheduled(f"t{number}", *_noisy(rng, 0.1, 20)) for number in range(200)]
    dear = scheduled("dear", *_noisy(rng, 5.0, 20))
    assert believed(dear, *tables)["dear"] > 0.5 * dear.cost.expected(1.0)


def test_tables_that_differ_by_far_more_than_chance_keep_what_they_cost() -> None:
    rng = random.Random(3)
    tables = [scheduled(f"t{number}", *_noisy(rng, 0.01 * 1.1**number, 20)) for number in range(80)]
    for name, cost in believed(*tables).items():
        own = next(table.cost.expected(1.0) for table in tables if table.name == name)
        assert cost == pytest.approx(own, rel=0.15)


def test_steady_costs_are_believed_however_close_they_are() -> None:
    found = believed(scheduled("a", 1.0, 1.0, 1.0), scheduled("b", 1.1, 1.1, 1.1), scheduled("c", 0.9, 0.9, 0.9))
    assert found == pytest.approx({"a": 1.0, "b": 1.1, "c": 0.9})


def test_a_cost_that_was_given_is_not_doubted() -> None:
    given = ScheduledTable(name="given", period=1.0, cost=GivenCost(7.0, 0.0), freshness=0.0, safe=0.0)
    rng = random.Random(4)
    others = [scheduled(f"t{number}", *_noisy(rng, 0.1, 3)) for number in range(50)]
    assert believed(given, *others)["given"] == 7.0


def test_a_second_load_may_go_on_in_steps_from_what_the_first_one_brought() -> None:
    """Forty files came at once and went well: of sixty that follow no eight are taken for that."""
    tight = ScheduledTable(name="tight", period=1.0, target=2.0, cost=GivenCost(0.1, 0.0), freshness=0.0, safe=0.0)
    bench = Bench(ScheduledTable(name="new", period=1.0), tight, policy=TARGET_LAGS)
    bench.at(40.0).arrives("new", *(float(stamp) for stamp in range(1, 41)))
    bench.happens(*(DataArrived("new", float(stamp)) for stamp in range(41, 101)))
    bench.finishes("new", seconds=0.3)
    assert bench.running["new"].upto == 100.0
