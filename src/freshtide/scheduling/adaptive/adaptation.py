"""All reservations together: what changes at a moment, and when to look again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from freshtide.guarantees import (
    Breach,
    Reserved,
    breaches,
    staleness_bounds,
)
from freshtide.scheduling.adaptive.modes import admitted, rule_nr, rule_rn
from freshtide.scheduling.adaptive.reservation import (
    Mode,
    Reservation,
    ReservationView,
    next_release,
    release,
    scheduled_deadline,
)
from freshtide.scheduling.adaptive.reweighting import reweigh, settle
from freshtide.scheduling.adaptive.settings import Adaptive
from freshtide.scheduling.conditions import TableStatus
from freshtide.scheduling.known import KnownTable

# Time stamps are sums: what is just one period away must not fall out by its last digit.
_ROUNDING = 1.0 + 1e-9

Reach = Callable[[str, float], float | None]


class Adaptation:
    """Which updates are released, and in which mode each table is."""

    def __init__(
        self, tables: Sequence[KnownTable], *, tracks: int, settings: Adaptive, reach: Reach | None = None
    ) -> None:
        self._tables = tables
        self._tracks = tracks
        self._settings = settings
        self._reach = reach
        self._reservations = [Reservation(table=table) for table in tables]
        self._late: dict[int, Reservation] = {}
        """By place: the tables that wait to be let into recovery mode."""
        self._recovering: dict[int, Reservation] = {}
        """By place: the tables in recovery mode."""
        self._may_let_in = False
        """Whether one of those that wait could be let in now that could not before."""
        self._alarms: list[tuple[float, int]] = []
        self._wakes_at = float("inf")
        self.breaches: list[Breach] = []
        self.plan()

    def take_over(self, before: Adaptation) -> None:
        """Tables that were there before keep the modes they are in and the updates that are released."""
        known = {reservation.table.name: reservation for reservation in before._reservations}
        late = {reservation.table.name for reservation in before._late.values()}
        for place, table in enumerate(self._tables):
            reservation = known.get(table.name)
            if reservation is None:
                continue
            reservation.table, reservation.alarmed_for = table, None
            self._reservations[place] = reservation
            if table.name in late:
                self._late[place] = reservation
            if reservation.normal_from is not None:
                self._alarm(reservation, reservation.normal_from)
        self.plan()

    def plan(self) -> None:
        """Reserve shares anew: tables have come or gone, or their costs have changed."""
        taking_part = [table for table in self._tables if table.condition.status is TableStatus.ACTIVE]
        reserved = self._reserved(taking_part)
        self.breaches = breaches(reserved, self._tracks)
        bounds = staleness_bounds(reserved, self._tracks) if not self.breaches else {}
        for table, asked in zip(taking_part, reserved, strict=True):
            reservation = self._reservations[table.place]
            reservation.nominal_period = asked.period
            reservation.execution = asked.execution
            reservation.recovery_period = asked.recovery_period
            bound = bounds.get(asked.table, asked.period)
            reservation.threshold = self._settings.threshold_for(asked.table, bound)
        for table in self._tables:
            if table.condition.status is not TableStatus.ACTIVE:
                self._reservations[table.place].enter(Mode.NORMAL)
                self._recovering.pop(table.place, None)
        self._demand = sum(self._reservations[table.place].share for table in taking_part)
        self._may_let_in = True

    def is_outdated(self, learnt_of: KnownTable) -> bool:
        """Whether shares are to be reserved anew, as updates have outgrown their recovery period, or fit into it again.

        Costs may have drifted little, and yet beyond that period, which can be as short as an update. One that is the
        formula's grows with the cost, at the same share of a track, and nothing else has to change.
        """
        reservation = self._reservations[learnt_of.place]
        takes = self._takes(learnt_of, reservation.nominal_period)
        reserved, recovery = reservation.execution, reservation.recovery_period
        fits, fitted = takes <= recovery * _ROUNDING, reserved <= recovery * _ROUNDING
        if fits is fitted or learnt_of.condition.status is not TableStatus.ACTIVE:
            return False
        if fits or self._settings.gives_recovery(learnt_of.name) or takes > reservation.nominal_period * _ROUNDING:
            return True
        self._demand -= reservation.share
        reservation.execution = takes
        reservation.recovery_period = min(reservation.nominal_period, recovery * takes / reserved)
        self._demand += reservation.share
        self._may_let_in = True
        return False

    def ended(self, table: KnownTable, now: float) -> None:
        """An update of the table has been committed."""
        reservation = self._reservations[table.place]
        # What is released while an early update runs is still to come.
        reservation.is_open &= reservation.runs_early
        reservation.runs_early, reservation.finished_at, reservation.has_just_ended = False, now, True

    def failed(self, table: KnownTable) -> None:
        """An update of the table has failed; if it was released, it is still to come."""
        self._reservations[table.place].runs_early = False

    def woken(self, now: float) -> None:
        """A timer has fired. One that is early is asked for again by whoever was told."""
        if self._wakes_at <= now:
            self._wakes_at = float("inf")

    def advance(self, touched: list[KnownTable], now: float) -> float | None:
        """Change modes and release updates, after all that happened at this moment. When to look again, if that is new.

        `touched` are the tables to which something happened; those that change without it are added.
        """
        while self._alarms and self._alarms[0][0] <= now:
            touched.append(self._tables[heappop(self._alarms)[1]])
        looked_at = [self._reservations[table.place] for table in touched]
        for reservation in looked_at:
            self._end(reservation, now)
        for reservation in looked_at:
            self._note_lateness(reservation, now)
        for reservation in self._let_in(now):
            touched.append(reservation.table)
            looked_at.append(reservation)
        for reservation in looked_at:
            self._release(reservation, now)
        return self._next_wake()

    def behind(self) -> list[KnownTable]:
        """The tables that have fallen behind and wait for nothing but a release, the next one that is due first.

        On a track that is idle, with nothing released that waits for it, one of their updates may start all the same.
        It is none of those that are reserved, which come when they come, and it goes by the deadline of the next: so
        nobody waits for it longer than for one that was released (docs/guides/planning.md).
        """
        if not self._settings.early:
            return []
        found = [r for r in (*self._recovering.values(), *self._late.values()) if r.may_start_early]
        return [r.table for r in sorted(found, key=lambda r: (scheduled_deadline(r), r.table.place))]

    def start_early(self, table: KnownTable, now: float) -> None:
        """Bring the candidate up to date for an update that is started before its release."""
        reservation = self._reservations[table.place]
        reservation.runs_early = True
        table.aim_at(self._goal(table))
        table.candidate.released_at, table.candidate.due = now, scheduled_deadline(reservation)

    def is_released(self, table: KnownTable) -> bool:
        """Whether an update of the table may start, or has started."""
        return self._reservations[table.place].is_open

    def propose(self, table: KnownTable, now: float) -> bool:
        """Bring the candidate up to date; False if no update of the table is released, or there is nothing to load."""
        reservation = self._reservations[table.place]
        if not reservation.is_open:
            return False
        if table.pending.is_wanted_anew or table.spec.update_stream:
            if not table.propose(now):
                return False
        elif not table.pending.stamps:
            return False
        else:
            table.aim_at(self._goal(table))
        table.candidate.released_at, table.candidate.due = reservation.released_at, reservation.deadline
        return True

    def look(self, table: KnownTable) -> ReservationView:
        reservation = self._reservations[table.place]
        coming = None if reservation.is_open else next_release(reservation)
        return ReservationView(
            mode=reservation.mode,
            period=reservation.period,
            released_at=reservation.released_at,
            deadline=reservation.deadline,
            next_release=None if coming is None else coming[1],
            reweighted_by=reservation.reweighted_by,
            execution=reservation.execution,
            runs_early=reservation.runs_early,
        )

    @property
    def holds_back(self) -> bool:
        """Whether there is something to load whose time has not come."""
        return any(r.is_able and not r.is_open and r.unfresh_since is not None for r in self._reservations)

    def _reserved(self, tables: Sequence[KnownTable]) -> list[Reserved]:
        periods = {table.name: table.candidate.period for table in tables}
        executions = {table.name: self._takes(table, periods[table.name]) for table in tables}
        total = sum(executions[name] / period for name, period in periods.items())
        return [
            Reserved(
                table=table.name,
                period=periods[table.name],
                execution=executions[table.name],
                recovery_period=self._settings.recovery_period(
                    table.name,
                    execution=executions[table.name],
                    period=periods[table.name],
                    total_utilisation=total,
                    tracks=self._tracks,
                ),
                sources=tuple(source.name for source in table.timed_sources if source.name in periods),
                phase=table.spec.phase,
                arrival_jitter=table.spec.arrival_jitter,
                timestamp_jitter=table.spec.timestamp_jitter,
                held_back=table.spec.held_back,
                burst=self._takes(table, periods[table.name] + table.spec.stamp_spread) - executions[table.name],
            )
            for table in tables
        ]

    def _takes(self, table: KnownTable, data: float) -> float:
        return self._settings.reserved_for(table.estimate.model, data)

    def _end(self, reservation: Reservation, now: float) -> None:
        """Rules that follow the end of an update; and the change to normal mode, when its time has come."""
        if reservation.has_just_ended:
            reservation.has_just_ended = False
            if reservation.is_settled_at_end:
                settle(reservation, now)
            rule_rn(reservation)
            if reservation.normal_from is not None and reservation.normal_from > now:
                self._alarm(reservation, reservation.normal_from)
        if reservation.normal_from is not None and reservation.normal_from <= now:
            self._change(reservation, Mode.NORMAL)

    def _note_lateness(self, reservation: Reservation, now: float) -> None:
        place = reservation.table.place
        if not rule_nr(reservation, now):
            self._late.pop(place, None)
        elif place not in self._late:
            self._late[place] = reservation
            self._may_let_in = True

    def _let_in(self, now: float) -> list[Reservation]:
        if not self._may_let_in or not self._late:
            return []
        self._may_let_in = False
        let_in = admitted(
            self._late.values(), demand=self._demand, tracks=self._tracks, arbitration=self._settings.arbitration
        )
        for reservation in let_in:
            del self._late[reservation.table.place]
            self._change(reservation, Mode.RECOVERY)
            reweigh(reservation, now)
        return let_in

    def _change(self, reservation: Reservation, mode: Mode) -> None:
        self._demand -= reservation.share
        reservation.enter(mode)
        self._demand += reservation.share
        if mode is Mode.RECOVERY:
            self._recovering[reservation.table.place] = reservation
        else:
            self._recovering.pop(reservation.table.place, None)
        self._may_let_in = True

    def _release(self, reservation: Reservation, now: float) -> None:
        if reservation.is_open or not reservation.is_able:
            return
        coming = next_release(reservation)
        if coming is None:
            return
        moment, certain_from = coming
        if certain_from <= now:
            release(reservation, moment)
        else:
            self._alarm(reservation, certain_from)

    def _goal(self, table: KnownTable) -> float:
        """One file of a base table, one period of a view (Definition 8); a first backlog is loaded as a whole."""
        stamps, freshness, period = table.pending.stamps, table.condition.freshness, table.candidate.period
        newest = stamps[-1]
        if freshness is None or table.condition.first_load:
            return newest
        if not table.sources:
            return stamps[0]
        limit = freshness + period
        if newest <= freshness + period * _ROUNDING:
            return newest
        if self._reach is None:
            return limit
        reached = self._reach(table.name, limit)
        # A bucket that is longer than the period is closed as a whole.
        return stamps[0] if reached is None or reached <= freshness else reached

    def _alarm(self, reservation: Reservation, moment: float) -> None:
        if reservation.alarmed_for != moment:
            reservation.alarmed_for = moment
            heappush(self._alarms, (moment, reservation.table.place))

    def _next_wake(self) -> float | None:
        if not self._alarms or self._alarms[0][0] >= self._wakes_at:
            return None
        self._wakes_at = self._alarms[0][0]
        return self._wakes_at
