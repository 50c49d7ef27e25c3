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
from freshtide.scheduling import TARGET_LAGS, Onlooker, Policy, Prospect, ScheduledTable, Scheduler

HORIZON = 400.0
UNCUT = replace(TARGET_LAGS, chopping=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    tables: tuple[ScheduledTable, ...]
    tracks: int
    policy: Policy
    variability: float
    rng: random.Random


def setting(seed: int, policy: Policy = UNCUT) -> Setting:
    """Tables of all kinds that together ask for up to ten times what the tracks can do; more where data has a cost."""
    rng = random.Random(seed)
    slopes = (0.0,) if policy is UNCUT else (0.0, 0.02, 0.2)
    variability = rng.choice((0.0, 0.3))
    tables = []
    for number in range(rng.randint(2, 40)):
        tables.append(
            ScheduledTable(
                name=f"t{number}",
                priority=rng.choice((0.1, 1.0, 1.0, 10.0)),
                period=rng.choice((0.5, 1.0, 5.0)),
                target=rng.choice((None, 1.0, 10.0, 100.0)),
                cost=GivenCost(rng.choice((0.02, 0.1, 1.0)), rng.choice(slopes), variability),
                freshness=rng.choice((0.0, -1e6)) if policy is UNCUT else 0.0,
                safe=0.0,
            )
        )
    return Setting(tables=tuple(tables), tracks=rng.randint(1, 3), policy=policy, variability=variability, rng=rng)


def contender(table: ScheduledTable, prospect: Prospect) -> Contender:
    """Of a table whose files are up to two periods apart, and as many at once as the scheduler lets it take."""
    stride = 0.0 if prospect.stride is None else prospect.stride
    piece = max(stride, 2.0 * (table.period or 0.0))
    is_cut = table.cost.coefficients[1] > 0.0
    return Contender(
        priority=table.priority,
        target=3.0 * (table.period or 0.0) if table.target is None else table.target,
        least_cost=table.cost.coefficients[0],
        most_cost=table.cost.expected(piece),
        execution=table.cost.longest(piece),
        owed=prospect.owed if is_cut else 0.0,
        piece=stride if is_cut else math.inf,
    )


def waits(found: Setting) -> dict[str, float]:
    """How long each table has waited at most, by the clock: from the moment at which it could have been updated."""
    scheduler = Scheduler(found.tables, tracks=found.tracks, policy=found.policy, uniform=found.rng.random)
    costs = {table.name: table.cost for table in found.tables}
    reached = {table.name: table.freshness or 0.0 for table in found.tables}
    took: dict[str, float] = {}
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
            event = UpdateFinished(name, update.track, update.upto, update.upto, took[name])
            reached[name] = update.upto
            running.discard(name)
            if arrived[name] > update.upto:
                could_since[name] = now
        number += 1
        for command in scheduler.handle([event], now):
            assert isinstance(command, StartUpdate)
            began = command.table
            longest[began] = max(longest[began], now - could_since.pop(began))
            running.add(began)
            seconds = costs[began].expected(command.upto - reached[began])
            seconds *= found.rng.uniform(1.0 - found.variability, 1.0 + found.variability)
            took[began] = seconds
            heapq.heappush(ahead, (now + seconds, number, began, command))
            number += 1
    for name, since in could_since.items():
        longest[name] = max(longest[name], HORIZON - since)
    return longest


def bounds(found: Setting) -> dict[str, float]:
    looked_at = Onlooker(found.tables, tracks=found.tracks, policy=found.policy, uniform=lambda: 0.0)
    contenders = {table.name: contender(table, looked_at.prospect(table.name)) for table in found.tables}
    return {
        name: longest_wait(
            table, [other for other_name, other in contenders.items() if other_name != name], found.tracks
        )
        for name, table in contenders.items()
    }


def check(seeds: Sequence[int], policy: Policy = UNCUT) -> None:
    for seed in seeds:
        found = setting(seed, policy)
        promised = bounds(found)
        for name, waited in waits(found).items():
            assert waited <= promised[name] + 1e-6, f"seed {seed}: '{name}' has waited for {waited:.3f}s"


def test_nobody_waits_longer_than_is_promised() -> None:
    check(range(8))


def test_nobody_waits_longer_than_is_promised_where_updates_are_cut() -> None:
    check(range(6), TARGET_LAGS)


@pytest.mark.slow
def test_nobody_waits_longer_than_is_promised_in_many_worlds() -> None:
    check(range(8, 400))


@pytest.mark.slow
def test_nobody_waits_longer_than_is_promised_in_many_worlds_where_updates_are_cut() -> None:
    check(range(6, 150), TARGET_LAGS)


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
