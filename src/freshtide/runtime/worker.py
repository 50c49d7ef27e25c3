"""One update from command to outcome, on the thread of a track."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial

from freshtide.catalog import Catalog, TableRow, UpdateRow, UpdateStatus
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.choosing import Learnt
from freshtide.core.commands import StartUpdate
from freshtide.core.errors import FreshtideError, LeaseLostError, SurroundingsError
from freshtide.core.events import Event, UpdateFailed, UpdateFinished
from freshtide.core.feeds import Feed
from freshtide.core.graph import TableGraph
from freshtide.core.steps import Load, Refresh, TakeIn, Tidy
from freshtide.core.tables import Kind, SqlQuery, Table
from freshtide.runs import leftover_announcements
from freshtide.runtime.awaiting import AwaitedTables
from freshtide.runtime.booking import GoneBackError, after_update, catch_up
from freshtide.runtime.execution import Computer, Executor, Outcome
from freshtide.runtime.latest import WaitingRows
from freshtide.runtime.madetables import MadeTables
from freshtide.runtime.memory import UpdateMemory
from freshtide.runtime.rebuilds import Dropped, DroppedRebuildError, RebuildPart
from freshtide.runtime.steps import Steps
from freshtide.runtime.unchanged import ChangedFilesError
from freshtide.runtime.verdicts import reason_of, surroundings_at_fault
from freshtide.runtime.viewrebuilds import OutdatedPartsError, ViewPart
from freshtide.runtime.watching import Surroundings
from freshtide.runtime.writtenparts import WrittenPart
from freshtide.spark import AwaitedTableError, SharedScans, SparkEndedError, UnreadableFilesError
from freshtide.storage import Prepared, Store, UpdateKind
from freshtide.world import Clock

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """What came of an update; without an outcome there was nothing to do after all."""

    outcome: Outcome | None
    is_cut: bool
    """Whether there was more to take in than one update takes."""
    is_unfinished: bool = False
    """Whether it was a part of a rebuild, and others are to follow."""
    learnt: Learnt | None = None
    """What is known of the ways to compute the view, where there are two."""


class UpdateWorker:
    """Carries out StartUpdate commands and keeps the catalog's books on them."""

    def __init__(
        self,
        executor: Executor,
        computer: Computer,
        *,
        feeds: Mapping[str, Feed],
        graph: TableGraph,
        store: Store,
        catalog: Catalog,
        memory: UpdateMemory,
        clock: Clock,
        surroundings: Surroundings,
    ) -> None:
        self._surroundings = surroundings
        self._executor = executor
        self._computer = computer
        self._graph = graph
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._awaited = AwaitedTables(computer, graph=graph, catalog=catalog, waiting=memory.awaiting)
        self._made = MadeTables(graph, store, catalog, clock=clock, surroundings=surroundings)
        self._suspects = memory.suspects
        self._rebuilds = memory.rebuilds
        self._steps = Steps(
            computer,
            feeds=feeds,
            graph=graph,
            store=store,
            catalog=catalog,
            memory=memory,
            clock=clock,
        )
        self.waiting_rows = WaitingRows(computer.streams, feeds=feeds, graph=graph, catalog=catalog)

    def carry_out(self, command: StartUpdate, scans: SharedScans | None = None) -> list[Event]:
        """Run the update; whatever goes wrong becomes an event. `scans` are shared with the others of a group."""
        table = self._graph[command.table]
        started, began = self._clock.now(), self._clock.steady()
        update: int | None = None
        try:
            booked = self._catalog.tables.get(table.name)
            update = self._catalog.updates.start(self._row(command, booked, started))
            caught_up = self.catch_up(table, booked)
            try:
                with self._suspects.room(table.name), self._with_an_eye_on_spark(table):
                    done = self._update(table, command, scans, update)
            except (AwaitedTableError, DroppedRebuildError) as error:
                took = self._clock.steady() - began
                ended = self._in_vain(command, error, update=update, at=started + took, took=took)
                return ended if isinstance(error, DroppedRebuildError) else ended + self._wait(command, error)
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
            self._executor.run(Tidy(table=table), track=command.track)
        finished = UpdateFinished(
            table=table.name,
            track=command.track,
            freshness=row.freshness,
            safe=row.safe,
            seconds=self._clock.steady() - began,
            revised=caught_up or _is_revised(table, done),
            unfinished=done.is_unfinished,
        )
        left_over: list[Event] = []
        with suppress(SurroundingsError):  # The run is ending: the next start announces what is pending.
            left_over = self._surroundings.insist(partial(self._left_over, table, command, done))
            if not left_over:
                self._suspects.acquit(table.name)
            left_over += self._surroundings.insist(self._awaited.released)
            left_over += self._made.booked_with(table)
        return [finished, *left_over]

    def _in_vain(
        self, command: StartUpdate, error: FreshtideError, *, update: int, at: float, took: float
    ) -> list[Event]:
        """The update has done nothing, and nothing is to blame for it."""
        self._surroundings.insist(lambda: self._catalog.updates.fail(update, at=at, error=str(error)))
        row = self._surroundings.insist(lambda: self._catalog.tables.get(command.table))
        ended = UpdateFinished(
            table=command.table,
            track=command.track,
            freshness=row.freshness,
            safe=row.safe,
            seconds=took,
            # What else it was to follow than the rebuild that nobody wants any more is still to be followed.
            unfinished=isinstance(error, DroppedRebuildError),
        )
        return [ended]

    def _wait(self, command: StartUpdate, error: AwaitedTableError) -> list[Event]:
        """What is pending is announced again when it can be loaded."""
        wait = partial(self._awaited.wait, command.table, str(error), rebuild=command.rebuild)
        return [*self._surroundings.insist(wait)]

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

    @contextmanager
    def _with_an_eye_on_spark(self, table: Table) -> Iterator[None]:
        """Where an update ends Spark's process time and again, the file that does it is put aside."""
        try:
            yield
        except SparkEndedError as error:
            self._surroundings.suspect(error)
            guilt = self._suspects.ended_spark(table.name)
            if guilt is None:
                raise
            if guilt.file is None:
                raise EndsSparkError(table.name) from None
            self._put_aside(guilt.file, _ENDS_SPARK)
            raise

    def _put_aside(self, file: Arrival, reason: str) -> None:
        self._surroundings.insist(lambda: self._catalog.arrivals.set_state(file.id, ArrivalState.QUARANTINED, reason))

    def catch_up(self, table: Table, booked: TableRow) -> bool:
        """Finish what an earlier update decided to commit and could not, and book all that has landed beyond a row.

        Whether that revised rows which dependents may have used.
        """
        self._computer.finish(table.name)
        now = self._clock.now()
        found = catch_up(table, booked, graph=self._graph, store=self._store, catalog=self._catalog, now=now)
        if found is None:
            return False
        if table.kind is Kind.LATEST:
            self.waiting_rows.begin_anew(table)
        return found

    def _update(self, table: Table, command: StartUpdate, scans: SharedScans | None, update: int) -> _Done:
        """Step by step; files that turn out unreadable are put aside and the others go on."""
        progress = self._steps.begin(command, in_parts=scans is None)
        while True:
            try:
                step = self._steps.next(table, progress)
                if step is None:
                    return _Done(outcome=None, is_cut=progress.is_cut)
                begun = self._clock.steady()
                part = progress.part
                if part is not None:
                    self._catalog.updates.note_progress(update, part.progress)
                if part is not None and not part.is_last:
                    assert isinstance(step, Load | Refresh), "tables of other kinds are rebuilt at once"
                    part.keep(self._executor.prepare(step, track=command.track))
                    self._steps.measured(step, self._clock.steady() - begun, progress)
                    return _Done(outcome=None, is_cut=False, is_unfinished=True)
                complete = partial(self._landing, table, command, part) if command.rebuild or part else None
                outcome = self._executor.run(step, track=command.track, scans=scans, complete=complete)
            except OutdatedPartsError:
                # Others get their turn before it is computed again.
                return _Done(outcome=None, is_cut=False, is_unfinished=True)
            except (UnreadableFilesError, ChangedFilesError) as error:
                if command.rebuild:
                    raise
                for file, reason in error.reasons:
                    self._put_aside(file, reason)
                continue
            landed = None if outcome is None else outcome.record
            self._steps.measured(step, self._clock.steady() - begun, progress, landed)
            if not isinstance(step, TakeIn):
                return _Done(outcome=outcome, is_cut=progress.is_cut, learnt=progress.learnt)

    def _landing(
        self, table: Table, command: StartUpdate, part: RebuildPart | ViewPart | None, prepared: Prepared
    ) -> Prepared:
        """What is to be committed of a table that is computed anew, if it still is."""
        if command.rebuild:
            try:
                self._rebuilds.land(table.name)
            except DroppedRebuildError:
                Dropped([WrittenPart(prepared=prepared)]).discard()
                raise
        return prepared if part is None else part.gathered(prepared)

    def _book(self, table: Table, done: _Done, *, update: int, started: float, took: float) -> TableRow:
        """Write down what came of an update; the table's row after it.

        It has ended when it took so long, whatever the clock says by now: none ends before it began.
        """
        row = self._catalog.tables.get(table.name)
        if done.outcome is not None:
            if row.number >= done.outcome.record.number:
                return row  # It was written down before, and the answer was lost.
            row = after_update(row, done.outcome.record, done.outcome.version, took=took)
            row = row if done.learnt is None else replace(row, learnt=done.learnt)
            row = replace(row, query=table.query if isinstance(table.query, SqlQuery) and not table.is_base else None)
        rows, files = (done.outcome.rows, done.outcome.landed_files) if done.outcome else (0, ())
        self._catalog.book_update(row, update, files=files, rows=rows, at=started + took)
        return row

    def _left_over(self, table: Table, command: StartUpdate, done: _Done) -> list[Event]:
        """What the update should have taken and did not: there was too much at once."""
        if table.kind is Kind.LATEST:
            # What waits for windows goes on from where a rebuild has put it down: other files are read again.
            return [*self.waiting_rows.left_over(table, is_cut=done.is_cut or command.rebuild)]
        if not done.is_cut:
            return []
        return [*leftover_announcements(self._graph.units.of(table.name), table, self._catalog, command.upto)]

    def _row(self, command: StartUpdate, known: TableRow, started: float) -> UpdateRow:
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
        case Kind.MADE:
            return UpdateKind.FLOW


def _is_revised(table: Table, done: _Done) -> bool:
    """Whether the update has changed what was there before.

    A merge always does, and everybody knows that it does, but of a table that is read as a whole.
    """
    if done.outcome is None or (done.outcome.record.kind is UpdateKind.MERGE and not table.is_reference):
        return False
    return done.outcome.record.revised_from is not None
