"""The scheduler under everything that can happen to it, in any order, against a plain account of the same events.

The account knows what has arrived, what runs and how fresh each table is; from that alone it tells which tables
could be updated. It shares nothing with the scheduler.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from freshtide.core.commands import Command, GiveUp, StartUpdate, WakeAt
from freshtide.core.costs import Cost, CostModel, GivenCost
from freshtide.core.events import (
    DataArrived,
    Event,
    RebuildRequested,
    TablePaused,
    TableResumed,
    TimerFired,
    UpdateFailed,
    UpdateFinished,
)
from freshtide.scheduling import (
    ORDERINGS,
    SLACK,
    EdfPartitioned,
    GlobalAllocation,
    GroupAndRun,
    MaxInheritance,
    MaxPlusInheritance,
    NoInheritance,
    Policy,
    Proportional,
    RetryPolicy,
    ScheduledTable,
    Scheduler,
    SumInheritance,
)
from tests.examples import examples

POLICIES = st.builds(
    Policy,
    ordering=st.sampled_from(sorted(ORDERINGS)),
    allocation=st.one_of(
        st.just(GlobalAllocation()),
        st.just(GroupAndRun()),
        st.builds(EdfPartitioned, aggressive=st.booleans()),
        st.builds(
            Proportional,
            aggressive=st.booleans(),
            tracks=st.sampled_from(["all", "basic"]),
            k=st.sampled_from([0.01, 1.0, 10.0]),
            measure=st.sampled_from(["execution", "period"]),
        ),
    ),
    inheritance=st.sampled_from([NoInheritance(), SumInheritance(), MaxInheritance(), MaxPlusInheritance(k=2.0)]),
    chopping=st.sampled_from([None, 1.0, 3.0, SLACK]),
)
COSTS: st.SearchStrategy[Callable[[float, float], Cost]] = st.sampled_from([CostModel.given, GivenCost])


@dataclass(slots=True)
class Account:
    """What there is to know about one table from outside."""

    sources: tuple[str, ...]
    lateness: float
    stride: float
    """How much freshness one update may gain."""
    by_slack: bool
    """Whether that follows from the targets of the others instead: it may be anything from a period on."""
    freshness: float | None = None
    safe: float | None = None
    waiting: list[float] = field(default_factory=list)
    """Arrivals that no update which ended well has taken."""
    taken: list[float] = field(default_factory=list)
    update: StartUpdate | None = None
    retry_at: float | None = None
    paused: bool = False
    given_up: bool = False
    rebuild: bool = False
    revision: bool = False
    running_revision: bool = False
    last_upto: float | None = None
    caught_up: bool = False
    """Whether there was a moment with nothing left to load: until then a first backlog is not chopped."""


@dataclass(frozen=True, slots=True)
class Setting:
    tables: tuple[ScheduledTable, ...]
    tracks: int
    policy: Policy
    attempts: int

    def scheduler(self, *, explaining: bool = True) -> Scheduler:
        return Scheduler(
            self.tables,
            tracks=self.tracks,
            policy=self.policy,
            uniform=random.Random(7).random,
            retry=RetryPolicy(attempts=self.attempts, backoff=2.0),
            explaining=explaining,
        )


@st.composite
def graphs(draw: st.DrawFn) -> tuple[ScheduledTable, ...]:
    """Up to three base tables, some of them loaded before, and five views on anything before them."""
    names: list[str] = []
    tables = []
    bases = draw(st.integers(1, 3))
    for number in range(bases + draw(st.integers(0, 5))):
        is_base = number < bases
        name = f"b{number}" if is_base else f"v{number}"
        sources = () if is_base else tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)))
        tables.append(
            ScheduledTable(
                name=name,
                sources=sources,
                priority=draw(st.sampled_from([0.5, 1.0, 10.0])),
                period=draw(st.sampled_from([1.0, 60.0])),
                cost=draw(COSTS)(draw(st.sampled_from([0.0, 1.0])), draw(st.sampled_from([0.0, 0.5]))),
                freshness=0.0 if is_base and draw(st.booleans()) else None,
            )
        )
        names.append(name)
    return tuple(tables)


class SchedulerMachine(RuleBasedStateMachine):
    """Drives a scheduler as a runtime would, with updates that end well or badly at random."""

    @initialize(
        tables=graphs(),
        tracks=st.integers(1, 3),
        policy=POLICIES,
        attempts=st.integers(1, 3),
        late=st.sampled_from([0.0, 4.0]),
    )
    def begin(
        self, tables: tuple[ScheduledTable, ...], tracks: int, policy: Policy, attempts: int, late: float
    ) -> None:
        self.setting = Setting(tables, tracks, policy, attempts)
        self.scheduler = self.setting.scheduler()
        self.accounts = {
            t.name: Account(
                sources=t.sources,
                lateness=0.0 if t.sources else late,
                stride=policy.chopping * (t.period or 0.0) if isinstance(policy.chopping, float) else float("inf"),
                by_slack=policy.chopping == SLACK,
                freshness=t.freshness,
                caught_up=t.freshness is not None or policy.chopping == SLACK,
            )
            for t in tables
        }
        self.newest = {t.name: t.freshness for t in tables if t.freshness is not None}
        self.now = 0.0
        self.timers: list[float] = []
        self.history: list[tuple[list[Event], float, list[Command]]] = []

    # What can happen

    @rule(data=st.data(), several=st.integers(1, 3))
    def data_arrives(self, data: st.DataObject, several: int) -> None:
        bases = [name for name, account in self.accounts.items() if not account.sources]
        events: list[Event] = []
        for _ in range(several):
            name = data.draw(st.sampled_from(bases))
            stamp = float(data.draw(st.integers(0, 100)))
            self.accounts[name].waiting.append(stamp)
            self.newest[name] = max(stamp, self.newest.get(name, stamp))
            events.append(DataArrived(table=name, timestamp=stamp))
        self._happens(events)

    @precondition(lambda self: self._running())
    @rule(data=st.data(), revised=st.booleans())
    def an_update_finishes(self, data: st.DataObject, revised: bool) -> None:
        self._finish(data.draw(st.sampled_from(self._running())), revised=revised)

    @precondition(lambda self: self._running())
    @rule(data=st.data())
    def an_update_fails(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self._running()))
        account = self.accounts[name]
        assert account.update is not None
        track = account.update.track
        account.rebuild |= account.update.rebuild
        account.revision |= account.running_revision
        account.update = None
        account.taken = []
        # The account learns from the commands whether it is tried again; until then it must not start.
        account.retry_at = float("inf")
        self._happens([UpdateFailed(table=name, track=track, reason="no luck")], failed=name)

    @rule(data=st.data())
    def a_table_is_paused(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.accounts)))
        self.accounts[name].paused = True
        self.accounts[name].given_up = False
        self._happens([TablePaused(table=name)])

    @rule(data=st.data())
    def a_table_is_resumed(self, data: st.DataObject) -> None:
        self._resume(data.draw(st.sampled_from(sorted(self.accounts))))

    @rule(data=st.data())
    def a_rebuild_is_asked_for(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.accounts)))
        self.accounts[name].rebuild = True
        self._happens([RebuildRequested(table=name)])

    @rule(seconds=st.sampled_from([0.5, 2.0, 10.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self._fire_timers(sum(1 for time in self.timers if time <= self.now))

    @rule(seconds=st.sampled_from([0.5, 10.0, 1_000.0]))
    def the_clock_is_set_back(self, seconds: float) -> None:
        self.now -= seconds

    @precondition(lambda self: self.timers)
    @rule()
    def a_timer_is_early(self) -> None:
        self._fire_timers(1)

    # What must hold after each of them

    @invariant()
    def no_two_updates_share_a_track_and_none_is_on_a_track_that_is_not_there(self) -> None:
        tracks = [account.update.track for account in self.accounts.values() if account.update is not None]
        assert len(tracks) == len(set(tracks))
        assert all(0 <= track < self.setting.tracks for track in tracks)

    @invariant()
    def no_track_is_idle_while_a_table_could_be_updated_on_it(self) -> None:
        busy = {account.update.track for account in self.accounts.values() if account.update is not None}
        idle = sum(1 << track for track in range(self.setting.tracks) if track not in busy)
        partition = self.scheduler.partition
        for name in self.accounts:
            if self._could_run(name):
                lane = partition.lanes[partition.lane_of[name]]
                assert not idle & (lane.home | lane.free), f"{name} has a home track or a free one to run on"
                assert not (partition.aggressive and idle & lane.promotable), f"{name} could be promoted"

    @invariant()
    def the_scheduler_says_it_is_idle_exactly_when_nothing_runs_and_nothing_could(self) -> None:
        could = any(self._could_run(name) for name in self.accounts)
        assert self.scheduler.idle == (not self._running() and not could)

    @invariant()
    def who_is_to_be_tried_again_will_be_woken(self) -> None:
        for account in self.accounts.values():
            assert account.retry_at is None or account.retry_at in self.timers

    def teardown(self) -> None:
        if not hasattr(self, "setting"):
            return
        self._come_to_rest()
        self._check_that_nothing_was_lost()
        self._check_that_a_replay_decides_the_same()

    # How the account is kept

    def _running(self) -> list[str]:
        return [name for name, account in self.accounts.items() if account.update is not None]

    def _edge(self, account: Account) -> float | None:
        safes = [self.accounts[source].safe for source in account.sources]
        known = [safe for safe in safes if safe is not None]
        return min(known) if known and len(known) == len(safes) else None

    def _could_run(self, name: str) -> bool:
        account = self.accounts[name]
        if account.update is not None or account.paused or account.given_up or account.retry_at is not None:
            return False
        if (account.rebuild or account.revision) and account.freshness is not None:
            return True
        if not account.sources:
            return bool(account.waiting)
        edge = self._edge(account)
        return edge is not None and (account.freshness is None or edge > account.freshness)

    def _happens(self, events: list[Event], failed: str | None = None) -> None:
        commands = self.scheduler.handle(events, self.now)
        self.scheduler.check()
        self.history.append((events, self.now, commands))
        for command in commands:
            match command:
                case StartUpdate():
                    self._start(command)
                case WakeAt(time=time):
                    assert time > self.now
                    self.timers = sorted([*self.timers, time])
                    if failed is not None:
                        self.accounts[failed].retry_at = time
                case GiveUp(table=table, reason=reason):
                    assert (table, reason) == (failed, "no luck")
                    self.accounts[table].retry_at = None
                    self.accounts[table].given_up = True

    def _start(self, command: StartUpdate) -> None:
        account = self.accounts[command.table]
        assert self._could_run(command.table), "an update of a table that is running, paused, failed or has nothing new"
        assert command.rebuild == account.rebuild
        account.update = command
        account.rebuild = False
        account.running_revision, account.revision = account.revision, False
        if not command.rebuild:
            self._check_the_goal(account, command)
            account.taken = [stamp for stamp in account.waiting if stamp <= command.upto]
        elif account.freshness is not None and not account.sources:
            assert command.upto == account.freshness

    def _check_the_goal(self, account: Account, command: StartUpdate) -> None:
        if not account.sources:
            goals = sorted(account.waiting)
            if not account.by_slack:
                goals = [self._chopped(account, goals)]
            assert command.upto in goals, "an update takes what is pending"
            return
        edge = self._edge(account)
        if account.freshness is None or not account.caught_up:
            assert command.upto == (account.freshness if edge is None else max(edge, account.freshness or edge))
        elif edge is not None and edge > account.freshness:
            assert account.freshness < command.upto <= edge, "as far as is safe, and no further"
            is_far = account.by_slack or edge > account.freshness + account.stride
            assert command.upto == edge or is_far, "chopped without need"
        else:
            assert command.upto == account.freshness, "a revision goes nowhere new"
        assert account.last_upto is None or command.upto >= account.last_upto, "updates are chronological"
        account.last_upto = command.upto

    def _chopped(self, account: Account, waiting: list[float]) -> float:
        """The largest within the stride, and at least the first."""
        if account.freshness is None or not account.caught_up:
            return waiting[-1]
        return waiting[max(1, bisect_right(waiting, account.freshness + account.stride)) - 1]

    def _finish(self, name: str, *, revised: bool) -> None:
        account = self.accounts[name]
        update = account.update
        assert update is not None
        if account.sources:
            account.freshness = account.safe = update.upto
            account.caught_up |= account.freshness == self._edge(account)
        else:
            for stamp in account.taken:
                account.waiting.remove(stamp)
            if account.taken:
                account.freshness = max(
                    account.taken if account.freshness is None else [*account.taken, account.freshness]
                )
                account.safe = account.freshness - account.lateness
            account.caught_up |= not account.waiting
        account.taken = []
        account.update = None
        for dependent in self.accounts.values():
            if name in dependent.sources:
                dependent.revision |= revised
        finished = UpdateFinished(
            table=name,
            track=update.track,
            freshness=account.freshness,
            safe=account.safe,
            seconds=1.0,
            revised=revised,
        )
        self._happens([finished])

    def _resume(self, name: str) -> None:
        account = self.accounts[name]
        account.paused = account.given_up = False
        account.retry_at = None
        self._happens([TableResumed(table=name)])

    def _fire_timers(self, count: int) -> None:
        """The next so many, whether or not their time has come."""
        fired, others = self.timers[:count], self.timers[count:]
        for account in self.accounts.values():
            if account.retry_at is not None and account.retry_at <= self.now:
                account.retry_at = None
        self.timers = others
        self._happens([TimerFired() for _ in fired])
        early = [time for time in fired if time > self.now]
        assert self.timers == sorted([*others, *early]), "what is early is asked for again, and nothing else"

    # How it ends

    def _come_to_rest(self) -> None:
        for name in self.accounts:
            self._resume(name)
        for _ in range(100 * (len(self.history) + len(self.accounts))):
            running = self._running()
            if not running:
                return
            self._finish(running[0], revised=False)
        raise AssertionError("the scheduler goes on for ever")

    def _check_that_nothing_was_lost(self) -> None:
        for name, account in self.accounts.items():
            assert account.waiting == [], f"{name} has not loaded all that arrived"
            if not account.sources:
                assert account.freshness == self.newest.get(name)
            else:
                assert account.freshness == self._edge(account)
            # What was never updated has nothing to revise: its first update sees the sources as they are by then.
            assert account.freshness is None or not account.revision
            assert not account.rebuild or account.freshness is None
            assert self.scheduler.look(name).freshness == account.freshness
        assert self.scheduler.idle
        assert not self.scheduler.retrying

    def _check_that_a_replay_decides_the_same(self) -> None:
        again, tersely = self.setting.scheduler(), self.setting.scheduler(explaining=False)
        for events, now, commands in self.history:
            assert again.handle(events, now) == commands
            assert tersely.handle(events, now) == commands, "with or without reasons"
            tersely.check()


TestScheduler = SchedulerMachine.TestCase
TestScheduler.settings = settings(max_examples=examples(200), stateful_step_count=40)
