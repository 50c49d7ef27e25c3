"""The scheduler: events in, commands out."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from freshtide.core.commands import Command, Decision, GiveUp, RunnerUp, StartUpdate, WakeAt
from freshtide.core.costs import CostModel
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
from freshtide.core.staleness import trailing_edge
from freshtide.scheduling.orderings import Candidate, Ordering
from freshtide.scheduling.ready import ReadyQueue
from freshtide.scheduling.retries import RetryPolicy

_RUNNERS_UP = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledTable:
    """What the scheduler has to know of a table, and the state it starts from."""

    name: str
    sources: tuple[str, ...] = ()
    priority: float = 1.0
    period: float = 1.0
    cost: CostModel = field(default_factory=CostModel)
    freshness: float | None = None
    """None: nothing has ever been loaded."""
    safe: float | None = None
    paused: bool = False
    failed: bool = False
    revised_sources: bool = False
    """Whether sources were revised after the table's last update."""


class TableStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    FAILED = "failed"


@dataclass(slots=True)
class _State:
    """The changing part of a table. Invariant: `in_flight` is empty unless the table is running."""

    spec: ScheduledTable
    freshness: float | None
    safe: float | None
    cost: CostModel
    status: TableStatus
    pending: list[float] = field(default_factory=list)
    """Time stamps of arrived data that no update has taken yet, ascending."""
    in_flight: list[float] = field(default_factory=list)
    running_on: int | None = None
    running_rebuild: bool = False
    running_revision: bool = False
    released_at: float | None = None
    failures: int = 0
    retry_at: float | None = None
    rebuild_wanted: bool = False
    revision_wanted: bool = False
    """Whether sources have changed behind the table's back: it is to be updated even if it gets no fresher."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """A look at a table from outside, for explanations."""

    name: str
    freshness: float | None
    status: TableStatus
    track: int | None
    pending: int
    retry_at: float | None
    candidate: Candidate | None


class Scheduler:
    """Decides which table is updated next on which of N tracks.

    One queue, any free track. Per table at most one update runs, updates are chronological, none is dropped: an
    update takes everything that is pending (Golab et al. 2011, section 2.4).
    """

    def __init__(
        self,
        tables: Iterable[ScheduledTable],
        *,
        tracks: int,
        ordering: Ordering,
        retry: RetryPolicy | None = None,
        reach: Callable[[str, float], float | None] | None = None,
    ) -> None:
        self._ordering = ordering
        self._retry = retry or RetryPolicy()
        # How far an update to a cut takes a derived table: all the way, unless it waits for buckets to close.
        self._reach = reach or (lambda _table, cut: cut)
        self._states = {table.name: _initial(table) for table in tables}
        self._dependents: dict[str, list[str]] = {name: [] for name in self._states}
        for table in self._states.values():
            for source in dict.fromkeys(table.spec.sources):
                self._dependents[source].append(table.spec.name)
        self._tracks = tracks
        self._free_tracks = list(range(tracks))
        self._retrying: dict[str, None] = {}
        self._ready = ReadyQueue(ordering)
        # What could be updated from the start; the release time is set by the first call.
        self._touched = dict.fromkeys(self._states)

    def handle(self, events: Iterable[Event], now: float) -> list[Command]:
        """Apply all that happened, then decide once."""
        commands: list[Command] = []
        for event in events:
            commands.extend(self._apply(event, now))
        for name in self._touched:
            self._release(self._states[name], now)
        self._touched.clear()
        commands.extend(self._start_updates())
        return commands

    def look(self, table: str) -> TableView:
        """The state of a table, for explanations."""
        state = self._states[table]
        released = state.released_at
        return TableView(
            name=table,
            freshness=state.freshness,
            status=state.status,
            track=state.running_on,
            pending=len(state.pending),
            retry_at=state.retry_at,
            candidate=None if released is None else self._candidate(state, released),
        )

    def standing(self, count: int) -> list[Candidate]:
        """The waiting candidates, best first."""
        return self._ready.best(count)

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing could: all that waits is paused, failed or to be retried."""
        return not len(self._ready) and len(self._free_tracks) == self._tracks

    @property
    def retrying(self) -> bool:
        """Whether a failed update is still to be tried again."""
        return bool(self._retrying)

    def cost(self, table: str) -> CostModel:
        """What has been learnt of a table's execution times."""
        return self._states[table].cost

    def _apply(self, event: Event, now: float) -> list[Command]:
        match event:
            case DataArrived(table=name, timestamp=timestamp):
                bisect.insort(self._states[name].pending, timestamp)
                self._touched[name] = None
            case UpdateFinished():
                self._finish(event)
            case UpdateFailed(table=name):
                return self._fail(event, now)
            case TablePaused(table=name):
                self._set_status(name, TableStatus.PAUSED)
            case TableResumed(table=name):
                self._states[name].failures = 0
                self._stop_waiting(name)
                self._set_status(name, TableStatus.ACTIVE)
            case RebuildRequested(table=name):
                self._states[name].rebuild_wanted = True
                self._touched[name] = None
            case TimerFired():
                for name in list(self._retrying):
                    retry_at = self._states[name].retry_at
                    if retry_at is not None and retry_at <= now:
                        self._stop_waiting(name)
        return []

    def _stop_waiting(self, name: str) -> None:
        self._states[name].retry_at = None
        self._retrying.pop(name, None)
        self._touched[name] = None

    def _set_status(self, name: str, status: TableStatus) -> None:
        self._states[name].status = status
        self._touched[name] = None

    def _finish(self, event: UpdateFinished) -> None:
        state = self._states[event.table]
        gained = None
        if state.freshness is not None and event.freshness is not None:
            gained = event.freshness - state.freshness
        if gained is not None and not state.running_rebuild:
            state.cost = state.cost.observed(gained, event.seconds)
        state.freshness, state.safe = event.freshness, event.safe
        state.failures = 0
        state.in_flight.clear()
        for dependent in self._dependents[event.table]:
            # What was computed from the old rows is as wrong as they were.
            self._states[dependent].revision_wanted |= event.revised
            self._touched[dependent] = None
        self._vacate(state)

    def _fail(self, event: UpdateFailed, now: float) -> list[Command]:
        state = self._states[event.table]
        for timestamp in state.in_flight:
            bisect.insort(state.pending, timestamp)
        state.in_flight.clear()
        state.failures += 1
        state.rebuild_wanted |= state.running_rebuild
        state.revision_wanted |= state.running_revision
        self._vacate(state)
        wait = self._retry.wait_after(state.failures)
        if wait is None:
            state.status = TableStatus.FAILED
            return [GiveUp(table=event.table, reason=event.reason)]
        state.retry_at = now + wait
        self._retrying[event.table] = None
        return [WakeAt(time=state.retry_at)]

    def _vacate(self, state: _State) -> None:
        assert state.running_on is not None, f"{state.spec.name} ended an update that never started"
        heapq.heappush(self._free_tracks, state.running_on)
        state.running_on = None
        state.running_rebuild = state.running_revision = False
        self._touched[state.spec.name] = None

    def _release(self, state: _State, now: float) -> None:
        """Enter the table into the queue, or take it out, as its state has become."""
        name = state.spec.name
        can_run = state.status is TableStatus.ACTIVE and state.running_on is None and state.retry_at is None
        if not can_run or self._goal(state) is None:
            self._ready.withdraw(name)
            state.released_at = None
            return
        if state.released_at is None:
            state.released_at = now
        self._ready.put(self._candidate(state, state.released_at))

    def _goal(self, state: _State) -> float | None:
        """How far an update would go; None if there is nothing to update."""
        if state.rebuild_wanted and not state.spec.sources and state.freshness is not None:
            return state.freshness
        goal = self._new_goal(state)
        must = state.rebuild_wanted or state.revision_wanted
        return state.freshness if goal is None and must else goal

    def _new_goal(self, state: _State) -> float | None:
        if not state.spec.sources:
            return state.pending[-1] if state.pending else None
        edge = trailing_edge(self._states[source].safe for source in state.spec.sources)
        goal = None if edge is None else self._reach(state.spec.name, edge)
        if goal is None or (state.freshness is not None and goal <= state.freshness):
            return None
        return goal

    def _candidate(self, state: _State, released_at: float) -> Candidate:
        goal = self._goal(state)
        assert goal is not None, "only tables with something to update are candidates"
        if state.freshness is not None:
            start = state.freshness
        else:
            # Nothing is loaded yet, so the first data stands for one period, like any other.
            start = (state.pending[0] if state.pending else goal) - state.spec.period
        delta = max(0.0, goal - start)
        if state.rebuild_wanted:
            # It gains no freshness by itself, but what waits behind it does, and it must not wait for ever.
            delta = max(delta, state.spec.period, (self._new_goal(state) or goal) - start)
        return Candidate(
            table=state.spec.name,
            priority=state.spec.priority,
            released_at=released_at,
            delta=delta,
            cost=state.cost.expected(delta),
            upto=goal,
        )

    def _start_updates(self) -> list[StartUpdate]:
        started = []
        while self._free_tracks:
            candidate = self._ready.pop()
            if candidate is None:
                break
            started.append(self._start(candidate))
        return started

    def _start(self, candidate: Candidate) -> StartUpdate:
        state = self._states[candidate.table]
        track = heapq.heappop(self._free_tracks)
        state.running_on, state.released_at = track, None
        state.running_rebuild, state.rebuild_wanted = state.rebuild_wanted, False
        state.running_revision, state.revision_wanted = state.revision_wanted, False
        if not state.running_rebuild:
            taken = bisect.bisect_right(state.pending, candidate.upto)
            state.in_flight, state.pending = state.pending[:taken], state.pending[taken:]
        others = self._ready.best(_RUNNERS_UP)
        return StartUpdate(
            table=candidate.table,
            track=track,
            upto=candidate.upto,
            rebuild=state.running_rebuild,
            decision=Decision(
                ordering=self._ordering.name,
                benefit=candidate.benefit,
                delta=candidate.delta,
                cost=candidate.cost,
                waiting=len(self._ready),
                runners_up=tuple(RunnerUp(table=other.table, benefit=other.benefit) for other in others),
            ),
        )


def _initial(table: ScheduledTable) -> _State:
    status = TableStatus.FAILED if table.failed else TableStatus.PAUSED if table.paused else TableStatus.ACTIVE
    return _State(
        spec=table,
        freshness=table.freshness,
        safe=table.safe,
        cost=table.cost,
        status=status,
        revision_wanted=table.revised_sources,
    )
