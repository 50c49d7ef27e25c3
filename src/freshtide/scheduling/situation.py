"""All tables together: how what happens changes them, and which of them could be updated then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from freshtide.core.commands import Command, DropRebuild, GiveUp, WakeAt
from freshtide.core.events import (
    ContentChanged,
    DataArrived,
    Event,
    RebuildCancelled,
    RebuildRequested,
    SurroundingsFailed,
    SurroundingsMended,
    TablePaused,
    TableResumed,
    TimerFired,
    UpdateFailed,
    UpdateFinished,
)
from freshtide.scheduling.adaptive import Adaptation
from freshtide.scheduling.aging import Aging
from freshtide.scheduling.arrears import Arrears
from freshtide.scheduling.conditions import NOT_RUNNING, RetryPolicy, TableStatus
from freshtide.scheduling.dispatch import Dispatcher
from freshtide.scheduling.expectations import Expectations
from freshtide.scheduling.inheritance import Inheritance
from freshtide.scheduling.known import KnownTable
from freshtide.scheduling.linking import inherit
from freshtide.scheduling.slack import Slack


class Situation:
    """What is known of all tables. Events change it; nothing in here starts an update."""

    def __init__(
        self,
        tables: list[KnownTable],
        dispatcher: Dispatcher,
        *,
        expectations: Expectations | None,
        adaptation: Adaptation | None,
        aging: Aging | None,
        slack: Slack | None,
        arrears: Arrears | None,
        inheritance: Inheritance,
        retry: RetryPolicy,
        reach: Callable[[str, float], float | None] | None,
    ) -> None:
        """`reach` says how far an update to a cut takes a derived table: all the way, unless buckets have to close."""
        self.tables = {table.name: table for table in tables}
        self.dispatcher = dispatcher
        self.expectations = expectations
        self.adaptation = adaptation
        self._aging = aging
        self._slack = slack
        self._arrears = arrears
        self._inheritance = inheritance
        self._retry = retry
        self._reach = reach
        self.retrying: dict[str, None] = {}
        """The tables that are to be tried again later."""
        self._asked: list[float] = []
        """The moments that were asked for and have not come: a heap."""
        self.held = False
        """Whether nothing is to be started, because the surroundings are not well."""
        self.touched = list(tables)
        """The tables to look at: whether they could be updated may have changed.

        Any of them could be from the start; what is there then counts as released at the first call."""
        self._update_streams = [table for table in tables if table.spec.update_stream]
        steering = (expectations, adaptation, aging)
        self.is_steered = bool(self._update_streams) or any(steerer is not None for steerer in steering)
        """Whether more counts than what has arrived and ended. Mostly it does not, and need not be asked for thrice."""
        self._appliers: dict[type, Callable[..., Command | None]] = {
            ContentChanged: self._see_content,
            UpdateFailed: self._fail,
            SurroundingsFailed: self._hold,
            SurroundingsMended: self._go_on,
            TimerFired: self._wake,
            TablePaused: self._pause,
            TableResumed: self._resume,
            RebuildRequested: self._want_rebuild,
            RebuildCancelled: self._cancel_rebuild,
        }

    def take_over(self, before: Situation) -> None:
        """Go on from a situation of other tables: that they are looked at, and may wait to be tried again, is known."""
        self.held = before.held
        self.retrying = {name: None for name, table in self.tables.items() if table.condition.retry_at is not None}
        if self.expectations is not None and before.expectations is not None:
            self.expectations.take_over(before.expectations)

    def apply(self, events: Iterable[Event], now: float) -> tuple[Command, ...]:
        """Take note of all that happened; commands that follow whatever is decided."""
        commands: tuple[Command, ...] = ()
        tables, touched, steered = self.tables, self.touched, self.is_steered
        # A simulation tells millions of arrivals and ends of updates: what else there is, is behind one test each.
        for event in events:
            if type(event) is DataArrived:
                table = tables[event.table]
                at = now if event.at is None else event.at
                if table.candidate.update_stream:
                    table.pending.arrive_together(event.timestamp, at)
                else:
                    table.pending.arrive(event.timestamp, at)
                if table.condition.track == NOT_RUNNING:
                    # A running table is looked at when its update ends.
                    touched.append(table)
                if steered:
                    self._note_arrival(table, at)
            elif type(event) is UpdateFinished:
                self._finish(event, now)
            else:
                command = self._appliers[type(event)](event, now)
                if command is not None:
                    commands += (command,)
        return commands

    def _finish(self, event: UpdateFinished, now: float) -> None:
        table = self.tables[event.table]
        condition, pending = table.condition, table.pending
        if self._arrears is not None:
            self._arrears.settle(table, event.freshness, now)
        condition.served_at = now
        if table.plain:
            condition.freshness, condition.safe, condition.revised = event.freshness, event.safe, event.revised
        else:
            self._note_end(table, event, now)
        self.dispatcher.give_back(table)
        pending.drop_taken()
        if pending.stamps:
            self.touched.append(table)

    def steer(self, now: float) -> list[Command]:
        """Whatever changes with time alone: modes and releases, and the ranks of update streams."""
        commands: list[Command] = []
        if self.adaptation is not None:
            for table in self.touched:
                if table.sources:
                    self._see_edge(table, now)
            wake = self.adaptation.advance(self.touched, now)
            if wake is not None:
                commands.append(self._ask_for(wake))
        for table in self._update_streams:
            # They have grown staler while they waited: their ranks hold for one moment only.
            if table.candidate.ticket and self._propose(table, now):
                self.enqueue(table, now)
        if self._aging is not None:
            for table in self._aging.outdated(now):
                if self._propose(table, now):
                    self.enqueue(table, now)
        return commands

    def enqueue(self, table: KnownTable, now: float) -> None:
        """Let a table wait with the rank of its candidate as it is now."""
        self.dispatcher.put(table)
        if self._aging is not None:
            self._aging.ranked(table, now)

    def line_up(self, now: float) -> None:
        """Let those wait that could be updated, and nobody else."""
        dispatcher = self.dispatcher
        for table in self.touched:
            if self.could_start(table, now):
                self.enqueue(table, now)
            elif table.candidate.ticket:
                dispatcher.withdraw(table)
        self.touched.clear()

    def could_start(self, table: KnownTable, now: float) -> bool:
        """Whether there is something to update, by its sources if it has any, and nothing that forbids it."""
        if table.plain:
            return table.propose(now)
        if table.sources:
            self._see_edge(table, now)
        return table.condition.track == NOT_RUNNING and table.condition.able and self._propose(table, now)

    def _propose(self, table: KnownTable, now: float) -> bool:
        """Bring the table's candidate up to date; False if there is nothing to update."""
        return table.propose(now) if self.adaptation is None else self.adaptation.propose(table, now)

    def _see_edge(self, table: KnownTable, now: float) -> None:
        edge = table.edge
        if edge is not None and self._reach is not None:
            edge = self._reach(table.name, edge)
        stamps = table.pending.stamps
        known = len(stamps)
        table.pending.follow(edge, table.condition.freshness, now)
        if self.expectations is not None and len(stamps) > known:
            self.expectations.released(table, now)

    def _note_arrival(self, table: KnownTable, at: float) -> None:
        if self.expectations is not None:
            self.expectations.released(table, at)
        if self.adaptation is not None:
            # A table can fall behind, and so change its mode, during its update.
            self.touched.append(table)

    def _note_end(self, table: KnownTable, event: UpdateFinished, now: float) -> None:
        """What the end of an update means where more hangs on it than that its data is loaded."""
        streams = table.spec.update_stream
        before, after = table.condition.freshness, event.freshness
        # An update stream's updates take what has waited so long, wherever its time stamps are.
        gained = table.candidate.delta if streams else None if before is None or after is None else after - before
        # How long an update took that waited for disk, database or Spark says nothing about the next one.
        is_typical = not (table.pending.rebuild_taken or table.condition.disturbed or event.unfinished)
        if table.estimate.learns and gained is not None and is_typical:
            table.estimate.learn(gained, event.seconds)
            misfits = self.adaptation is not None and self.adaptation.is_outdated(table)
            if self.dispatcher.is_outdated(table) or misfits:
                self._share_out()
            elif self._slack is not None:
                self._slack.limit(table)
        elif self._slack is not None and before is None and after is not None and is_typical:
            # It may have been cut short of where it was told to go.
            table.estimate.loaded_first(after - table.candidate.upto + table.candidate.delta, event.seconds)
            self._slack.limit(table)
        table.succeeded(event.freshness, event.safe, revised=event.revised, unfinished=event.unfinished)
        if table.condition.status is TableStatus.LEAVING:
            self._forget(table)
        # Something may be wanted that did not arrive: a rebuild, or to follow a source.
        self.touched.append(table)
        for dependent in table.dependents:
            if event.revised or (streams and not table.spec.reference):
                # What was computed from the old rows is as wrong as they were; an update stream always replaces some.
                # What is read as a whole says itself whether it has changed.
                dependent.pending.want_revision(now)
            self.touched.append(dependent)
        if self.adaptation is not None:
            self.adaptation.ended(table, now)

    def _see_content(self, event: ContentChanged, now: float) -> None:
        """Nothing ran for it: those that read it follow, in the same breath as those that read what did run."""
        table = self.tables[event.table]
        table.condition.freshness = table.condition.safe = event.freshness
        table.condition.first_load = table.plain = False
        for dependent in table.dependents:
            if event.revised:
                dependent.pending.want_revision(now)
            self.touched.append(dependent)

    def _fail(self, event: UpdateFailed, now: float) -> Command | None:
        table = self.tables[event.table]
        self.dispatcher.give_back(table)
        table.condition.served_at = now
        was_rebuild, is_dropped = table.pending.rebuild_taken, table.pending.rebuild_dropped
        table.failed(counts=not (event.blameless or is_dropped))
        if self.adaptation is not None:
            self.adaptation.failed(table)
        self.touched.append(table)
        if table.condition.status is TableStatus.LEAVING:
            self._forget(table)
            return None
        if event.blameless or is_dropped:
            return None
        wait = None if event.hopeless else self._retry.wait_after(table.condition.failures)
        if wait is None and was_rebuild and table.pending.drop_rebuild():
            # The table is as good without, and is updated as ever.
            table.condition.failures = 0
            return DropRebuild(event.table, event.reason)
        if wait is None:
            self._set_status(table, TableStatus.FAILED)
            return GiveUp(event.table, event.reason)
        table.change(table.condition.status, now + wait)
        self.retrying[event.table] = None
        return self._ask_for(now + wait)

    def _hold(self, _event: SurroundingsFailed, _now: float) -> None:
        self.held = True
        for table in self.dispatcher.running.values():
            table.disturb()

    def _go_on(self, _event: SurroundingsMended, _now: float) -> None:
        self.held = False
        self.dispatcher.stir()

    def _wake(self, _event: TimerFired, now: float) -> Command | None:
        for name in list(self.retrying):
            retry_at = self.tables[name].condition.retry_at
            if retry_at is not None and retry_at <= now:
                self._stop_waiting(name)
        if self.adaptation is not None:
            self.adaptation.woken(now)
        if not self._asked:
            return None
        if self._asked[0] > now:
            # The timer is early, or the clock was set back: what was asked for is still to come, and there is no other.
            return WakeAt(self._asked[0])
        heappop(self._asked)
        return None

    def _ask_for(self, moment: float) -> WakeAt:
        heappush(self._asked, moment)
        return WakeAt(moment)

    def _pause(self, event: TablePaused, _now: float) -> None:
        self._set_status(self.tables[event.table], TableStatus.PAUSED)

    def _resume(self, event: TableResumed, _now: float) -> None:
        self.tables[event.table].condition.failures = 0
        self._stop_waiting(event.table)
        self._set_status(self.tables[event.table], TableStatus.ACTIVE)

    def _want_rebuild(self, event: RebuildRequested, now: float) -> None:
        table = self.tables[event.table]
        table.want_rebuild(now, wished=event.wished, before_loads=event.before_loads)
        self.touched.append(table)

    def _cancel_rebuild(self, event: RebuildCancelled, _now: float) -> Command | None:
        table = self.tables[event.table]
        if not table.pending.drop_rebuild():
            return None
        self.touched.append(table)
        return DropRebuild(event.table)

    def _stop_waiting(self, name: str) -> None:
        table = self.tables[name]
        table.change(table.condition.status, None)
        self.retrying.pop(name, None)
        self.touched.append(table)

    def _set_status(self, table: KnownTable, status: TableStatus) -> None:
        """A table that takes part no longer leaves its share of the tracks to the others, and gets one when it does.

        What it passes on to its sources goes and comes with that.
        """
        moved = status is not table.condition.status
        table.change(status, table.condition.retry_at)
        self.touched.append(table)
        if moved:
            if table.sources:
                self.touched += inherit(list(self.tables.values()), self._inheritance)
            self._share_out()

    def _forget(self, table: KnownTable) -> None:
        """The last update has ended of a table that is declared no longer."""
        del self.tables[table.name]
        table.estimate.withdraw()

    def _share_out(self) -> None:
        self.dispatcher.share_out()
        if self._slack is not None:
            self._slack.share_out()
        if self.adaptation is not None:
            self.adaptation.plan()
