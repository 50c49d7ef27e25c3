"""Whole lives of schedulers: everything that can happen, at random, under every kind of policy.

`test_scheduler_properties.py` knows what must be decided. Here more happens (update streams, reservations, surroundings
that fail, tables that are set back), and what is asked is that the scheduler stays in order, and that it makes no
difference whether it is asked to apply and to decide in one call or in two.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from freshtide.core.commands import Command, StartUpdate
from freshtide.core.costs import Cost, CostModel, GivenCost
from freshtide.core.events import (
    DataArrived,
    Event,
    RebuildCancelled,
    RebuildRequested,
    SurroundingsFailed,
    SurroundingsMended,
    TablePaused,
    TableResumed,
    TimerFired,
    UpdateFailed,
    UpdateFinished,
)
from freshtide.scheduling import (
    ORDERINGS,
    SLACK,
    Adaptive,
    Allocation,
    EdfPartitioned,
    GlobalAllocation,
    GroupAndRun,
    Inheritance,
    MaxInheritance,
    NoInheritance,
    Policy,
    Proportional,
    RetryPolicy,
    ScheduledTable,
    Scheduler,
    adaptive_policy,
)
from tests.examples import slow_except

LIVES, STEPS = 25, 80


def ordered(rng: random.Random) -> Policy:
    allocations: list[Allocation] = [
        GlobalAllocation(),
        GroupAndRun(),
        EdfPartitioned(aggressive=rng.random() < 0.5),
        Proportional(aggressive=rng.random() < 0.5, k=rng.choice([0.01, 1.0, 10.0])),
    ]
    inheritances: list[Inheritance] = [NoInheritance(), MaxInheritance()]
    return Policy(
        ordering=rng.choice(list(ORDERINGS)),
        allocation=rng.choice(allocations),
        inheritance=rng.choice(inheritances),
        chopping=rng.choice([None, 1.0, 3.0, SLACK]),
    )


def reserved(rng: random.Random) -> Policy:
    return adaptive_policy(Adaptive(threshold=rng.choice([None, 2.0, 10.0])))


def tables_of(rng: random.Random, *, streams: bool) -> list[ScheduledTable]:
    """Up to five base tables, and up to six views on anything before them."""
    costs: list[Callable[[float, float], Cost]] = [CostModel.given, GivenCost]
    tables: list[ScheduledTable] = []
    bases = rng.randint(1, 5)
    for number in range(bases + rng.randint(0, 6)):
        sources = rng.sample(tables, min(len(tables), rng.randint(1, 3))) if number >= bases else []
        freshness = rng.choice([None, 0.0])
        tables.append(
            ScheduledTable(
                name=f"t{number}",
                sources=tuple(source.name for source in sources),
                priority=rng.choice([0.5, 1.0, 10.0]),
                period=rng.choice([1.0, 60.0, None]),
                cost=rng.choice(costs)(rng.choice([0.0, 1.0]), rng.choice([0.0, 0.5])),
                freshness=freshness,
                safe=freshness,
                paused=rng.random() < 0.05,
                update_stream=any(s.update_stream for s in sources) or (streams and rng.random() < 0.4),
                expected_at=rng.choice([None, 2.0]),
            )
        )
    return tables


@dataclass(slots=True)
class World:
    """What goes on around a scheduler."""

    rng: random.Random
    tables: list[ScheduledTable]
    now: float = 0.0
    running: dict[str, StartUpdate] = field(default_factory=dict)
    freshness: dict[str, float | None] = field(default_factory=dict)

    def happenings(self) -> list[Event]:
        """Of one moment, in any order."""
        self.now += self.rng.choice([0.0, 0.5, 1.0, 3.0])
        return [self._happening() for _ in range(self.rng.choice([0, 1, 1, 2, 3]))]

    def follow(self, commands: list[Command]) -> None:
        self.running |= {command.table: command for command in commands if isinstance(command, StartUpdate)}

    def _happening(self) -> Event:
        rng, name = self.rng, self.rng.choice(self.tables).name
        draw = rng.random()
        if self.running and draw < 0.35:
            return self._end(rng.choice(sorted(self.running)))
        if draw < 0.8:
            base = rng.choice([table.name for table in self.tables if not table.sources])
            return DataArrived(base, max(0.0, self.now + rng.uniform(-6.0, 3.0)), rng.choice([None, self.now]))
        rare: list[Event] = [
            TablePaused(name),
            TableResumed(name),
            TableResumed(name),
            RebuildRequested(name),
            RebuildRequested(name, wished=True, before_loads=rng.random() < 0.2),
            RebuildCancelled(name),
            SurroundingsFailed("disk"),
            SurroundingsMended(),
            SurroundingsMended(),
            TimerFired(),
        ]
        return rng.choice(rare)

    def _end(self, name: str) -> Event:
        rng, update = self.rng, self.running.pop(name)
        if rng.random() < 0.2:
            blameless, hopeless = rng.random() < 0.3, rng.random() < 0.1
            return UpdateFailed(name, update.track, "no luck", blameless=blameless, hopeless=hopeless)
        set_back, before = rng.random() < 0.03, self.freshness.get(name)
        reached = update.upto if before is None else max(update.upto, before)
        reached -= 2.0 if set_back else 0.0
        self.freshness[name] = reached
        revised = set_back or update.rebuild or rng.random() < 0.1
        return UpdateFinished(
            name, update.track, reached, reached - rng.choice([0.0, 1.0]), rng.uniform(0.1, 5.0), revised
        )


@pytest.mark.parametrize("streams", [False, True], ids=["tables", "update streams"])
@pytest.mark.parametrize("policy_of", [ordered, reserved])
@pytest.mark.parametrize("seed", slow_except(range(5), 0, 1))
def test_a_scheduler_stays_in_order_whatever_happens(
    policy_of: Callable[[random.Random], Policy], streams: bool, seed: int
) -> None:
    for life in range(LIVES):
        rng = random.Random(f"{seed}/{life}")
        tables, policy, tracks = tables_of(rng, streams=streams), policy_of(rng), rng.randint(1, 4)
        at_once, in_two = (
            Scheduler(
                tables,
                tracks=tracks,
                policy=policy,
                uniform=random.Random(7).random,
                retry=RetryPolicy(attempts=3),
                explaining=explaining,
            )
            for explaining in (True, False)
        )
        world = World(rng, tables, freshness={table.name: table.freshness for table in tables})
        for _ in range(STEPS):
            events = world.happenings()
            commands = at_once.handle(events, world.now)
            at_once.check()
            applied = in_two.apply(events, world.now)
            in_two.check()
            assert [*applied, *in_two.decide(world.now)] == commands
            in_two.check()
            world.follow(commands)
