"""Virtual time: a heap of events drives the scheduler that the warehouse runs."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from freshtide.core.commands import StartUpdate
from freshtide.core.costs import GivenCost
from freshtide.core.events import DataArrived, Event, UpdateFinished
from freshtide.scheduling import GlobalAllocation, Policy, ScheduledTable, Scheduler
from freshtide.simulation.results import Result
from freshtide.simulation.staleness import StalenessRecord
from freshtide.simulation.streams import Arrival, arrivals
from freshtide.simulation.workload import SimulatedTable, Workload


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
    files: Iterator[Arrival] | None
    started_at: float = 0.0
    upto: float = 0.0


class Simulation:
    """One run of a workload under a policy."""

    def __init__(self, workload: Workload, policy: Policy, *, tracks: int) -> None:
        self._workload = workload
        self._tracks = tracks
        self._tables = {table.name: _running(table, workload.seed) for table in workload.tables}
        self.scheduler = Scheduler(
            [_scheduled(table, workload) for table in workload.tables],
            tracks=tracks,
            policy=policy,
            uniform=random.Random(f"{workload.seed}/{policy.seed}").random,
            explaining=False,
        )

    def run(  # noqa: PLR0912 - one loop, taken apart it is half as fast
        self,
        *,
        horizon: float = math.inf,
        events: float = math.inf,
        on_update: Callable[[CompletedUpdate], None] | None = None,
    ) -> Result:
        """Until the horizon, or until so many arrivals and completions have been handled."""
        tables, handle, slowdown = self._tables, self.scheduler.handle, self._workload.slowdown
        spread = 2.0 * self._workload.variability
        lowest = 1.0 - self._workload.variability
        sequence = itertools.count()
        heap: list[tuple[float, int, _Running, Event]] = []
        for table in tables.values():
            if table.files is not None:
                _push_next(heap, table, sequence)
        busy = [0.0] * self._tracks
        handled, now = 0, 0.0
        while heap and handled < events and heap[0][0] <= horizon:
            now, _, table, event = heappop(heap)
            happened = [event]
            while True:
                handled += 1
                if type(event) is UpdateFinished:
                    record = table.record
                    if on_update is not None:
                        upto = event.freshness or 0.0
                        on_update(
                            CompletedUpdate(table.name, event.track, table.started_at, now, record.freshness, upto)
                        )
                    record.refreshed(now, table.upto)
                else:
                    _push_next(heap, table, sequence)
                if not heap or heap[0][0] != now:
                    break
                _, _, table, event = heappop(heap)
                happened.append(event)
            for command in handle(happened, now):
                if type(command) is not StartUpdate:
                    continue
                table = tables[command.table]
                upto, freshness = command.upto, table.record.freshness
                upto = max(upto, freshness)
                seconds = (table.alpha + table.beta * (upto - freshness)) * (lowest + spread * table.draw())
                if slowdown is not None:
                    seconds *= slowdown.factor_at(now)
                busy[command.track] += seconds
                table.started_at, table.upto = now, upto
                finished = UpdateFinished(command.table, command.track, upto, upto - table.lateness, seconds)
                heappush(heap, (now + seconds, next(sequence), table, finished))
        end = now if math.isinf(horizon) else horizon
        for finish, _, _, event in heap:
            # What is still running has kept its track busy up to the end only.
            if type(event) is UpdateFinished:
                busy[event.track] -= finish - end
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


def _push_next(heap: list[tuple[float, int, _Running, Event]], table: _Running, sequence: Iterator[int]) -> None:
    assert table.files is not None
    arrival = next(table.files, None)
    if arrival is not None:
        heappush(heap, (arrival[0], next(sequence), table, DataArrived(table.name, arrival[1])))


def _running(table: SimulatedTable, seed: int) -> _Running:
    # Each table draws from its own numbers: its n-th update takes as long under any policy.
    name = f"{seed}/{table.name}"
    late = table.stream.late if table.stream is not None else None
    return _Running(
        name=table.name,
        alpha=table.alpha,
        beta=table.beta,
        draw=random.Random(name).random,
        lateness=0.0 if late is None else late.by,
        record=StalenessRecord(),
        files=None if table.stream is None else arrivals(table.stream, random.Random(f"{name}/arrivals")),
    )


def _scheduled(table: SimulatedTable, workload: Workload) -> ScheduledTable:
    alpha, beta = workload.planned_costs.get(table.name, (table.alpha, table.beta))
    stream = table.stream
    expected_at = None
    if stream is not None:
        expected_at = stream.phase if stream.phase > 0 and stream.arrivals is None else stream.period
    return ScheduledTable(
        name=table.name,
        sources=table.sources,
        priority=table.priority,
        period=workload.periods[table.name],
        cost=GivenCost(alpha, beta),
        freshness=0.0,
        safe=0.0,
        expected_at=expected_at,
    )
