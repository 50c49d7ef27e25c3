"""Virtual time: a heap of events drives the scheduler that the warehouse runs."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush, heapreplace

from freshtide.core.commands import StartUpdate, WakeAt
from freshtide.core.costs import GivenCost
from freshtide.core.events import DataArrived, Event, TimerFired, UpdateFinished
from freshtide.scheduling import GlobalAllocation, Policy, ScheduledTable, Scheduler
from freshtide.simulation.results import Result
from freshtide.simulation.staleness import StalenessRecord
from freshtide.simulation.streams import Arrival, files_of
from freshtide.simulation.workload import SimulatedTable, Workload

# In the heap, where the end of an update has the number of its track.
_ARRIVAL = -1
_TIMER = -2


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

    name: str
    alpha: float
    beta: float
    draw: Callable[[], float]
    lateness: float
    record: StalenessRecord
    note_moment: Callable[[float], None]
    note_freshness: Callable[[float], None]
    files: Iterator[Arrival]
    next_timestamp: float = 0.0
    """Of the file that comes next."""
    freshness: float = 0.0
    started_at: float = 0.0
    seconds: float = 0.0
    upto: float = 0.0

    def completed(self, track: int, now: float) -> CompletedUpdate:
        return CompletedUpdate(self.name, track, self.started_at, now, self.freshness, self.upto)


class Simulation:
    """One run of a workload under a policy."""

    def __init__(self, workload: Workload, policy: Policy, *, tracks: int) -> None:
        self._workload = workload
        self._tracks = tracks
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
        tables, tracks, slowdown = self._tables, self._tracks, self._workload.slowdown
        handle = self.scheduler.handle
        spread = 2.0 * self._workload.variability
        lowest = 1.0 - self._workload.variability
        heap: list[tuple[float, int, _Running, int]] = []
        for table in tables.values():
            for moment, timestamp in itertools.islice(table.files, 1):
                table.next_timestamp = timestamp
                heappush(heap, (moment, len(heap), table, _ARRIVAL))
        sequence = len(heap)
        busy = [0.0] * self._tracks
        handled, now = 0, 0.0
        happened: list[Event] = []
        running, full = 0, tracks if self._deaf_when_busy else -1
        while heap and handled < events:
            now, _, table, track = heap[0]
            if now > horizon:
                break
            if track == _TIMER:
                heappop(heap)
                happened.append(TimerFired())
            elif track == _ARRIVAL:
                handled += 1
                happened.append(DataArrived(table.name, table.next_timestamp, now))
                arrival = next(table.files, None)
                if arrival is None:
                    heappop(heap)
                else:
                    moment, table.next_timestamp = arrival
                    sequence += 1
                    heapreplace(heap, (moment, sequence, table, _ARRIVAL))
            else:
                handled += 1
                heappop(heap)
                running -= 1
                upto = table.upto
                if on_update is not None:
                    on_update(table.completed(track, now))
                table.freshness = upto
                table.note_moment(now)
                table.note_freshness(upto)
                happened.append(UpdateFinished(table.name, track, upto, upto - table.lateness, table.seconds))
            # All of one moment is told at once.
            if running == full or (heap and heap[0][0] == now):
                continue
            for command in handle(happened, now):
                if type(command) is WakeAt:
                    sequence += 1
                    heappush(heap, (command.time, sequence, table, _TIMER))
                    continue
                assert type(command) is StartUpdate, "without failures there is nothing else to do"
                table, track, upto = tables[command.table], command.track, command.upto
                gained = upto - table.freshness
                if gained < 0.0:
                    upto, gained = table.freshness, 0.0
                seconds = (table.alpha + table.beta * gained) * (lowest + spread * table.draw())
                if slowdown is not None:
                    seconds *= slowdown.factor_at(now)
                busy[track] += seconds
                table.started_at, table.upto, table.seconds = now, upto, seconds
                running += 1
                sequence += 1
                heappush(heap, (now + seconds, sequence, table, track))
            happened.clear()
        end = now if math.isinf(horizon) else horizon
        for finish, _, _, track in heap:
            # What is still running has kept its track busy up to the end only.
            if track >= 0:
                busy[track] -= finish - end
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
        name=table.name,
        alpha=table.alpha,
        beta=table.beta,
        draw=random.Random(f"{seed}/{table.name}").random,
        lateness=0.0 if late is None else late.by,
        record=record,
        note_moment=record.moments.append,
        note_freshness=record.freshnesses.append,
        files=files_of(table, seed),
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
