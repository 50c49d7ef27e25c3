"""The scheduler: events in, commands out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from freshtide.core.commands import Command, Decision, GiveUp, RunnerUp, StartUpdate, WakeAt
from freshtide.core.costs import Cost
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
from freshtide.guarantees import Breach
from freshtide.scheduling.adaptive import Adaptation, ReservationView
from freshtide.scheduling.allocations import Partition, Shortage, lowest
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.dispatch import Dispatcher
from freshtide.scheduling.expectations import Expectations
from freshtide.scheduling.linking import linked_states
from freshtide.scheduling.orderings import ORDERINGS, ReservedDeadline
from freshtide.scheduling.policy import Policy
from freshtide.scheduling.retries import RetryPolicy
from freshtide.scheduling.states import NOT_RUNNING, ScheduledTable, TableState, TableStatus
from freshtide.scheduling.waiting import why_not_placed, why_waiting

_RUNNERS_UP = 3
# Sharing out takes time in proportion to the tables: many that drift at once are shared out together.
_DRIFTED_SHARE = 0.01


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
    lane: str
    waits: str | None
    """Why no update of the table is running; None while one is."""
    reservation: ReservationView | None
    """Under the adaptive scheduler."""


class Scheduler:
    """Decides which table is updated next on which of N tracks.

    Per table at most one update runs, updates are chronological, none is dropped: an update takes what is pending, as
    far as chopping lets it (Golab et al. 2011, sections 2.4 and 3).
    """

    def __init__(
        self,
        tables: Iterable[ScheduledTable],
        *,
        tracks: int,
        policy: Policy,
        uniform: Callable[[], float],
        retry: RetryPolicy | None = None,
        reach: Callable[[str, float], float | None] | None = None,
        explaining: bool = True,
    ) -> None:
        """`uniform` draws from [0, 1) for the ordering `random`; `explaining` makes each decision carry its reasons."""
        self._policy = policy
        self._retry = retry or RetryPolicy()
        # How far an update to a cut takes a derived table: all the way, unless it waits for buckets to close.
        self._reach = reach
        self._explaining = explaining
        self._states = linked_states(list(tables), policy)
        self._ordering = ORDERINGS[policy.ordering](uniform) if policy.adaptive is None else ReservedDeadline()
        states = list(self._states.values())
        self._dispatcher = Dispatcher(states, tracks=tracks, allocation=policy.allocation, ordering=self._ordering)
        self._expectations = Expectations(states) if self._ordering.looks_ahead else None
        self._drifted: set[str] = set()
        self._running: list[TableState | None] = [None] * tracks
        self._released_tracks = True
        self._retrying: dict[str, None] = {}
        self._update_streams = [state for state in states if state.update_stream]
        # What could be updated from the start; its release time is that of the first call.
        self._touched = list(states)
        self._appliers: dict[type, Callable[..., Command | None]] = {
            DataArrived: self._arrive,
            UpdateFinished: self._finish,
            UpdateFailed: self._fail,
            TimerFired: self._wake,
            TablePaused: self._pause,
            TableResumed: self._resume,
            RebuildRequested: self._want_rebuild,
        }
        self._adaptation: Adaptation | None = None
        self._propose: Callable[[TableState], bool] = TableState.propose
        if policy.adaptive is not None:
            self._adapt(Adaptation(states, tracks=tracks, settings=policy.adaptive, reach=reach))

    def handle(self, events: Iterable[Event], now: float) -> list[Command]:  # noqa: PLR0912 - taken apart it is slower
        """Apply all that happened, then decide once."""
        commands: list[Command] = []
        touched = self._touched
        for state in self._update_streams:
            state.moment = now
        for event in events:
            command = self._appliers[type(event)](event, now)
            if command is not None:
                commands.append(command)
        if self._adaptation is not None:
            commands += self._advance(self._adaptation, now)
        dispatcher, propose = self._dispatcher, self._propose
        for state in self._update_streams:
            # They have grown staler while they waited: their ranks hold for one moment only.
            if state.entry is not None and propose(state):
                state.queue.put(state)
        # Unless a track was given back, what waited before has still none to go to: only one newly released can have.
        alone = len(touched) == 1 and not self._released_tracks
        for state in touched:
            if state.sources:
                self._see_edge(state, now)
            if state.track == NOT_RUNNING and state.able and propose(state):
                tracks = alone and (dispatcher.available & state.own or dispatcher.place(dispatcher.lanes[state.lane]))
                if tracks:
                    commands.append(self._start(state, lowest(tracks)))
                else:
                    state.queue.put(state)
            elif state.entry is not None:
                state.queue.withdraw(state)
        touched.clear()
        if not alone:
            self._released_tracks = False
            while dispatcher.available:
                found = dispatcher.choose()
                if found is None:
                    break
                state, track = found
                if self._expectations is not None:
                    state, track = self._look_ahead(state, track, now)
                commands.append(self._start(state, track))
        return commands

    def look(self, table: str) -> TableView:
        """The state of a table, for explanations."""
        state = self._states[table]
        reservation = None if self._adaptation is None else self._adaptation.look(state)
        return TableView(
            name=table,
            freshness=state.freshness,
            status=state.status,
            track=None if state.track == NOT_RUNNING else state.track,
            pending=len(state.pending) - state.taken,
            retry_at=state.retry_at,
            candidate=None if state.entry is None else _copy(state),
            lane=self._dispatcher.lanes[state.lane].label,
            waits=why_waiting(state, self._dispatcher, self._busy(), reservation),
            reservation=reservation,
        )

    def standing(self, count: int) -> list[Candidate]:
        """The waiting candidates, best first."""
        return [_copy(state) for state in self._dispatcher.best(count)]

    def because(self, candidate: Candidate) -> str:
        """In words: what puts a candidate where it is."""
        return self._ordering.because(candidate)

    @property
    def partition(self) -> Partition:
        """How the tracks are shared out at present."""
        return self._dispatcher.partition

    @property
    def shortage(self) -> Shortage | None:
        """Why the tracks do not suffice for what the allocation promises; None if they do."""
        return self._dispatcher.partition.shortage

    @property
    def breaches(self) -> list[Breach]:
        """Why reservations cannot be kept, under the adaptive scheduler; nothing if they can."""
        return [] if self._adaptation is None else self._adaptation.breaches

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing could: all that waits is paused, failed or to be retried."""
        return self._dispatcher.idle and (self._adaptation is None or not self._adaptation.holds_back)

    @property
    def retrying(self) -> bool:
        """Whether a failed update is still to be tried again."""
        return bool(self._retrying)

    def cost(self, table: str) -> Cost:
        """What has been learnt of a table's execution times."""
        return self._states[table].model

    def _adapt(self, adaptation: Adaptation) -> None:
        """Reservations decide from now on which updates are released."""

        def arrive(event: DataArrived, now: float) -> None:
            self._arrive(event, now)
            # A table can fall behind, and so change its mode, during its update.
            self._touched.append(self._states[event.table])

        def finish(event: UpdateFinished, now: float) -> None:
            self._finish(event, now)
            state = self._states[event.table]
            adaptation.ended(state, now)
            self._touched.append(state)

        def wake(event: TimerFired, now: float) -> None:
            self._wake(event, now)
            adaptation.woken()

        self._adaptation, self._propose = adaptation, adaptation.propose
        self._appliers |= {DataArrived: arrive, UpdateFinished: finish, TimerFired: wake}

    def _advance(self, adaptation: Adaptation, now: float) -> list[Command]:
        for state in self._touched:
            if state.sources:
                self._see_edge(state, now)
        wake = adaptation.advance(self._touched, now)
        return [] if wake is None else [WakeAt(wake)]

    def _arrive(self, event: DataArrived, now: float) -> None:
        state = self._states[event.table]
        pending, timestamp = state.pending, event.timestamp
        if event.at is not None:
            now = event.at
        if state.update_stream:
            state.arrived_update(timestamp, now)
        elif pending and timestamp < pending[-1]:
            state.arrived_late(timestamp, now)
        else:
            pending.append(timestamp)
            state.since.append(now)
        if self._expectations is not None:
            self._expectations.released(state, now)
        if state.track == NOT_RUNNING:
            # A running table is looked at when its update ends.
            self._touched.append(state)

    def _finish(self, event: UpdateFinished, now: float) -> None:
        state = self._states[event.table]
        before, after = state.freshness, event.freshness
        # An update stream's updates take what has waited so long, wherever its time stamps are.
        gained = state.delta if state.update_stream else None if before is None or after is None else after - before
        if state.learns and gained is not None and not state.running_rebuild:
            state.learn(gained, event.seconds)
            self._note_drift(state)
        state.freshness, state.safe = after, event.safe
        self._vacate(state.track)
        state.finished()
        if state.pending or state.rebuild_wanted or state.revision_wanted or state.sources:
            self._touched.append(state)
        for dependent in state.dependents:
            if (event.revised or state.update_stream) and not dependent.revision_wanted:
                # What was computed from the old rows is as wrong as they were; an update stream always replaces some.
                dependent.revision_wanted, dependent.wanted_since = True, now
            self._touched.append(dependent)

    def _fail(self, event: UpdateFailed, now: float) -> Command:
        state = self._states[event.table]
        self._vacate(state.track)
        state.failed()
        self._touched.append(state)
        wait = self._retry.wait_after(state.failures)
        if wait is None:
            self._set_status(state, TableStatus.FAILED)
            return GiveUp(event.table, event.reason)
        state.set_standing(state.status, now + wait)
        self._retrying[event.table] = None
        return WakeAt(now + wait)

    def _wake(self, _event: TimerFired, now: float) -> None:
        for name in list(self._retrying):
            retry_at = self._states[name].retry_at
            if retry_at is not None and retry_at <= now:
                self._stop_waiting(name)

    def _pause(self, event: TablePaused, _now: float) -> None:
        self._set_status(self._states[event.table], TableStatus.PAUSED)

    def _resume(self, event: TableResumed, _now: float) -> None:
        self._states[event.table].failures = 0
        self._stop_waiting(event.table)
        self._set_status(self._states[event.table], TableStatus.ACTIVE)

    def _want_rebuild(self, event: RebuildRequested, now: float) -> None:
        state = self._states[event.table]
        state.rebuild_wanted, state.wanted_since = True, now
        self._touched.append(state)

    def _stop_waiting(self, name: str) -> None:
        state = self._states[name]
        state.set_standing(state.status, None)
        self._retrying.pop(name, None)
        self._touched.append(state)

    def _set_status(self, state: TableState, status: TableStatus) -> None:
        """A table that takes part no longer leaves its share of the tracks to the others, and gets one when it does."""
        moved = status is not state.status
        state.set_standing(status, state.retry_at)
        self._touched.append(state)
        if moved:
            self._share_out()

    def _share_out(self) -> None:
        self._released_tracks = True
        self._dispatcher.share_out()
        self._drifted.clear()
        if self._adaptation is not None:
            self._adaptation.plan()

    def _note_drift(self, state: TableState) -> None:
        factor, cost, planned = self._policy.repartition, state.period_cost, state.partitioned_cost
        if cost > factor * planned or planned > factor * cost:
            self._drifted.add(state.table)
            if len(self._drifted) >= _DRIFTED_SHARE * len(self._states):
                self._share_out()

    def _vacate(self, track: int) -> None:
        assert track != NOT_RUNNING, "an update ended that never started"
        self._dispatcher.available |= 1 << track
        self._running[track] = None
        self._released_tracks = True

    def _see_edge(self, state: TableState, now: float) -> None:
        edge = trailing_edge([source.safe for source in state.sources])
        if edge is not None and self._reach is not None:
            edge = self._reach(state.table, edge)
        known = len(state.pending)
        state.seen_edge(edge, now)
        if self._expectations is not None and len(state.pending) > known:
            self._expectations.released(state, now)

    def _start(self, state: TableState, track: int) -> StartUpdate:
        decision = self._decision(state, track) if self._explaining else None
        self._occupy(state, track)
        return StartUpdate(state.table, track, state.upto, state.running_rebuild, decision)

    def _occupy(self, state: TableState, track: int) -> None:
        if state.entry is not None:
            state.queue.withdraw(state)
        self._dispatcher.available &= ~(1 << track)
        self._running[track] = state
        state.start(track)

    def _look_ahead(self, best: TableState, track: int, now: float) -> tuple[TableState, int]:
        assert self._expectations is not None
        upcoming = self._expectations.within(best.cost, now)
        if not upcoming:
            return best, track
        dispatcher = self._dispatcher
        others = [
            other
            for other in dispatcher.best(_RUNNERS_UP + 16)
            if other is not best and dispatcher.place(dispatcher.lanes[other.lane])
        ]
        chosen = self._ordering.reconsider(best, others, upcoming)
        if chosen is best:
            return best, track
        state = self._states[chosen.table]
        tracks = dispatcher.place(dispatcher.lanes[state.lane])
        return state, lowest(tracks)

    def _busy(self) -> dict[int, TableState]:
        """Tracks to what runs on them."""
        return {track: state for track, state in enumerate(self._running) if state is not None}

    def _decision(self, state: TableState, track: int) -> Decision:
        dispatcher = self._dispatcher
        others = [other for other in dispatcher.best(_RUNNERS_UP + 1) if other is not state][:_RUNNERS_UP]
        busy = self._busy()
        return Decision(
            ordering=self._ordering.name,
            allocation=self._policy.allocation.name,
            lane=dispatcher.lanes[state.lane].label,
            placed=dispatcher.placed(state, track),
            benefit=state.benefit,
            delta=state.delta,
            cost=state.cost,
            waiting=len(dispatcher) - (state.entry is not None),
            runners_up=tuple(
                RunnerUp(
                    table=other.table,
                    benefit=other.benefit,
                    waits=why_not_placed(other, dispatcher, busy),
                )
                for other in others
            ),
        )


def _copy(state: TableState) -> Candidate:
    return Candidate(
        table=state.table,
        place=state.place,
        priority=state.priority,
        period=state.period,
        released_at=state.released_at,
        delta=state.delta,
        cost=state.cost,
        upto=state.upto,
        due=state.due,
        update_stream=state.update_stream,
    )
