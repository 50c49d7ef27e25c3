"""Virtual time: arrivals, and a heap of what is running, drive the scheduler that the warehouse runs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from freshtide.core.commands import GiveUp, StartUpdate, WakeAt
from freshtide.core.costs import GivenCost
from freshtide.core.events import DataArrived, Event, RebuildRequested, TableResumed, TimerFired, UpdateFailed
from freshtide.scheduling import GlobalAllocation, Policy, RetryPolicy, ScheduledTable, Scheduler
from freshtide.simulation.rebuilds import Rebuilding
from freshtide.simulation.results import Result
from freshtide.simulation.tables import CompletedUpdate, RunningTable, running_table
from freshtide.simulation.timeline import timeline
from freshtide.simulation.workload import SimulatedTable, Standing, Workload, fresh_at_first

# So many updates of a table are written down before they are put away.
_WRITTEN: Final = 100


@dataclass(slots=True)
class _Stop:
    """The warehouse stands still until then."""

    until: float


_Rare = UpdateFailed | TableResumed | RebuildRequested | _Stop
_Ahead = list[tuple[float, int, RunningTable | None]]
"""What is to come, by its moment and a number: ends of updates with their table.

Without one these are moments at which the scheduler wants to be woken, or what happens rarely, by its number."""


class Simulation:
    """One run of a workload under a policy."""

    def __init__(
        self,
        workload: Workload,
        policy: Policy,
        *,
        tracks: int,
        retry: RetryPolicy | None = None,
        checking: bool = False,
    ) -> None:
        """`checking` has the scheduler assert what always holds after each call, which takes many times as long."""
        self._workload = workload
        self._policy = policy
        self._tracks = tracks
        self._retry = retry
        self._checking = checking
        # What arrives while every track is busy can change nothing yet, except the mode of a table.
        self._deaf_when_busy = policy.adaptive is None
        first = fresh_at_first(workload.tables)
        self._is_drawn = any(table.factors for table in workload.tables)
        self._tables = {
            table.name: running_table(
                table,
                workload.seed,
                first[table.name],
                variability=workload.variability if self._is_drawn else None,
            )
            for table in workload.tables
        }
        # One and the same for all schedulers of a run: a restart does not repeat what was drawn before.
        self._uniform = random.Random(f"{workload.seed}/{policy.seed}").random
        self.scheduler = self._begun([_scheduled(table, workload) for table in workload.tables])

    def run(  # noqa: PLR0912, PLR0915 - one loop, taken apart it is half as fast
        self,
        *,
        horizon: float = math.inf,
        events: float = math.inf,
        on_update: Callable[[CompletedUpdate], None] | None = None,
    ) -> Result:
        """Until the horizon, or until so many arrivals and completions have been handled."""
        tables, slowdown = self._tables, self._workload.slowdown
        scheduler, push, pop, checking = self.scheduler, heappush, heappop, self._checking
        spread, lowest = self._spread()
        factor, steady_until = 1.0, math.inf if slowdown is None else -math.inf
        arrivals = timeline(
            [(table, tables[table.name]) for table in self._workload.tables],
            seed=self._workload.seed,
            horizon=horizon,
        )
        comes_at, timestamp, comer = next(arrivals)
        happened = self._at_first()
        # Stops have numbers below all others. One moment never comes, so that there is always a next.
        stops = self._workload.stops
        rarely: dict[int, _Rare] = {-at - 1: _Stop(until) for at, (_, until) in enumerate(stops)}
        ahead: _Ahead = [(start, -at - 1, None) for at, (start, _) in enumerate(stops)]
        rebuilds = self._workload.rebuilds
        rebuilding = Rebuilding(rebuilds, self._workload.tables) if rebuilds else None
        for at, rebuild in enumerate(rebuilds):
            rarely[-at - 1] = RebuildRequested(rebuild.table)
            ahead.append((rebuild.at, -at - 1, None))
        ahead += [(math.inf, 0, None), *([(0.0, 0, None)] if happened else [])]
        heapify(ahead)
        ends_at = ahead[0][0]
        sequence = 0
        unlucky = any(table.failures is not None for table in tables.values())
        busy = [0.0] * self._tracks
        # A limit that is never reached: comparing with infinity takes longer.
        handled, limit = 0, 2**60 if math.isinf(events) else max(0, math.ceil(events))
        now = 0.0
        running, full = 0, self._tracks if self._deaf_when_busy else -1
        while handled < limit:
            if comes_at <= ends_at:
                if comer is None:
                    break
                now = comes_at
                handled += 1
                if happened:
                    # The table's own may be among them.
                    happened.append(DataArrived(comer.arrival.table, timestamp, now))
                else:
                    arrival = comer.arrival
                    arrival.timestamp, arrival.at = timestamp, now
                    happened.append(arrival)
                comes_at, timestamp, comer = next(arrivals)
                # All of one moment is told at once.
                if running == full or comes_at <= now or ends_at <= now:
                    continue
            else:
                now, number, table = pop(ahead)
                ends_at = ahead[0][0]
                if table is None:
                    rare = rarely.pop(number, None)
                    if rare is None:
                        happened.append(TimerFired())
                    elif isinstance(rare, _Stop):
                        scheduler.apply(happened, now)
                        self._note_lost(ahead, rarely, busy, now)
                        happened, running, now = self._pending(), 0, rare.until
                        self._wait_for(ahead, rarely, now)
                        while comes_at <= now and comer is not None:
                            handled += 1
                            happened.append(DataArrived(comer.arrival.table, timestamp))
                            comes_at, timestamp, comer = next(arrivals)
                        if comes_at <= now:
                            break
                        ends_at = ahead[0][0]
                        scheduler = self.scheduler = self._begun([self.scheduler.as_it_stands(name) for name in tables])
                    else:
                        happened.append(rare)
                        if type(rare) is UpdateFailed:
                            handled += 1
                            running -= 1
                            tables[rare.table].failed += 1
                else:
                    handled += 1
                    running -= 1
                    if on_update is not None:
                        on_update(table.completed(now))
                    if rebuilding is not None:
                        rebuilding.ended(table, now)
                    table.freshness = table.upto
                    moments = table.moments
                    moments.append(now)
                    table.freshnesses.append(table.upto)
                    if len(moments) == _WRITTEN:
                        table.record.put_away()
                    happened.append(table.ending)
                if ends_at <= now:
                    continue
            for command in scheduler.handle(happened, now):
                sequence += 1
                if type(command) is StartUpdate:
                    table, track, upto = tables[command.table], command.track, command.upto
                    gained = upto - table.freshness
                    if gained < 0.0:
                        upto, gained = table.freshness, 0.0
                    if slowdown is not None and now >= steady_until:
                        factor, steady_until = slowdown.factor_at(now), slowdown.steady_until(now)
                    takes = table.alpha + table.beta * gained
                    if rebuilding is not None:
                        takes += rebuilding.work(command, table)
                    seconds = takes * (lowest + spread * table.draw()) * factor
                    busy[track] += seconds
                    ending = table.ending
                    ending.track, ending.seconds = track, seconds
                    ending.freshness, ending.safe = upto, upto - table.lateness
                    table.started_at, table.upto = now, upto
                    running += 1
                    if unlucky and table.fails(now, now + seconds):
                        rarely[sequence] = UpdateFailed(command.table, track, "as the workload has it")
                        push(ahead, (now + seconds, sequence, None))
                    else:
                        push(ahead, (now + seconds, sequence, table))
                elif type(command) is WakeAt:
                    push(ahead, (command.time, sequence, None))
                else:
                    assert type(command) is GiveUp, "there are no other commands"
                    failures = tables[command.table].failures
                    if failures is not None and failures.resumed_after is not None:
                        rarely[sequence] = TableResumed(command.table)
                        push(ahead, (now + failures.resumed_after, sequence, None))
                ends_at = ahead[0][0]
            if checking:
                scheduler.check()
            happened.clear()
        end = now if math.isinf(horizon) else horizon
        # What is still running has kept its track busy up to the end only.
        self._note_lost(ahead, rarely, busy, end)
        return Result(
            staleness={name: table.record.closed(end) for name, table in tables.items()},
            tables=self._workload.tables,
            utilisation=tuple(seconds / end if end else 0.0 for seconds in busy),
            end=end,
            events=handled,
            seed=self._workload.seed,
            failures={name: table.failed for name, table in tables.items()},
            rebuilt={} if rebuilding is None else rebuilding.done,
            parts={} if rebuilding is None else rebuilding.parts,
        )

    def _begun(self, tables: list[ScheduledTable]) -> Scheduler:
        return Scheduler(
            tables,
            tracks=self._tracks,
            policy=self._policy,
            uniform=self._uniform,
            retry=self._retry,
            reach=self._workload.reach,
            explaining=False,
        )

    def _spread(self) -> tuple[float, float]:
        """What a number that was drawn for an update is multiplied with and added to, to give the update's factor."""
        variability = self._workload.variability
        return (1.0, 0.0) if self._is_drawn else (2.0 * variability, 1.0 - variability)

    def _at_first(self) -> list[Event]:
        """What a scheduler is told that begins with tables as they stand. Nothing if all are as if they were new."""
        tables = self._workload.tables
        found: list[Event] = [
            DataArrived(table.name, stamp) for table in tables for stamp in sorted(set(table.standing.pending))
        ]
        # Views can be behind without it.
        is_new = all(table.standing == Standing() for table in tables)
        return found or ([] if is_new else [TimerFired()])

    def _pending(self) -> list[Event]:
        """What a catalog remembers to have come and not been loaded."""
        return [
            DataArrived(table.name, stamp)
            for table in self._workload.tables
            if table.stream is not None
            for stamp in self.scheduler.pending(table.name)
        ]

    def _note_lost(self, ahead: _Ahead, rarely: dict[int, _Rare], busy: list[float], now: float) -> None:
        """Updates that are still running have kept their tracks busy up to now, and end no more."""
        for moment, number, table in ahead:
            rare = rarely.get(number)
            if table is not None:
                busy[table.ending.track] -= moment - now
            elif type(rare) is UpdateFailed:
                busy[rare.track] -= moment - now

    def _wait_for(self, ahead: _Ahead, rarely: dict[int, _Rare], until: float) -> None:
        """After a stop, only what does not depend on the warehouse is still to come, and not before it is back."""
        kept: _Ahead = [(math.inf, 0, None)]
        for moment, number, _ in ahead:
            rare = rarely.get(number)
            if type(rare) is UpdateFailed:
                del rarely[number]
            elif rare is not None:
                kept.append((max(moment, until), number, None))
        ahead[:] = kept
        heapify(ahead)


def without_contention(
    workload: Workload, *, chopping: float | None = 3.0, retry: RetryPolicy | None = None
) -> Simulation:
    """The same run with every update starting when it is released: a track for every table.

    Whoever compares policies compares all of them with this one: nobody waits, so that no ordering counts.
    """
    policy = Policy(ordering="max-benefit", allocation=GlobalAllocation(), chopping=chopping)
    return Simulation(workload, policy, tracks=len(workload.tables), retry=retry)


def _scheduled(table: SimulatedTable, workload: Workload) -> ScheduledTable:
    stream = table.stream
    expected_at = None
    phase = jitter = age = held_back = spread = 0.0
    if stream is not None:
        expected_at = stream.phase if stream.phase > 0 and stream.arrivals is None else stream.period
        held_back = stream.late.by if stream.late is not None else 0.0
        jitter = stream.jitter + held_back
        phase = expected_at + jitter
        # Unless it is said how old they are, files are stamped when they are due: a period each, as long as none
        # overtakes another.
        age = jitter if stream.timestamp_jitter is None else stream.timestamp_jitter + held_back
        spread = 0.0 if stream.timestamp_jitter is None and jitter <= stream.period else jitter + age
    return ScheduledTable(
        name=table.name,
        sources=table.sources,
        priority=table.priority,
        period=workload.periods[table.name],
        target=table.target_lag,
        cost=table.believed or GivenCost(table.alpha, table.beta, workload.variability),
        freshness=table.standing.freshness,
        safe=table.standing.safe,
        computes_whole=table.computes_whole,
        paused=table.standing.paused,
        failed=table.standing.failed,
        # A file is stamped when it is due and comes within the jitter after that.
        phase=phase,
        arrival_jitter=jitter,
        timestamp_jitter=age,
        stamp_spread=spread,
        held_back=held_back,
        expected_at=expected_at,
    )
