"""The live loop over the scheduler."""

from __future__ import annotations

import heapq
import logging
import queue
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from freshtide.catalog import Catalog
from freshtide.core.commands import Command, DropRebuild, GiveUp, StartUpdate, WakeAt
from freshtide.core.costs import CostModel
from freshtide.core.errors import LeaseLostError, SurroundingsError
from freshtide.core.events import (
    Event,
    RebuildCancelled,
    RebuildRequested,
    TimerFired,
    UpdateFailed,
    UpdateFinished,
)
from freshtide.core.graph import TableGraph
from freshtide.feeds import FeedSet
from freshtide.runs import pending_announcements, reach_of, reconfigure
from freshtide.runtime.absences import Absences
from freshtide.runtime.arrangements import Arrangement, Successor
from freshtide.runtime.listening import Listening
from freshtide.runtime.mending import Mending
from freshtide.runtime.news import News
from freshtide.runtime.outages import OutageListener
from freshtide.runtime.owing import Owed
from freshtide.runtime.projectwatch import ProjectWatch
from freshtide.runtime.rearranging import Rearranging
from freshtide.runtime.rebuilds import Rebuilds
from freshtide.runtime.singlerows import SingleRows
from freshtide.runtime.trace import TraceWriter
from freshtide.runtime.tracks import TrackThreads
from freshtide.runtime.verdicts import surroundings_at_fault
from freshtide.runtime.watching import SurroundingsWatch
from freshtide.scheduling import Scheduler
from freshtide.world import Clock, Disk, Flag, Mailbox, Threads

# Seconds without an event after which the loop looks whether it is over; less where somebody waits for that.
_LONGEST_WAIT, _LONGEST_WAIT_FOR_AN_END = 0.5, 0.05
_KEEP_COSTS_EVERY = 5.0
# What fails more often than this while disk, database and Spark are found to be well has itself to blame.
_BLAMELESS_AT_MOST = 6
_logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class EngineReport:
    """What a run did."""

    updates: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    """Tables that were given up, with the reason."""


class Engine:
    """Feeds events to the scheduler and carries out its commands, until it is stopped or all is done."""

    def __init__(
        self,
        scheduler: Scheduler,
        arrangement: Arrangement,
        *,
        events: Mailbox[Event],
        surroundings: SurroundingsWatch,
        news: News,
        feed_set: FeedSet,
        rearranging: Rearranging,
        catalog: Catalog,
        absences: Absences,
        rebuilds: Rebuilds,
        clock: Clock,
        threads: Threads,
        trace: TraceWriter,
        disk: Disk,
        mendings: Sequence[Mending],
        watch: ProjectWatch | None = None,
        on_change: Callable[[Arrangement], None] = lambda _arrangement: None,
    ) -> None:
        """`mendings` say what tables have lost: it is told, and those that can be are computed anew.

        `on_change` is called with what is at work from then on, before anything is decided for it.
        """
        project = arrangement.project
        self._scheduler = scheduler
        self._arrangement = arrangement
        self._on_change = on_change
        self._leaving: frozenset[str] = frozenset()
        """Units that were taken out and still run."""
        self._catalog = catalog
        self._rebuilds = rebuilds
        self._threads = threads
        self._clock = clock
        self._trace = trace
        self._mendings = mendings
        self._events = events
        self._surroundings = surroundings
        self._news = news
        self._owed = Owed(on_failure=surroundings.suspect)
        self._blameless: Counter[str] = Counter()
        """How often in a row updates of a unit have failed through no fault of theirs."""
        trace.on_failure = self._not_traced
        self._tracks = TrackThreads(project.settings.tracks, self._events, threads)
        self._single_rows = SingleRows(
            project.feeds,
            arrangement.computer.streams,
            arrangement.worker,
            graph=project.graph,
            catalog=catalog,
            events=self._events,
            clock=clock,
        )
        self._listening = Listening(
            arrangement,
            rearranging=rearranging,
            watch=watch,
            feed_set=feed_set,
            single_rows=self._single_rows,
            catalog=catalog,
            absences=absences,
            events=self._events,
            owed=self._owed,
            surroundings=surroundings,
            news=news,
            leaving=lambda: self._leaving,
            disk=disk,
            clock=clock,
            threads=threads,
        )
        self._timers: list[float] = []
        self._learnt: dict[str, CostModel] = {}
        """Costs by table that the catalog does not have yet."""
        self._kept_at = 0.0
        self._longest_wait = _LONGEST_WAIT
        self._report = EngineReport()

    def run(
        self,
        *,
        stop: Flag,
        once: bool = False,
        until: Callable[[], bool] | None = None,
        is_awaited: bool = False,
        on_outage: OutageListener | None = None,
        on_news: Callable[[str], None] | None = None,
    ) -> EngineReport:
        """Work until stopped; with `once` until everything that is there has been loaded.

        With `is_awaited` somebody waits for `until` to be so. `on_outage` is called on the thread that looks for
        files, `on_news` with sentences on any thread: updates that failed, tables that were given up, and why all
        work waits.
        """
        self._listening.on_outage = on_outage
        self._longest_wait = _LONGEST_WAIT_FOR_AN_END if once or is_awaited else _LONGEST_WAIT
        self._news.listener = on_news
        self._announce_pending()
        self._announce_lost()
        self._start_streams()
        self._surroundings.start()
        self._listening.start()
        ends_in_order = False
        try:
            # What is due from the start, such as a view whose definition has changed, needs no event.
            self._decide(self._gather(0.0))
            while not stop.is_set() and not self._is_over(once, until):
                self._turn()
                self._raise_faults()
            ends_in_order = True
        finally:
            self._single_rows.stop()
            self._listening.stop()
            # Nobody waits for better times any longer: what is not written down by now is found by the next start.
            self._surroundings.stop()
            self._listening.stop_applying()
            self._tracks.stop()
            if ends_in_order:
                self._single_rows.drain()
            self._single_rows.leave_behind()
            self._write_down_the_last()
            self._trace.close()
        return self._report

    def _is_over(self, once: bool, until: Callable[[], bool] | None) -> bool:
        try:
            return (once and self._done()) or (until is not None and until())
        except SurroundingsError as error:
            self._surroundings.suspect(error)
            return False

    def _write_down_the_last(self) -> None:
        self._book_late_finishers()
        self._owed.add(self._listening.end_outages)
        self._owed.add(self._keep_costs)
        try:
            self._surroundings.insist(self._owed.settle_now)
        except (SurroundingsError, LeaseLostError) as error:
            _logger.warning("Not all was written down: %s", error)

    def _start_streams(self) -> None:
        try:
            self._single_rows.start()
        except BaseException:
            self._tracks.stop()
            self._trace.close()
            raise

    def _raise_faults(self) -> None:
        """What went wrong in another thread and was nobody's to handle ends the run."""
        for fault in (self._surroundings.fault, self._listening.fault, self._tracks.fault, self._single_rows.fault):
            if fault is not None:
                raise fault

    def _turn(self) -> None:
        events = self._gather(self._longest_wait)
        now = self._clock.onward()
        while self._timers and self._timers[0] <= now:
            heapq.heappop(self._timers)
            events.append(TimerFired())
        successor = self._hand_over()
        if successor is not None:
            self._decide([*successor.rebuilds, *events])
        elif events:
            self._decide(events)
        elif self._surroundings.is_well:
            self._owed.settle()
            self._trace.settle()

    def _decide(self, events: list[Event]) -> None:
        now = self._clock.onward()
        events = [event for event in events if self._concerns(event)]
        events = [self._blamed(event) if isinstance(event, UpdateFailed) else event for event in events]
        commands = self._scheduler.handle(events, now)
        # Before anything is carried out: whatever becomes of the updates, the trace tells why they were started.
        self._trace.write(now, events, commands)
        for command in commands:
            self._carry_out(command)
        self._book(events)
        if self._leaving:
            self._leaving = frozenset(self._scheduler.leaving)
        if self._learnt and (not events or now - self._kept_at > _KEEP_COSTS_EVERY):
            self._owed.add(self._keep_costs)
            self._kept_at = now
        if self._owed and self._surroundings.is_well:
            self._owed.settle()

    def _blamed(self, event: UpdateFailed) -> UpdateFailed:
        """The event, and blame where the surroundings are well each time that somebody looks."""
        if not event.blameless:
            self._news.tell_failure(f"An update of '{event.table}' failed: {event.reason}")
            return event
        self._blameless[event.table] += 1
        if self._blameless[event.table] <= _BLAMELESS_AT_MOST:
            return event
        self._news.tell_failure(f"An update of '{event.table}' failed, and nothing else does: {event.reason}")
        return replace(event, blameless=False)

    def _not_traced(self, error: OSError) -> None:
        at_fault = surroundings_at_fault(error)
        if at_fault is None:
            raise error
        self._surroundings.suspect(at_fault)

    def _gather(self, wait: float) -> list[Event]:
        """All that has happened, after waiting for at least one thing to happen."""
        if self._timers:
            wait = min(wait, max(0.0, self._timers[0] - self._clock.onward()))
        events: list[Event] = []
        try:
            events.append(self._events.get(timeout=wait))
            while True:
                events.append(self._events.get_nowait())
        except queue.Empty:
            return events

    def _book(self, events: list[Event]) -> None:
        """Count what was done, once everything that the scheduler decided is under way."""
        for event in events:
            if isinstance(event, RebuildCancelled):
                self._listening.backfills.not_cancelled(event.table)
            if isinstance(event, UpdateFinished | UpdateFailed) and event.table in self._graph.units:
                self._rebuilds.ended(self._graph.units[event.table])
            if isinstance(event, UpdateFinished):
                self._report.updates += 1
                self._surroundings.succeeded()
                self._blameless.pop(event.table, None)
                cost = self._scheduler.cost(event.table) if event.table in self._graph.units else None
                if isinstance(cost, CostModel):
                    self._learnt[event.table] = cost
                # Rows that came out of order between two parts of a rebuild do not end it.
                if event.revised and not (self._scheduler.knows(event.table) and self._scheduler.rebuilds(event.table)):
                    self._listening.backfills.rebuilt(event.table)

    def _keep_costs(self) -> None:
        """Write down what the scheduler has learnt, when nothing happens: updates need the catalog for themselves."""
        units = self._graph.units
        self._catalog.tables.set_costs({unit: cost for unit, cost in self._learnt.items() if not units.is_group(unit)})
        for unit, cost in self._learnt.items():
            if units.is_group(unit):
                self._catalog.groups.put(unit, units[unit], cost)
        self._learnt = {}

    def _carry_out(self, command: Command) -> None:
        match command:
            case StartUpdate():
                self._rebuilds.begin(self._graph.units[command.table])
                self._tracks.start(command, self._arrangement.worker.carry_out)
            case WakeAt(time=time):
                heapq.heappush(self._timers, time)
            case GiveUp(table=unit, reason=reason):
                for table in self._graph.units[unit]:
                    self._report.failed[table] = reason
                    self._owed.add(partial(self._catalog.tables.set_status, table, "failed", reason))
                    self._news.tell(f"'{table}' is given up until `freshtide resume {table}`: {reason}")
                self._listening.backfills.failed(unit, reason)
            case DropRebuild(table=unit, reason=reason):
                self._drop_rebuild(unit, reason)

    def _drop_rebuild(self, unit: str, reason: str | None) -> None:
        """Not go on with a rebuild: because it fails, or because nobody wants it. One that is being committed lands."""
        found = [self._rebuilds.drop(table) for table in self._graph.units[unit]]
        for dropped in found:
            if dropped is not None:
                self._threads.spawn(dropped.discard, name="discard")
        if reason is not None:
            self._news.tell(f"The rebuild of '{unit}' is given up, and it is updated as ever without: {reason}")
            self._listening.backfills.given_up(unit, reason)
        elif all(dropped is not None for dropped in found):
            self._listening.backfills.cancelled(unit)

    def _done(self) -> bool:
        sources_quiet = self._listening.is_quiet and self._single_rows.is_quiet
        at_rest = self._events.empty() and self._scheduler.idle and not self._scheduler.retrying
        at_rest &= self._surroundings.is_well and not self._scheduler.held and not self._owed
        return sources_quiet and at_rest and not self._single_rows.waiting()

    def _announce_lost(self) -> None:
        """Tables can be computed anew: from the files of their feeds, or from the tables that they read."""
        for mending in self._mendings:
            self._news.tell(mending.told)
            if mending.table is not None:
                unit = self._graph.units.of(mending.table)
                self._events.put(RebuildRequested(table=unit, before_loads=mending.before_loads))

    def _announce_pending(self) -> None:
        """What was registered before this start and not loaded yet."""
        for unit, tables in self._graph.units.items():
            for event in pending_announcements(unit, [self._graph[table] for table in tables], self._catalog):
                self._events.put(event)
        # A content was accepted, and the run ended before all tables had it.
        outdated = self._catalog.arrivals.outdated_tables()
        for unit in self._graph.units.of_all(table for table in self._graph if table in outdated):
            self._events.put(RebuildRequested(table=unit))

    def _hand_over(self) -> Successor | None:
        """Go on with a changed project, if there is one, between two decisions. Updates that run end as they began."""
        successor = self._listening.applying.successor
        if successor is None:
            return None
        project = successor.arrangement.project
        reconfigure(self._scheduler, successor.change, self._trace.recording(reach_of(project)))
        self._trace.note_change(self._clock.onward(), successor.change)
        self._arrangement, self._leaving = successor.arrangement, frozenset(self._scheduler.leaving)
        self._tracks.resize(project.settings.tracks)
        self._learnt = {unit: cost for unit, cost in self._learnt.items() if unit in project.graph.units}
        self._on_change(successor.arrangement)
        self._listening.applying.done(successor)
        return successor

    def _concerns(self, event: Event) -> bool:
        """Whether an event is about something that is still there: of what was taken out, only the end of an update."""
        unit: str | None = getattr(event, "table", None)
        if unit is None or unit in self._graph.units:
            return True
        return isinstance(event, UpdateFinished | UpdateFailed) and self._scheduler.knows(unit)

    @property
    def _graph(self) -> TableGraph:
        return self._arrangement.graph

    def _book_late_finishers(self) -> None:
        """Updates that finished while the loop was ending have been committed: count them too."""
        events: list[Event] = []
        while not self._events.empty():
            events.append(self._events.get())
        self._book(events)
