"""Nobody waits longer for its turn than is promised, whatever arrives and however much there is to do."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from freshtide.core.commands import StartUpdate
from freshtide.core.costs import GivenCost
from freshtide.core.events import DataArrived, Event, UpdateFinished
from freshtide.guarantees import Contender, longest_wait
from freshtide.scheduling import TARGET_LAGS, ScheduledTable, Scheduler

HORIZON = 400.0
UNCUT = replace(TARGET_LAGS, chopping=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    tables: tuple[ScheduledTable, ...]
    tracks: int
    variability: float
    rng: random.Random


def setting(seed: int) -> Setting:
    """Tables of all kinds that together ask for up to ten times what the tracks can do."""
    rng = random.Random(seed)
    variability = rng.choice((0.0, 0.3))
    tables = []
    for number in range(rng.randint(2, 40)):
        tables.append(
            ScheduledTable(
                name=f"t{number}",
                priority=rng.choice((0.1, 1.0, 1.0, 10.0)),
                period=rng.choice((0.5, 1.0, 5.0)),
                target=rng.choice((None, 1.0, 10.0, 100.0)),
                cost=GivenCost(rng.choice((0.02, 0.1, 1.0)), 0.0, variability),
                freshness=rng.choice((0.0, -1e6)),
                safe=0.0,
            )
        )
    return Setting(tables=tuple(tables), tracks=rng.randint(1, 3), variability=variability, rng=rng)


def contender(table: ScheduledTable) -> Contender:
    cost = table.cost.expected(1.0)
    return Contender(
        priority=table.priority,
        target=3.0 * (table.period or 0.0) if table.target is None else table.target,
        least_cost=cost,
        most_cost=cost,
        execution=table.cost.longest(1.0),
    )


def waits(found: Setting) -> dict[str, float]:
    """How long each table has waited at most, by the clock: from the moment at which it could have been updated."""
    scheduler = Scheduler(found.tables, tracks=found.tracks, policy=UNCUT, uniform=found.rng.random)
    costs = {table.name: table.cost.expected(1.0) for table in found.tables}
    ahead: list[tuple[float, int, str, StartUpdate | None]] = []
    number = 0
    for table in found.tables:
        heapq.heappush(ahead, (found.rng.uniform(0.0, 5.0), number, table.name, None))
        number += 1
    periods = {table.name: table.period or 1.0 for table in found.tables}
    could_since: dict[str, float] = {}
    arrived: dict[str, float] = {}
    running: set[str] = set()
    longest = dict.fromkeys(costs, 0.0)
    while ahead[0][0] < HORIZON:
        now, _, name, update = heapq.heappop(ahead)
        event: Event
        if update is None:
            event = DataArrived(name, now)
            arrived[name] = now
            if name not in running:
                could_since.setdefault(name, now)
            heapq.heappush(ahead, (now + periods[name] * found.rng.uniform(0.0, 2.0), number, name, None))
        else:
            event = UpdateFinished(name, update.track, update.upto, update.upto, costs[name])
            running.discard(name)
            if arrived[name] > update.upto:
                could_since[name] = now
        number += 1
        for command in scheduler.handle([event], now):
            assert isinstance(command, StartUpdate)
            began = command.table
            longest[began] = max(longest[began], now - could_since.pop(began))
            running.add(began)
            seconds = costs[began] * found.rng.uniform(1.0 - found.variability, 1.0 + found.variability)
            heapq.heappush(ahead, (now + seconds, number, began, command))
            number += 1
    for name, since in could_since.items():
        longest[name] = max(longest[name], HORIZON - since)
    return longest


def bounds(tables: Sequence[ScheduledTable], tracks: int) -> dict[str, float]:
    contenders = {table.name: contender(table) for table in tables}
    return {
        name: longest_wait(table, [other for other_name, other in contenders.items() if other_name != name], tracks)
        for name, table in contenders.items()
    }


def check(seeds: Sequence[int]) -> None:
    for seed in seeds:
        found = setting(seed)
        promised = bounds(found.tables, found.tracks)
        for name, waited in waits(found).items():
            assert waited <= promised[name] + 1e-6, f"seed {seed}: '{name}' has waited for {waited:.3f}s"


def test_nobody_waits_longer_than_is_promised() -> None:
    check(range(8))


@pytest.mark.slow
def test_nobody_waits_longer_than_is_promised_in_many_worlds() -> None:
    check(range(8, 400))


def one(**changes: float) -> Contender:
    values = {"priority": 1.0, "target": 3.0, "least_cost": 0.1, "most_cost": 0.1, "execution": 0.2, **changes}
    return Contender(**values)


def test_who_has_a_track_to_itself_does_not_wait() -> None:
    assert longest_wait(one(), [one()], 2) == 0.0
    assert longest_wait(one(), [], 1) == 0.0


def test_the_wait_grows_in_proportion_to_the_tables_and_shrinks_with_the_tracks() -> None:
    few, many = longest_wait(one(), [one()] * 199, 2), longest_wait(one(), [one()] * 399, 2)
    assert 1.5 * few < many < 2.5 * few
    assert longest_wait(one(), [one()] * 399, 4) < 0.7 * many


def test_the_wait_grows_with_the_priority_of_the_others_and_ends_all_the_same() -> None:
    found = [longest_wait(one(), [one(priority=priority)] * 10, 1) for priority in (1.0, 100.0, 1e6)]
    assert found == sorted(found)
    assert found[-1] < math.inf


def test_nothing_is_promised_beside_updates_that_cost_nothing() -> None:
    assert longest_wait(one(), [one(least_cost=0.0)], 1) == math.inf
