"""The scheduler: events in, commands out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from freshtide.core.commands import Command, StartUpdate
from freshtide.core.events import Event
from freshtide.scheduling.adaptive import Adaptation
from freshtide.scheduling.allocations import lowest
from freshtide.scheduling.known import KnownTable
from freshtide.scheduling.overview import Overview
from freshtide.scheduling.reasons import decision_for

# So many of the best that wait can go before the best one, for the sake of an update that is expected.
_LOOKED_AT: Final = 19


class Scheduler(Overview):
    """Decides which table is updated next on which of N tracks.

    Per table at most one update runs, updates are chronological, none is dropped: an update takes what is pending, as
    far as chopping lets it (Golab et al. 2011, sections 2.4 and 3).
    """

    def handle(self, events: Iterable[Event], now: float) -> list[Command]:
        """Apply all that happened, then decide once."""
        applied, decided = self.apply(events, now), self.decide(now)
        return [*applied, *decided] if applied else decided

    def apply(self, events: Iterable[Event], now: float) -> tuple[Command, ...]:
        """Take note of all that happened; commands that follow whatever is decided."""
        return self._situation.apply(events, now)

    def decide(self, now: float) -> list[Command]:
        """Start what could be updated, the best first, as far as there are tracks for it."""
        situation, dispatcher = self._situation, self._dispatcher
        if situation.held:
            # What has happened is known, and decided upon when work can go on.
            return []
        commands = situation.steer(now) if situation.is_steered else []
        touched, is_contended = situation.touched, dispatcher.may_go_on()
        if not is_contended and len(touched) == 1:
            # One table alone needs no queue: what waited before has still no track to go to.
            table = touched[0]
            touched.clear()
            if situation.could_start(table, now):
                tracks = dispatcher.available & table.lane.own or dispatcher.place(table.lane)
                if tracks:
                    commands.append(self._start(table, lowest(tracks)))
                else:
                    situation.enqueue(table, now)
            elif table.candidate.ticket:
                dispatcher.withdraw(table)
        elif touched or is_contended:
            situation.line_up(now)
            while dispatcher.waiting and dispatcher.available:
                found = dispatcher.choose()
                if found is None:
                    break
                table, track = found
                if situation.expectations is not None:
                    table, track = self._look_ahead(table, track, now)
                commands.append(self._start(table, track))
        if self._adaptation is not None and dispatcher.available and not dispatcher.waiting:
            commands += self._start_early(self._adaptation, now)
        return commands

    def _start_early(self, adaptation: Adaptation, now: float) -> Iterator[StartUpdate]:
        """On tracks that are left over, what has fallen behind."""
        for table in adaptation.behind():
            tracks = self._dispatcher.place(table.lane)
            if tracks:
                adaptation.start_early(table, now)
                yield self._start(table, lowest(tracks))

    def _start(self, table: KnownTable, track: int) -> StartUpdate:
        decision = None
        if self._explaining:
            decision = decision_for(table, track, self._dispatcher, allocation=self._policy.allocation.name)
        self._dispatcher.take(table, track)
        table.started()
        return StartUpdate(table.name, track, table.candidate.upto, table.pending.rebuild_taken, decision, table.within)

    def _look_ahead(self, best: KnownTable, track: int, now: float) -> tuple[KnownTable, int]:
        """The best of those that wait, or one that goes first for the sake of an update that is expected."""
        situation, dispatcher = self._situation, self._dispatcher
        assert situation.expectations is not None
        upcoming = situation.expectations.within(best.candidate.cost, now)
        if not upcoming:
            return best, track
        others = [
            other.candidate
            for other in dispatcher.best(_LOOKED_AT)
            if other is not best and dispatcher.place(other.lane)
        ]
        chosen = self._ordering.reconsider(best.candidate, others, upcoming)
        if chosen is best.candidate:
            return best, track
        table = situation.tables[chosen.table]
        return table, lowest(dispatcher.place(table.lane))
