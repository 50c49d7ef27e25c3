"""The scheduler: events in, commands out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

from freshtide.core.commands import Command, GiveUp, StartUpdate, WakeAt
from freshtide.core.costs import Cost
from freshtide.core.events import (
    DataArrived,
    Event,
    RebuildRequested,
    SurroundingsFailed,
    SurroundingsMended,
    TablePaused,
    TableResumed,
    TimerFired,
    UpdateFailed,
    UpdateFinished,
)
from freshtide.core.staleness import trailing_edge
from freshtide.guarantees import Breach
from freshtide.scheduling.adaptive import Adaptation
from freshtide.scheduling.allocations import Partition, Shortage, lowest
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.dispatch import Dispatcher
from freshtide.scheduling.expectations import Expectations
from freshtide.scheduling.linking import linked_states
from freshtide.scheduling.orderings import ORDERINGS, ReservedDeadline
from freshtide.scheduling.policy import Policy
from freshtide.scheduling.reasons import TableView, copy_of, decision_for, view_of
from freshtide.scheduling.retries import RetryPolicy
from freshtide.scheduling.states import NOT_RUNNING, ScheduledTable, TableState, TableStatus

# So many of the best that wait can go before the best one, for the sake of an update that is expected.
_LOOKED_AT = 19
# Sharing out takes time in proportion to the tables: many that drift at once are shared out together.
_DRIFTED_SHARE = 0.01


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
        # What was last started on each track. It need not be running any more: its own track says so.
        self._last_on: list[TableState | None] = [None] * tracks
        self._released_tracks = True
        self._retrying: dict[str, None] = {}
        self._held = False
        self._update_streams = [state for state in states if state.update_stream]
        # What could be updated from the start; its release time is that of the first call.
        self._touched = list(states)
        self._appliers: dict[type, Callable[..., Command | None]] = {
            UpdateFailed: self._fail,
            SurroundingsFailed: self._hold,
            SurroundingsMended: self._go_on,
            TimerFired: self._wake,
            TablePaused: self._pause,
            TableResumed: self._resume,
            RebuildRequested: self._want_rebuild,
        }
        self._adaptation: Adaptation | None = None
        if policy.adaptive is not None:
            self._adapt(Adaptation(states, tracks=tracks, settings=policy.adaptive, reach=reach))
        # Whether a decision depends on more than what has arrived and ended. Most do not, and need not ask thrice.
        self._steered = bool(self._update_streams or self._expectations) or policy.adaptive is not None

    def handle(self, events: Iterable[Event], now: float) -> list[Command]:  # noqa: PLR0912, PLR0915
        """Apply all that happened, then decide once.

        A simulation spends half of its time in here: arrivals and ends of updates, of which there are millions, are
        applied in the loop itself, and whatever is rare is behind one test (`steered`, or `plain` of a table).
        """
        commands: list[Command] = []
        states, touched = self._states, self._touched
        dispatcher, steered = self._dispatcher, self._steered
        if steered:
            for state in self._update_streams:
                state.moment = now
        for event in events:
            if type(event) is DataArrived:
                state = states[event.table]
                pending, timestamp = state.pending, event.timestamp
                at = now if event.at is None else event.at
                if pending and (timestamp < pending[-1] or state.update_stream):
                    state.arrived_among(timestamp, at)
                else:
                    pending.append(timestamp)
                    state.since.append(at)
                if state.track == NOT_RUNNING:
                    # A running table is looked at when its update ends.
                    touched.append(state)
                if steered:
                    self._note_arrival(state, at)
            elif type(event) is UpdateFinished:
                state = states[event.table]
                if not state.plain:
                    self._note_end(state, event, now)
                state.freshness, state.safe = event.freshness, event.safe
                dispatcher.available |= 1 << state.track
                self._released_tracks = True
                state.track = NOT_RUNNING
                pending, taken = state.pending, state.taken
                state.taken = 0
                if taken == len(pending):
                    pending.clear()
                    state.since.clear()
                else:
                    del pending[:taken], state.since[:taken]
                    touched.append(state)
            else:
                command = self._appliers[type(event)](event, now)
                if command is not None:
                    commands.append(command)
        if self._held:
            # What has happened is known, and decided upon when work can go on.
            return commands
        if steered:
            commands += self._steer(now)
        # One table alone needs no queue: what waited before has still no track to go to, unless one was given back.
        contended = False
        if self._released_tracks:
            self._released_tracks = False
            contended = dispatcher.waiting > 0
        if touched:
            if len(touched) > 1:
                contended = True
            for state in touched:
                could_start = state.propose() if state.plain else self._could_start(state, now)
                if could_start:
                    tracks = not contended and (
                        dispatcher.available & state.own or dispatcher.place(dispatcher.lanes[state.lane])
                    )
                    if tracks:
                        commands.append(self._start(state, lowest(tracks)))
                    else:
                        dispatcher.put(state)
                elif state.ticket:
                    dispatcher.withdraw(state)
            touched.clear()
        if contended:
            while dispatcher.waiting and dispatcher.available:
                found = dispatcher.choose()
                if found is None:
                    break
                state, track = found
                if steered and self._expectations is not None:
                    state, track = self._look_ahead(state, track, now)
                commands.append(self._start(state, track))
        return commands

    def look(self, table: str) -> TableView:
        """The state of a table, for explanations."""
        state = self._states[table]
        reservation = None if self._adaptation is None else self._adaptation.look(state)
        return view_of(state, self._dispatcher, self._busy(), reservation)

    def standing(self, count: int) -> list[Candidate]:
        """The waiting candidates, best first."""
        return [copy_of(state) for state in self._dispatcher.best(count)]

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

    @property
    def held(self) -> bool:
        """Whether nothing is started, because the surroundings are not well."""
        return self._held

    def cost(self, table: str) -> Cost:
        """What has been learnt of a table's execution times."""
        return self._states[table].model

    def _adapt(self, adaptation: Adaptation) -> None:
        """Reservations decide from now on which updates are released."""

        def wake(event: TimerFired, now: float) -> None:
            self._wake(event, now)
            adaptation.woken()

        self._adaptation = adaptation
        for state in self._states.values():
            state.plain = False
        self._appliers[TimerFired] = wake

    def _note_arrival(self, state: TableState, at: float) -> None:
        if self._expectations is not None:
            self._expectations.released(state, at)
        if self._adaptation is not None:
            # A table can fall behind, and so change its mode, during its update.
            self._touched.append(state)

    def _note_end(self, state: TableState, event: UpdateFinished, now: float) -> None:
        """What the end of an update means beyond that its data is loaded."""
        before, after = state.freshness, event.freshness
        # An update stream's updates take what has waited so long, wherever its time stamps are.
        gained = state.delta if state.update_stream else None if before is None or after is None else after - before
        # How long an update took that waited for disk, database or Spark says nothing about the next one.
        if state.learns and gained is not None and not (state.running_rebuild or state.disturbed):
            state.learn(gained, event.seconds)
            self._note_drift(state)
        state.succeeded()
        # Something may be wanted that did not arrive: a rebuild, or to follow a source.
        self._touched.append(state)
        for dependent in state.dependents:
            if (event.revised or state.update_stream) and not dependent.revision_wanted:
                # What was computed from the old rows is as wrong as they were; an update stream always replaces some.
                dependent.revision_wanted, dependent.wanted_since = True, now
            self._touched.append(dependent)
        if self._adaptation is not None:
            self._adaptation.ended(state, now)

    def _steer(self, now: float) -> list[Command]:
        """Whatever changes with time alone: modes and releases, and the ranks of update streams."""
        commands = [] if self._adaptation is None else self._advance(self._adaptation, now)
        for state in self._update_streams:
            # They have grown staler while they waited: their ranks hold for one moment only.
            if state.ticket and self._propose(state):
                self._dispatcher.put(state)
        return commands

    def _advance(self, adaptation: Adaptation, now: float) -> list[Command]:
        for state in self._touched:
            if state.sources:
                self._see_edge(state, now)
        wake = adaptation.advance(self._touched, now)
        return [] if wake is None else [WakeAt(wake)]

    def _fail(self, event: UpdateFailed, now: float) -> Command | None:
        state = self._states[event.table]
        self._dispatcher.available |= 1 << state.track
        self._released_tracks = True
        state.failed(counts=not event.blameless)
        self._touched.append(state)
        if event.blameless:
            return None
        wait = None if event.hopeless else self._retry.wait_after(state.failures)
        if wait is None:
            self._set_status(state, TableStatus.FAILED)
            return GiveUp(event.table, event.reason)
        state.set_standing(state.status, now + wait)
        self._retrying[event.table] = None
        return WakeAt(now + wait)

    def _hold(self, _event: SurroundingsFailed, _now: float) -> None:
        self._held = True
        for state in self._busy().values():
            state.disturbed, state.plain = True, False

    def _go_on(self, _event: SurroundingsMended, _now: float) -> None:
        self._held = False
        self._released_tracks = True

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
        state.want_rebuild(now)
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

    def _could_start(self, state: TableState, now: float) -> bool:
        """Whether there is something to update, by its sources if it has any, and nothing that forbids it."""
        if state.sources:
            self._see_edge(state, now)
        return state.track == NOT_RUNNING and state.able and self._propose(state)

    def _propose(self, state: TableState) -> bool:
        """Bring the table's candidate up to date; False if there is nothing to update."""
        return state.propose() if self._adaptation is None else self._adaptation.propose(state)

    def _see_edge(self, state: TableState, now: float) -> None:
        edge = trailing_edge([source.safe for source in state.sources])
        if edge is not None and self._reach is not None:
            edge = self._reach(state.table, edge)
        known = len(state.pending)
        state.seen_edge(edge, now)
        if self._expectations is not None and len(state.pending) > known:
            self._expectations.released(state, now)

    def _start(self, state: TableState, track: int) -> StartUpdate:
        dispatcher, decision = self._dispatcher, None
        if self._explaining:
            decision = decision_for(state, track, dispatcher, self._busy(), allocation=self._policy.allocation.name)
        if state.ticket:
            dispatcher.withdraw(state)
        dispatcher.available &= ~(1 << track)
        self._last_on[track] = state
        state.track = track
        if state.plain or state.start_anew():
            pending, upto = state.pending, state.upto
            state.taken = len(pending) if pending[-1] <= upto else bisect_right(pending, upto)
        return StartUpdate(state.table, track, state.upto, state.running_rebuild, decision)

    def _look_ahead(self, best: TableState, track: int, now: float) -> tuple[TableState, int]:
        assert self._expectations is not None
        upcoming = self._expectations.within(best.cost, now)
        if not upcoming:
            return best, track
        dispatcher = self._dispatcher
        others = [
            other
            for other in dispatcher.best(_LOOKED_AT)
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
        return {track: state for track, state in enumerate(self._last_on) if state is not None and state.track == track}
