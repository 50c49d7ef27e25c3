"""Other tables, tracks and rules in the midst of a scheduler's life."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import pytest

from freshtide.core.commands import Command, StartUpdate
from freshtide.core.costs import CostModel, GivenCost
from freshtide.core.events import (
    DataArrived,
    Event,
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
    Adaptive,
    Allocation,
    EdfPartitioned,
    GlobalAllocation,
    Inheritance,
    MaxInheritance,
    NoInheritance,
    Policy,
    Proportional,
    RetryPolicy,
    ScheduledTable,
    Scheduler,
    SumInheritance,
    adaptive_policy,
)

from .bench import PLAIN, Bench, arrival, starts, table

INHERITING = replace(PLAIN, inheritance=MaxInheritance())


def reconfigure(
    bench: Bench,
    *tables: ScheduledTable,
    tracks: int = 1,
    policy: Policy = PLAIN,
    redefined: Iterable[str] = (),
) -> list[str]:
    """What is started by the decision after it."""
    bench.scheduler.reconfigure(tables, tracks=tracks, policy=policy, retry=RetryPolicy(), redefined=tuple(redefined))
    bench.scheduler.check()
    bench.happens()
    return bench.started()


def loaded(name: str, *sources: str, **changes: float | bool) -> ScheduledTable:
    return table(name, *sources, freshness=0.0, safe=0.0, **changes)


def test_a_priority_counts_from_the_next_decision_on() -> None:
    bench = Bench(loaded("runs"), loaded("dear", priority=5.0), loaded("cheap"))
    bench.arrives("runs", 1.0)
    bench.happens(arrival("dear", 1.0), arrival("cheap", 1.0))
    assert [candidate.table for candidate in bench.scheduler.best(3)] == ["dear", "cheap"]
    assert reconfigure(bench, loaded("runs"), loaded("dear"), loaded("cheap", priority=9.0)) == []
    assert bench.finishes("runs") == ["cheap"]


def test_what_stays_keeps_its_state_whatever_it_is_declared_with() -> None:
    bench = Bench(loaded("a"), loaded("b"), retry=RetryPolicy(attempts=3))
    assert bench.arrives("a", 4.0) == ["a"]
    bench.arrives("b", 7.0)
    bench.at(1.0).finishes("a")
    bench.fails("b")
    assert reconfigure(bench, table("b", priority=2.0), table("a")) == []
    assert bench.scheduler.look("a").freshness == 4.0
    assert bench.scheduler.retrying
    look = bench.scheduler.look("b")
    assert (look.freshness, look.pending, look.retry_at) == (0.0, 1, 2.0)
    assert bench.at(2.0).timer() == ["b"]


def test_a_table_that_is_gone_is_forgotten_at_once_or_when_its_update_ends() -> None:
    bench = Bench(loaded("stays"), loaded("goes"), loaded("runs"), tracks=2)
    bench.arrives("runs", 1.0)
    bench.arrives("stays", 1.0)
    bench.arrives("goes", 1.0)
    assert reconfigure(bench, loaded("stays"), tracks=2) == []
    assert bench.scheduler.leaving == ["runs"]
    assert not bench.scheduler.idle
    bench.arrives("stays", 2.0)
    # What it had still to load is of no interest.
    assert bench.finishes("runs") == []
    assert bench.scheduler.leaving == []
    assert bench.finishes("stays") == ["stays"]
    bench.finishes("stays")
    assert bench.scheduler.idle


@pytest.mark.parametrize("blameless", [False, True])
def test_the_last_update_of_a_table_that_is_gone_is_not_tried_again(blameless: bool) -> None:
    bench = Bench(loaded("stays"), loaded("goes"))
    bench.arrives("goes", 1.0)
    reconfigure(bench, loaded("stays"))
    assert bench.fails("goes", blameless=blameless) == []
    assert (bench.scheduler.leaving, bench.scheduler.retrying, bench.scheduler.idle) == ([], False, True)
    assert bench.arrives("stays", 1.0) == ["stays"]


def test_a_table_that_comes_back_before_its_update_has_ended_stays() -> None:
    bench = Bench(loaded("stays"), loaded("goes"))
    bench.arrives("goes", 1.0)
    reconfigure(bench, loaded("stays"))
    reconfigure(bench, loaded("stays"), table("goes"))
    assert bench.scheduler.leaving == []
    bench.finishes("goes")
    assert bench.scheduler.look("goes").freshness == 1.0


def test_an_added_table_and_a_view_of_it_begin_with_nothing() -> None:
    bench = Bench(loaded("old"))
    assert reconfigure(bench, loaded("old"), table("new"), table("view", "new")) == []
    assert bench.arrives("new", 5.0) == ["new"]
    assert bench.finishes("new") == ["view"]


def test_an_added_track_is_used_by_the_next_decision() -> None:
    bench = Bench(loaded("a"), loaded("b"))
    bench.arrives("a", 1.0)
    bench.arrives("b", 1.0)
    assert reconfigure(bench, loaded("a"), loaded("b"), tracks=2) == ["b"]
    assert bench.running["b"].track == 1


def test_a_track_that_is_gone_takes_nothing_after_what_runs_on_it() -> None:
    bench = Bench(loaded("a"), loaded("b"), loaded("c"), tracks=2)
    for name in ("a", "b", "c"):
        bench.arrives(name, 1.0)
    tables = (loaded("a"), loaded("b"), loaded("c"))
    assert reconfigure(bench, *tables) == []
    # b ran on track 1, which is no more.
    assert bench.finishes("b") == []
    assert bench.finishes("a") == ["c"]
    assert bench.running["c"].track == 0
    assert not bench.scheduler.idle


def test_a_track_may_come_back_before_its_update_has_ended() -> None:
    tables = (loaded("a"), loaded("b"), loaded("c"))
    bench = Bench(*tables, tracks=2)
    for name in ("a", "b", "c"):
        bench.arrives(name, 1.0)
    reconfigure(bench, *tables)
    assert reconfigure(bench, *tables, tracks=2) == []
    assert bench.finishes("b") == ["c"]


def test_a_redefined_view_is_computed_anew_and_its_dependents_wait_for_it() -> None:
    bench = Bench(loaded("base"), loaded("view", "base"), loaded("end", "view"))
    bench.arrives("base", 3.0)
    bench.finishes("base")
    bench.finishes("view")
    bench.finishes("end")
    tables = (loaded("base"), table("view", "base"), table("end", "view"))
    assert reconfigure(bench, *tables, redefined=["view", "end"]) == ["view"]
    assert (bench.scheduler.look("view").freshness, bench.scheduler.look("end").freshness) == (None, None)
    assert bench.finishes("view") == ["end"]


def test_what_an_update_brings_by_the_old_definition_does_not_count() -> None:
    bench = Bench(loaded("base"), loaded("view", "base"))
    bench.arrives("base", 3.0)
    assert bench.finishes("base") == ["view"]
    tables = (loaded("base"), table("view", "base"))
    assert reconfigure(bench, *tables, redefined=["view"]) == []
    assert bench.finishes("view") == ["view"]
    assert bench.finishes("view") == []
    assert bench.scheduler.look("view").freshness == 3.0


def test_what_was_learnt_of_costs_is_kept() -> None:
    tables = [ScheduledTable(name=name, period=1.0, freshness=0.0, safe=0.0) for name in ("a", "b")]
    bench = Bench(*tables)
    for stamp in (1.0, 2.0, 3.0):
        bench.arrives("a", stamp)
        bench.finishes("a", seconds=40.0)
    learnt = bench.scheduler.cost("a")
    assert learnt.coefficients != CostModel().coefficients
    reconfigure(bench, *tables)
    assert bench.scheduler.cost("a") == learnt


def test_while_the_surroundings_fail_nothing_is_started_by_it() -> None:
    bench = Bench(loaded("a"))
    bench.happens(SurroundingsFailed("disk"), arrival("a", 1.0))
    assert reconfigure(bench, loaded("a"), loaded("b"), tracks=2) == []
    bench.happens(SurroundingsMended())
    assert bench.started() == ["a"]


def test_a_reserved_table_keeps_its_mode_and_the_update_that_is_released() -> None:
    policy = adaptive_policy(Adaptive(threshold=2.0))
    tables = [loaded(name, period=1.0, alpha=0.1) for name in ("a", "b")]
    bench = Bench(*tables, tracks=1, policy=policy)
    bench.happens(*(arrival("a", float(stamp)) for stamp in range(1, 9)))
    before = bench.scheduler.look("a").reservation
    assert before is not None
    assert before.mode == "recovery"
    reconfigure(bench, tables[1], tables[0], loaded("c", alpha=0.1), tracks=1, policy=policy)
    after = bench.scheduler.look("a").reservation
    assert after is not None
    assert (after.mode, after.released_at, after.deadline) == (before.mode, before.released_at, before.deadline)


def test_a_paused_view_passes_nothing_on_until_it_is_back() -> None:
    tables = (
        loaded("busy"),
        loaded("plain", priority=5.0),
        loaded("source", priority=0.001),
        loaded("view", "source", priority=0.001),
        loaded("report", "view", priority=100.0),
    )
    bench = Bench(*tables, policy=INHERITING)
    bench.arrives("busy", 1.0)
    bench.happens(arrival("plain", 1.0), arrival("source", 1.0))

    def first() -> str:
        return bench.scheduler.best(1)[0].table

    assert first() == "source"
    bench.pauses("view")
    # The report cannot get fresher either: what it is worth ends with the view.
    assert first() == "plain"
    bench.resumes("view")
    assert first() == "source"
    bench.pauses("report")
    assert first() == "plain"


def test_a_view_that_is_given_up_passes_nothing_on() -> None:
    tables = (
        loaded("plain", priority=5.0),
        loaded("source", priority=0.001),
        loaded("view", "source", priority=100.0),
    )
    bench = Bench(*tables, policy=INHERITING)
    bench.arrives("source", 1.0)
    assert bench.finishes("source") == ["view"]
    bench.happens(arrival("plain", 2.0), arrival("source", 2.0))
    bench.fails("view", hopeless=True)
    assert bench.started() == ["plain"]
    bench.resumes("view")
    assert bench.finishes("plain") == ["source"]


def test_a_view_that_is_paused_from_the_start_passes_nothing_on() -> None:
    tables = (
        loaded("plain", priority=5.0),
        loaded("source", priority=0.001),
        loaded("view", "source", priority=100.0, paused=True),
    )
    bench = Bench(*tables, policy=INHERITING)
    bench.happens(arrival("plain", 1.0), arrival("source", 1.0))
    assert bench.started() == ["plain"]


@dataclass(slots=True)
class Account:
    """What the world knows of a scheduler's tables."""

    rng: random.Random
    tables: dict[str, ScheduledTable]
    now: float = 0.0
    running: dict[str, StartUpdate] = field(default_factory=dict)
    waiting: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """By base table the time stamps that no update has loaded, and when they came."""
    freshness: dict[str, float | None] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    added: int = 0
    views: bool = True

    def arrives(self) -> Event:
        base = self.rng.choice([table.name for table in self.tables.values() if not table.sources])
        stamp = max([self.freshness.get(base) or 0.0, *(stamp for stamp, _ in self.waiting.get(base, []))])
        stamp += self.rng.choice([1.0, 2.0, 5.0])
        self.waiting.setdefault(base, []).append((stamp, self.now))
        return DataArrived(base, stamp)

    def ends(self, name: str) -> Event:
        update = self.running.pop(name)
        self.freshness[name] = update.upto
        self.waiting[name] = [entry for entry in self.waiting.get(name, []) if entry[0] > update.upto]
        return UpdateFinished(name, update.track, update.upto, update.upto, self.rng.uniform(0.1, 5.0))

    def follow(self, commands: Iterable[Command]) -> None:
        self.running |= {command.table: command for command in starts(commands)}

    def happenings(self) -> list[Event]:
        self.now += self.rng.choice([0.0, 0.5, 2.0])
        events: list[Event] = []
        for _ in range(self.rng.choice([1, 2, 3])):
            if self.running and self.rng.random() < 0.5:
                events.append(self.ends(self.rng.choice(sorted(self.running))))
            elif self.rng.random() < 0.85:
                events.append(self.arrives())
            else:
                name = self.rng.choice(sorted(self.tables))
                self.paused ^= {name}
                events.append(TablePaused(name) if name in self.paused else TableResumed(name))
        return events

    def change(self) -> tuple[list[ScheduledTable], list[str]]:
        """Other tables, as somebody may have edited them, and which of them hold something else than before."""
        rng = self.rng
        before = {name: table for name, table in self.tables.items() if table.sources or rng.random() < 0.9}
        gone = set(self.tables) - set(before)
        views = {name for name, table in before.items() if table.sources and rng.random() < 0.15}
        gone |= views
        # A view goes with what it is computed from.
        for name, view in list(before.items()):
            if name in views or gone.intersection(view.sources):
                gone.add(name)
        changed: dict[str, ScheduledTable] = {}
        redefined: list[str] = []
        for name, old in self.tables.items():
            if name in gone:
                continue
            new = replace(old, priority=rng.choice([0.5, 1.0, 10.0]), period=rng.choice([1.0, 60.0, old.period]))
            earlier = [other for other in changed if other != name]
            if old.sources and rng.random() < 0.2:
                new = replace(new, sources=tuple(rng.sample(earlier, min(len(earlier), rng.randint(1, 2)))))
                redefined.append(name)
            elif set(redefined).intersection(old.sources):
                redefined.append(name)
            changed[name] = new
        if not any(not table.sources for table in changed.values()):
            return list(self.tables.values()), []
        for _ in range(rng.randint(0, 2)):
            sources = tuple(rng.sample(sorted(changed), 1)) if self.views and rng.random() < 0.5 else ()
            self.added += 1
            name = f"added{self.added}"
            changed[name] = ScheduledTable(name=name, sources=sources, period=1.0, cost=cost(rng))
        self.tables = changed
        for name in [*redefined, *gone]:
            self.freshness[name] = None
        for name in gone:
            self.waiting.pop(name, None)
        self.paused &= set(changed)
        return list(changed.values()), redefined

    def told_anew(self, scheduler: Scheduler) -> tuple[list[ScheduledTable], list[Event]]:
        """What a fresh scheduler has to be told to know the same."""
        tables = [
            replace(
                table,
                cost=scheduler.cost(name),
                freshness=self.freshness.get(name),
                safe=self.freshness.get(name),
                paused=name in self.paused,
            )
            for name, table in self.tables.items()
        ]
        arrivals: list[Event] = [
            DataArrived(name, stamp, at) for name in self.tables for stamp, at in self.waiting.get(name, [])
        ]
        return tables, arrivals


def cost(rng: random.Random) -> CostModel | GivenCost:
    kinds: list[Callable[[float, float], CostModel | GivenCost]] = [CostModel.given, GivenCost]
    return rng.choice(kinds)(rng.choice([0.5, 1.0]), rng.choice([0.0, 0.5]))


def world_of(rng: random.Random, *, views: bool) -> Account:
    tables: dict[str, ScheduledTable] = {}
    bases = rng.randint(2, 5)
    for number in range(bases + (rng.randint(1, 5) if views else 0)):
        name = f"t{number}"
        sources = rng.sample(sorted(tables), min(len(tables), rng.randint(1, 2))) if number >= bases else []
        tables[name] = ScheduledTable(
            name=name,
            sources=tuple(sources),
            priority=rng.choice([0.5, 1.0, 10.0]),
            period=rng.choice([1.0, 60.0]),
            cost=cost(rng),
            freshness=0.0,
            safe=0.0,
        )
    return Account(rng, tables, freshness=dict.fromkeys(tables, 0.0), views=views)


# A fresh scheduler learns of a view's edge when it is told of its sources: how long that has waited is not the same.
BY_TIME = {"fifo", "edf", "edf-p", "lookahead", "random", "target-lag"}
ALLOCATIONS: list[Allocation] = [GlobalAllocation(), EdfPartitioned(), Proportional(), Proportional(aggressive=True)]


def policy_of(rng: random.Random, *, views: bool) -> Policy:
    orderings = [name for name in sorted(ORDERINGS) if name not in BY_TIME or (not views and name in ("fifo", "edf"))]
    inheritances: list[Inheritance] = [NoInheritance(), MaxInheritance(), SumInheritance()]
    return Policy(
        ordering=rng.choice(orderings),
        allocation=rng.choice(ALLOCATIONS),
        inheritance=rng.choice(inheritances),
        chopping=None,
    )


@pytest.mark.parametrize("views", [False, True], ids=["base tables", "views"])
@pytest.mark.parametrize("seed", range(60))
def test_after_a_change_it_decides_like_a_fresh_scheduler_that_knows_the_same(seed: int, views: bool) -> None:
    rng = random.Random(f"{seed}/{views}")
    world, policy, tracks = world_of(rng, views=views), policy_of(rng, views=views), rng.randint(1, 4)
    retry = RetryPolicy()
    lived = Scheduler(world.tables.values(), tracks=tracks, policy=policy, uniform=lambda: 0.0, retry=retry)
    for _ in range(4):
        for _ in range(rng.randint(3, 20)):
            world.follow(lived.handle(world.happenings(), world.now))
            lived.check()
        if rng.random() < 0.5:
            # Updates may run meanwhile, of tables that go and on tracks that go.
            tables, redefined = world.change()
            tracks, policy = rng.randint(1, 4), policy_of(rng, views=views)
            lived.reconfigure(tables, tracks=tracks, policy=policy, retry=retry, redefined=redefined)
            lived.check()
            for name in redefined:
                if name in world.running:
                    world.follow(lived.handle([world.ends(name)], world.now))
                    world.freshness[name] = None
                    lived.check()
    # Now nothing runs, which is all that a fresh scheduler can be told.
    assert lived.handle([SurroundingsFailed("disk")], world.now) == []
    assert lived.handle([world.ends(name) for name in sorted(world.running)], world.now) == []
    for name in set(world.freshness) - set(world.tables):
        world.freshness[name] = None
    tables, redefined = world.change()
    tracks, policy = rng.randint(1, 4), policy_of(rng, views=views)
    lived.reconfigure(tables, tracks=tracks, policy=policy, retry=retry, redefined=redefined)
    told, arrivals = world.told_anew(lived)
    fresh = Scheduler(told, tracks=tracks, policy=policy, uniform=lambda: 0.0, retry=retry)
    assert fresh.handle([SurroundingsFailed("disk"), *arrivals], world.now) == []
    events: list[Event] = [SurroundingsMended()]
    for _ in range(40):
        commands = lived.handle(events, world.now)
        lived.check()
        assert fresh.handle(events, world.now) == commands
        world.follow(commands)
        events = world.happenings()


@pytest.mark.parametrize("adaptive", [False, True], ids=["ordered", "reserved"])
@pytest.mark.parametrize("seed", range(30))
def test_a_scheduler_stays_in_order_through_changes_whatever_happens(seed: int, adaptive: bool) -> None:
    rng = random.Random(f"{seed}/{adaptive}")
    world = world_of(rng, views=True)

    def policy() -> Policy:
        if adaptive and rng.random() < 0.8:
            return adaptive_policy(Adaptive(threshold=rng.choice([None, 2.0, 10.0])))
        chopping = rng.choice([None, 1.0, 3.0])
        allocation = rng.choice(ALLOCATIONS)
        return Policy(ordering=rng.choice(sorted(ORDERINGS)), allocation=allocation, chopping=chopping)

    retry = RetryPolicy(attempts=2)
    scheduler = Scheduler(
        world.tables.values(), tracks=2, policy=policy(), uniform=random.Random(seed).random, retry=retry
    )
    for _ in range(120):
        events = world.happenings()
        if world.running and rng.random() < 0.1:
            name = rng.choice(sorted(world.running))
            events.append(UpdateFailed(name, world.running.pop(name).track, "no luck", blameless=rng.random() < 0.3))
        events += [TimerFired()] * (rng.random() < 0.3)
        world.follow(scheduler.handle(events, world.now))
        scheduler.check()
        if rng.random() < 0.15:
            tables, redefined = world.change()
            scheduler.reconfigure(tables, tracks=rng.randint(1, 4), policy=policy(), retry=retry, redefined=redefined)
            scheduler.check()
            assert set(scheduler.leaving) == set(world.running) - set(world.tables)
            world.follow(scheduler.decide(world.now))
            scheduler.check()
    # Everybody who is gone has left when the last update has ended.
    scheduler.handle([SurroundingsFailed("disk")], world.now)
    scheduler.handle([world.ends(name) for name in sorted(world.running)], world.now)
    scheduler.check()
    assert scheduler.leaving == []
