"""Virtual time: arrivals, and a heap of what is running, drive the scheduler that the warehouse runs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Final

from freshtide.core.commands import StartUpdate, WakeAt
from freshtide.core.costs import GivenCost
from freshtide.core.events import DataArrived, Event, TimerFired, UpdateFinished
from freshtide.scheduling import GlobalAllocation, Policy, ScheduledTable, Scheduler
from freshtide.simulation.results import Result
from freshtide.simulation.staleness import StalenessRecord
from freshtide.simulation.timeline import timeline
from freshtide.simulation.workload import SimulatedTable, Workload

# So many updates of a table are written down before they are put away.
_WRITTEN: Final = 100


@dataclass(slots=True)
class CompletedUpdate:
    """One line of a trace."""

    table: str
    track: int
    start: float
    end: float
    before: float
    upto: float


@dataclass(slots=True)
class _Running:
    """A table in the simulated world: how fresh it really is, and what its next update takes."""

    alpha: float
    beta: float
    draw: Callable[[], float]
    lateness: float
    record: StalenessRecord
    moments: list[float]
    freshnesses: list[float]
    """The last ones of the record."""
    arrival: DataArrived
    """Of the last file that was told alone. The scheduler keeps no events: it is written anew for the next one."""
    ending: UpdateFinished
    """Of the running update, and then of the next."""
    freshness: float = 0.0
    started_at: float = 0.0
    upto: float = 0.0

    def completed(self, now: float) -> CompletedUpdate:
        ending = self.ending
        return CompletedUpdate(ending.table, ending.track, self.started_at, now, self.freshness, self.upto)


class Simulation:
    """One run of a workload under a policy."""

    def __init__(self, workload: Workload, policy: Policy, *, tracks: int, checking: bool = False) -> None:
        """`checking` has the scheduler assert what always holds after each call, which takes many times as long."""
        self._workload = workload
        self._tracks = tracks
        self._checking = checking
        # What arrives while every track is busy can change nothing yet, except the mode of a table.
        self._deaf_when_busy = policy.adaptive is None
        self._tables = {table.name: _running(table, workload.seed) for table in workload.tables}
        self.scheduler = Scheduler(
            [_scheduled(table, workload) for table in workload.tables],
            tracks=tracks,
            policy=policy,
            uniform=random.Random(f"{workload.seed}/{policy.seed}").random,
            reach=workload.reach,
            explaining=False,
        )

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
        spread = 2.0 * self._workload.variability
        lowest = 1.0 - self._workload.variability
        factor, steady_until = 1.0, math.inf if slowdown is None else -math.inf
        arrivals = timeline(
            [(table, tables[table.name]) for table in self._workload.tables],
            seed=self._workload.seed,
            horizon=horizon,
        )
        comes_at, timestamp, comer = next(arrivals)
        # Ends of updates and, without a table, moments at which the scheduler wants to be woken. One never comes, so
        # that there is always a next.
        ahead: list[tuple[float, int, _Running | None]] = [(math.inf, 0, None)]
        ends_at = math.inf
        sequence = 0
        busy = [0.0] * self._tracks
        # A limit that is never reached: comparing with infinity takes longer.
        handled, limit = 0, -1 if math.isinf(events) else max(0, math.ceil(events))
        now = 0.0
        happened: list[Event] = []
        running, full = 0, self._tracks if self._deaf_when_busy else -1
        while handled != limit:
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
                now, _, table = pop(ahead)
                ends_at = ahead[0][0]
                if table is None:
                    happened.append(TimerFired())
                else:
                    handled += 1
                    running -= 1
                    if on_update is not None:
                        on_update(table.completed(now))
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
                    seconds = (table.alpha + table.beta * gained) * (lowest + spread * table.draw()) * factor
                    busy[track] += seconds
                    ending = table.ending
                    ending.track, ending.seconds = track, seconds
                    ending.freshness, ending.safe = upto, upto - table.lateness
                    table.started_at, table.upto = now, upto
                    running += 1
                    push(ahead, (now + seconds, sequence, table))
                else:
                    assert type(command) is WakeAt, "without failures there is nothing else to do"
                    push(ahead, (command.time, sequence, None))
                ends_at = ahead[0][0]
            if checking:
                scheduler.check()
            happened.clear()
        end = now if math.isinf(horizon) else horizon
        for moment, _, table in ahead:
            # What is still running has kept its track busy up to the end only.
            if table is not None:
                busy[table.ending.track] -= moment - end
        return Result(
            staleness={name: table.record.closed(end) for name, table in tables.items()},
            tables=self._workload.tables,
            utilisation=tuple(seconds / end if end else 0.0 for seconds in busy),
            end=end,
            events=handled,
            seed=self._workload.seed,
        )


def without_contention(workload: Workload, policy: Policy) -> Simulation:
    """The same run with every update starting when it is released: a track for every table."""
    return Simulation(workload, replace(policy, allocation=GlobalAllocation()), tracks=len(workload.tables))


def _running(table: SimulatedTable, seed: int) -> _Running:
    # Each table draws from its own numbers: its n-th update takes as long under any policy.
    record = StalenessRecord()
    late = table.stream.late if table.stream is not None else None
    return _Running(
        alpha=table.alpha,
        beta=table.beta,
        draw=random.Random(f"{seed}/{table.name}").random,
        lateness=0.0 if late is None else late.by,
        record=record,
        moments=record.moments,
        freshnesses=record.freshnesses,
        arrival=DataArrived(table.name, 0.0),
        ending=UpdateFinished(table.name, -1, 0.0, 0.0, 0.0),
    )


def _scheduled(table: SimulatedTable, workload: Workload) -> ScheduledTable:
    alpha, beta = workload.planned_costs.get(table.name, (table.alpha, table.beta))
    stream = table.stream
    expected_at = None
    phase = jitter = held_back = 0.0
    if stream is not None:
        expected_at = stream.phase if stream.phase > 0 and stream.arrivals is None else stream.period
        held_back = stream.late.by if stream.late is not None else 0.0
        jitter = stream.jitter + held_back
        phase = expected_at + jitter
    return ScheduledTable(
        name=table.name,
        sources=table.sources,
        priority=table.priority,
        period=workload.periods[table.name],
        cost=GivenCost(alpha, beta, workload.variability),
        freshness=0.0,
        safe=0.0,
        # A file is stamped when it is due and comes within the jitter after that.
        phase=phase,
        arrival_jitter=jitter,
        timestamp_jitter=jitter,
        held_back=held_back,
        expected_at=expected_at,
    )
