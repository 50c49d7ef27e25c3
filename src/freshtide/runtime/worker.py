"""One update from command to outcome, on the thread of a track."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial

from freshtide.catalog import Catalog, TableRow, UpdateRow, UpdateStatus
from freshtide.clock import SystemClock
from freshtide.core.commands import StartUpdate
from freshtide.core.errors import FreshtideError, LeaseLostError, SurroundingsError
from freshtide.core.events import Event, UpdateFailed, UpdateFinished
from freshtide.core.feeds import Feed, SchemaChange
from freshtide.core.files import FeedFile, FileState
from freshtide.core.graph import TableGraph
from freshtide.core.loads import LoadPlan, due, in_order, plan_load
from freshtide.core.tables import Kind, Table
from freshtide.runs import leftover_announcements, look_at, to_rebuild_from
from freshtide.runtime.absences import Absences
from freshtide.runtime.awaiting import AwaitedTables
from freshtide.runtime.booking import GoneBackError, after_update, catch_up
from freshtide.runtime.gained import gained_columns
from freshtide.runtime.latest import LatestTableWorker
from freshtide.runtime.outcomes import FILES_AT_ONCE, Done, pool_of
from freshtide.runtime.pieces import PieceSizes
from freshtide.runtime.suspects import Suspects
from freshtide.runtime.unchanged import ChangedFilesError
from freshtide.runtime.verdicts import reason_of, surroundings_at_fault
from freshtide.runtime.watching import Surroundings
from freshtide.spark import AwaitedTableError, SharedScans, SparkEndedError, UnreadableFilesError, UpdateExecutor
from freshtide.storage import Store, UpdateKind, UpdateRecord

_ENDS_SPARK = (
    "Spark's process ended each time that this file was read, the last time with nothing else running: it may need "
    "more memory than there is. Raise `driver_memory` under `spark`, or split the file; then `freshtide feeds retry`."
)
_logger = logging.getLogger(__name__)


class EndsSparkError(FreshtideError):
    """An update that ends Spark's process whenever it runs."""

    def __init__(self, table: str) -> None:
        super().__init__(
            f"Spark's process ended during both of the last two updates of '{table}', the last time with nothing else "
            "running.",
            way_out=f"Raise `driver_memory` under `spark` in freshtide.yml, then run `freshtide resume {table}`.",
        )


class UpdateWorker:
    """Carries out StartUpdate commands and keeps the catalog's books on them."""

    def __init__(
        self,
        executor: UpdateExecutor,
        *,
        feeds: Mapping[str, Feed],
        graph: TableGraph,
        store: Store,
        catalog: Catalog,
        absences: Absences,
        clock: SystemClock,
        surroundings: Surroundings,
    ) -> None:
        self._surroundings = surroundings
        self._executor = executor
        self._absences = absences
        self._pieces = PieceSizes()
        self._feeds = feeds
        self._graph = graph
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._awaited = AwaitedTables(executor, graph=graph, catalog=catalog)
        self._suspects = Suspects()
        self.latest_tables = LatestTableWorker(
            executor,
            feeds=feeds,
            graph=graph,
            catalog=catalog,
            suspects=self._suspects,
            absences=absences,
            clock=clock,
        )

    def carry_out(self, command: StartUpdate, scans: SharedScans | None = None) -> list[Event]:
        """Run the update; whatever goes wrong becomes an event. `scans` are shared with the others of a group."""
        table = self._graph[command.table]
        started, began = self._clock.now(), self._clock.steady()
        update: int | None = None
        try:
            update = self._catalog.updates.start(self._row(command, started))
            caught_up = self.catch_up(table)
            try:
                done = self._watched(table, command, scans)
            except AwaitedTableError as error:
                took = self._clock.steady() - began
                return self._wait(command, error, update=update, at=started + took, took=took)
            took = self._clock.steady() - began
            # The commit has landed: what came of it is written down, whatever that takes.
            row = self._surroundings.insist(partial(self._book, table, done, update=update, started=started, took=took))
        except LeaseLostError:
            raise  # The run is over: there is nothing that it might still write down.
        except Exception as error:
            failed = self.failed(command, error)
            self._book_failure(failed, update, at=started + self._clock.steady() - began)
            return [failed]
        if done.outcome is not None:
            self._executor.tidy(table.name)
        finished = UpdateFinished(
            table=table.name,
            track=command.track,
            freshness=row.freshness,
            safe=row.safe,
            seconds=self._clock.steady() - began,
            revised=caught_up or _is_revised(done),
        )
        left_over: list[Event] = []
        with suppress(SurroundingsError):  # The run is ending: the next start announces what is pending.
            left_over = self._surroundings.insist(partial(self._left_over, table, command, done))
            if not left_over:
                self._suspects.acquit(table.name)
            left_over += self._surroundings.insist(self._awaited.released)
        return [finished, *left_over]

    def _wait(
        self, command: StartUpdate, error: AwaitedTableError, *, update: int, at: float, took: float
    ) -> list[Event]:
        """The update has done nothing: what is pending is announced again when it can."""
        self._surroundings.insist(lambda: self._catalog.updates.fail(update, at=at, error=str(error)))
        row = self._surroundings.insist(lambda: self._catalog.tables.get(command.table))
        ended = UpdateFinished(
            table=command.table, track=command.track, freshness=row.freshness, safe=row.safe, seconds=took
        )
        wait = partial(self._awaited.wait, command.table, str(error), rebuild=command.rebuild)
        return [ended, *self._surroundings.insist(wait)]

    def failed(self, command: StartUpdate, error: Exception) -> UpdateFailed:
        """What to tell of an update that failed, and whether it is to blame for that."""
        _logger.error("The update of '%s' failed.", command.table, exc_info=error)
        at_fault = surroundings_at_fault(error)
        if at_fault is not None:
            self._surroundings.suspect(at_fault)
        return UpdateFailed(
            table=command.table,
            track=command.track,
            reason=reason_of(at_fault or error),
            blameless=at_fault is not None,
            hopeless=isinstance(error, EndsSparkError | GoneBackError),
        )

    def _book_failure(self, failed: UpdateFailed, update: int | None, *, at: float) -> None:
        if update is None:
            return  # Nobody has heard of it.
        with suppress(SurroundingsError):  # The run is ending: the next start takes note of what was left running.
            if failed.blameless:
                self._surroundings.insist(lambda: self._catalog.updates.interrupt(update, at=at, error=failed.reason))
            else:
                self._surroundings.insist(lambda: self._catalog.updates.fail(update, at=at, error=failed.reason))
                self._surroundings.insist(lambda: self._catalog.tables.count_failure(failed.table))

    def _watched(self, table: Table, command: StartUpdate, scans: SharedScans | None) -> Done:
        """The update, with an eye on what it does to Spark."""
        with self._suspects.room(table.name):
            try:
                return self._update(table, command, scans)
            except SparkEndedError as error:
                self._surroundings.suspect(error)
                guilt = self._suspects.ended_spark(table.name)
                if guilt is None:
                    raise
                if guilt.file is None:
                    raise EndsSparkError(table.name) from None
                self._put_aside(guilt.file, _ENDS_SPARK)
                raise

    def _put_aside(self, file: FeedFile, reason: str) -> None:
        self._surroundings.insist(lambda: self._catalog.files.set_state(file.id, FileState.QUARANTINED, reason))

    def catch_up(self, table: Table) -> bool:
        """Finish what an earlier update decided to commit and could not, and book all that has landed.

        Whether that revised rows which dependents may have used.
        """
        self._executor.finish(table.name)
        found = catch_up(table, graph=self._graph, store=self._store, catalog=self._catalog, now=self._clock.now())
        if found is None:
            return False
        if table.kind is Kind.LATEST:
            self.latest_tables.begin_anew(table)
        return found

    def _update(self, table: Table, command: StartUpdate, scans: SharedScans | None) -> Done:
        match table.kind:
            case Kind.BASE:
                return self._load(table, command, scans)
            case Kind.LATEST:
                return self.latest_tables.carry_out(table, command)
            case Kind.VIEW | Kind.LATEST_VIEW:
                return self._refresh(table, command, scans)

    def _book(self, table: Table, done: Done, *, update: int, started: float, took: float) -> TableRow:
        """Write down what came of an update; the table's row after it.

        It has ended when it took so long, whatever the clock says by now: none ends before it began.
        """
        row = self._catalog.tables.get(table.name)
        if done.outcome is not None:
            if row.number >= done.outcome.record.number:
                return row  # It was written down before, and the answer was lost.
            row = after_update(row, done.outcome.record, done.outcome.version, took=took)
        rows = done.outcome.rows if done.outcome else 0
        self._catalog.book_update(row, update, files=done.landed_files, rows=rows, at=started + took)
        return row

    def _left_over(self, table: Table, command: StartUpdate, done: Done) -> list[Event]:
        """What the update should have taken and did not: there was too much at once."""
        if table.kind is Kind.LATEST:
            return [*self.latest_tables.left_over(table, done)]
        if not done.is_cut:
            return []
        return [*leftover_announcements(self._graph.units.of(table.name), table, self._catalog, command.upto)]

    def _refresh(self, table: Table, command: StartUpdate, scans: SharedScans | None) -> Done:
        outcome = self._executor.refresh(
            table.name, command.upto, pool=pool_of(command.track), rebuild=command.rebuild, scans=scans
        )
        return Done(outcome=outcome)

    def _load(self, table: Table, command: StartUpdate, scans: SharedScans | None) -> Done:
        """Load what is pending; files that turn out unreadable are put aside and the others go on."""
        while True:
            plan = self._plan(table, command)
            # Also where nothing is left that it was loaded from: what a flow wrote beside it goes with a rebuild.
            if not plan.files and not (command.rebuild and table.flow is not None):
                return Done()
            if not command.rebuild:
                self._suspects.takes(table.name, [item.file for item in plan.items])
            try:
                return self._load_files(table, command, plan, scans)
            except (UnreadableFilesError, ChangedFilesError) as error:
                if command.rebuild:
                    raise
                for file, reason in error.reasons:
                    self._put_aside(file, reason)

    def _load_files(self, table: Table, command: StartUpdate, plan: LoadPlan, scans: SharedScans | None) -> Done:
        feed = self._feed_of(table)
        pool = pool_of(command.track)
        if feed.on_schema_change is SchemaChange.EVOLVE:
            files = [item.file for item in plan.items]
            known = gained_columns(feed, self._catalog)
            found = self._executor.discovered_columns(feed.name, files, known=known, pool=pool)
            self._catalog.files.add_columns(feed.name, found)
        extra = gained_columns(feed, self._catalog)
        begun = self._clock.steady()
        outcome = self._executor.load(table.name, plan, extra=extra, pool=pool, rebuild=command.rebuild, scans=scans)
        if not command.rebuild:
            self._pieces.measured(table.name, plan.files, self._clock.steady() - begun)
        return Done(outcome=outcome, files=plan.files, is_cut=plan.is_cut)

    def _plan(self, table: Table, command: StartUpdate) -> LoadPlan:
        feed = self._feed_of(table)
        snapshot = self._store.table(table.name).snapshot
        record = snapshot.record if snapshot else None
        if command.rebuild:
            return _plan_rebuild(feed, to_rebuild_from(table, self._catalog), record)
        most = self._suspects.most(table.name, FILES_AT_ONCE)
        files = self._intact(table, command.upto, most)
        waiting = due(in_order(files), command.upto)
        plan = plan_load(
            feed,
            files,
            upto=command.upto,
            freshness=record.freshness if record else None,
            safe=record.safe if record else None,
            most=min(most, self._pieces.fitting(table.name, waiting)),
            held_up=self._catalog.files.held_up(table.name, waiting),
        )
        # Of what is due no more than that was asked for.
        return replace(plan, is_cut=plan.is_cut or len(plan.items) >= most)

    def _intact(self, table: Table, upto: float, most: int) -> list[FeedFile]:
        """The next files to load as they stand; those that have changed since they were registered are put aside."""
        while True:
            files = self._catalog.files.pending_first(table.name, upto=upto, most=most)
            standing = look_at(files, self._catalog)
            if standing is not None:
                self._absences.note(table.name, standing)
                return standing

    def _feed_of(self, table: Table) -> Feed:
        assert table.feed is not None, f"{table.name} is not a base table"
        return self._feeds[table.feed]

    def _row(self, command: StartUpdate, started: float) -> UpdateRow:
        known = self._catalog.tables.get(command.table)
        return UpdateRow(
            table=command.table,
            number=known.number + 1,
            kind=_kind(self._graph[command.table], command),
            track=command.track,
            status=UpdateStatus.RUNNING,
            started_at=started,
            upto=command.upto,
            from_freshness=known.freshness,
            decision=asdict(command.decision) if command.decision else None,
        )


def _plan_rebuild(feed: Feed, files: list[FeedFile], record: UpdateRecord | None) -> LoadPlan:
    """Load everything once more, in the order of time.

    Rows that had come too late may now be in time; what was promised to dependents stays promised.
    """
    plan = plan_load(feed, files, upto=None, freshness=None, safe=None)
    if record is None or record.safe is None:
        return plan
    return replace(plan, safe=max(record.safe, plan.safe or record.safe))


def _kind(table: Table, command: StartUpdate) -> UpdateKind:
    if command.rebuild:
        return UpdateKind.REBUILD
    match table.kind:
        case Kind.BASE:
            return UpdateKind.LOAD
        case Kind.LATEST:
            return UpdateKind.MERGE
        case Kind.VIEW | Kind.LATEST_VIEW:
            return UpdateKind.REFRESH


def _is_revised(done: Done) -> bool:
    """Whether the update has changed what was there before. A merge always does, and everybody knows that it does."""
    if done.outcome is None or done.outcome.record.kind is UpdateKind.MERGE:
        return False
    return done.outcome.record.revised_from is not None
