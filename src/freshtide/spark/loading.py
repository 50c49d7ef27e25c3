"""Loading a base table: files in; rows, rejects and late rows out, each exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import Column, Feed
from freshtide.core.loads import LoadItem, LoadPlan
from freshtide.core.steps import Load
from freshtide.core.tables import SqlQuery, Table
from freshtide.spark.flows.loads import TableFlow
from freshtide.spark.ingest import Batch, FeedReader, Unchanged, WatchFiles, confirmed, in_question
from freshtide.spark.queries import asks_for_files
from freshtide.spark.results import Results
from freshtide.spark.scans import SharedScans
from freshtide.spark.sessions import compiled_plans
from freshtide.spark.unreadable import KnownGood, reading
from freshtide.spark.verdicts import Tally
from freshtide.spark.writing import Written, arrow_schema, write_result
from freshtide.storage import (
    BEGINNING,
    Change,
    Counts,
    LoadedArrival,
    Prepared,
    Snapshot,
    Store,
    StoredTable,
    UnstorableError,
    UpdateKind,
    UpdateRecord,
    next_number,
    otherwise_timed,
)

# Up to this much a single thread that parses lines is done before a job has begun and ended.
_HANDED_OVER = 256 * 1024
# And so much more for each file: what a job takes longer for each that it opens is as long as lines of 27 KB take. Not
# without end: all of it is in memory at once.
_HANDED_OVER_PER_FILE = 16 * 1024
_HANDED_OVER_AT_MOST = 8 * 1024 * 1024


class OtherTimesError(FreshtideError):
    """Rows that were to be added to others which have their times by another zone or expression."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason} They do not go together.", way_out="The table is loaded anew when a run starts.")


class MiscountedError(FreshtideError):
    """Rows that were counted in two ways, which do not agree."""

    def __init__(self, table: Table, difference: str) -> None:
        super().__init__(
            f"The rows of a load of '{table.name}' do not add up: {difference}. Nothing of it was committed.",
            way_out="The load is tried again. If it goes on, its files are worth a look.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Good:
    """What goes into the table, and what was found among all rows that were read for it."""

    written: Written
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Rows that did not make it into the table."""

    counts: Counts
    rejected: Written | None = None
    late: Written | None = None


class BaseTableLoader:
    """Loads files into one base table and the two tables beside it."""

    def __init__(
        self,
        session: SparkSession,
        table: Table,
        feed: Feed,
        store: Store,
        *,
        extra: tuple[Column, ...],
        large_update: int,
        clock: Callable[[], float],
        watch: WatchFiles,
        scans: SharedScans | None = None,
        flow: TableFlow | None = None,
    ) -> None:
        """`flow` is what the rows go through on their way into the table, where it names one."""
        self._flow = flow
        self._session = session
        self._table = table
        self._feed = feed
        self._reader = FeedReader(
            session=session,
            feed=feed,
            extra=extra,
            watch=watch,
            partitions=table.partitioned_as_fed,
            scans=scans,
        )
        self._results = Results(session=session, table=table)
        self._large_update = large_update
        self._clock = clock
        self._tables = store.root
        self._main = store.table(table.name, time_column=table.time_column)
        self._rejects = store.table(f"{table.name}__rejects")
        self._late = store.table(f"{table.name}__late", time_column=table.time_column)

    @contextmanager
    def prepared(self, step: Load, *, definition: str) -> Iterator[Prepared]:
        """Read the files of a load, and write what goes into the table and beside it."""
        plan, rebuild, current = step.plan, step.rebuild, self._main.snapshot
        if not rebuild and (reason := otherwise_timed(self._table.name, current, self._feed.meaning_of_times)):
            raise OtherTimesError(reason)
        number = next_number(self._main, (self._rejects, self._late), at=self._clock())
        record = UpdateRecord(
            number=number,
            kind=UpdateKind.REBUILD if rebuild else UpdateKind.LOAD,
            freshness=plan.freshness,
            safe=plan.safe,
            definition=definition,
            times=self._feed.meaning_of_times,
            arrivals=tuple(LoadedArrival.of(file) for file in plan.arrivals),
            targets=current.record.targets if current is not None and current.record is not None else {},
        )
        known_good = KnownGood(session=self._session, feed=self._feed, tables=self._tables)
        unchanged = self._reader.watch([item.arrival for item in plan.items])
        with reading(plan.items, lambda item: self._reader.read([item]).read_through(), known_good=known_good):
            if self._flow is None:
                yield self._loaded(plan, record, unchanged, self._results)
            elif plan.items or current is None or rebuild:
                with self._loaded_through(self._flow, plan, record, unchanged) as flowed:
                    yield flowed
            else:
                # Punctuation alone: there is nothing to put through the flow.
                nothing = Written(files=(), schema=current.schema)
                yield self._update(plan, record, nothing, _Sides(counts=Counts()))

    def _loaded(self, plan: LoadPlan, record: UpdateRecord, unchanged: Unchanged, results: Results) -> Prepared:
        """Where a value is met that no table can hold, once more without such."""
        good: _Good | None = None
        try:
            good = self._good_rows(plan, record.number, results, judge=_are_held_apart(plan.items))
            sides = self._side_rows(plan, record.number, good.tally, results)
        except UnstorableError:
            if good is not None:
                self._main.discard(good.written.files)
            if results.only_storable or not results.can_be_told_apart:
                raise
            return self._loaded(plan, record, unchanged, replace(results, only_storable=True))
        unchanged()
        return self._update(plan, record, good.written, self._accounted(sides, good.written.rows))

    @contextmanager
    def _loaded_through(
        self, flow: TableFlow, plan: LoadPlan, record: UpdateRecord, unchanged: Unchanged
    ) -> Iterator[Prepared]:
        """What is late is told before the flow: it may stamp rows as it likes."""
        batch, tally = self._judged(plan.items)
        rows = self._results.of(batch.good())
        large = self._is_large(plan.items)
        with (
            compiled_plans(self._session) if large else nullcontext(),
            flow.carried_out(
                self._session,
                rows,
                self._main,
                number=record.number,
                large=large,
                anew=record.kind is UpdateKind.REBUILD,
                now=self._clock,
            ) as flowed,
        ):
            sides = self._side_rows(plan, record.number, tally, self._results)
            unchanged()
            sides = self._accounted(sides, flowed.rows_in)
            counts = replace(sides.counts, loaded=flowed.written.rows, flowed=flowed.rows_in)
            record = replace(record, targets=flowed.targets(record.targets))
            update = self._update(plan, record, flowed.written, replace(sides, counts=counts))
            yield replace(update, others=tuple(flowed.others), journal=flowed.folder)

    def _judged(self, items: Sequence[LoadItem]) -> tuple[Batch, Tally]:
        """A batch that can be read again and again, with all rows that are late or of the future told apart."""
        batch = self._reader.read(items, judge=_are_held_apart(items), with_files=False)
        tally = confirmed(None, items, batch.tally)
        if not in_question(self._feed, items, tally):
            return batch, tally
        batch = self._reader.read(items, with_files=False)
        return batch, confirmed(None, items, batch.tally)

    def _good_rows(self, plan: LoadPlan, number: int, results: Results, *, judge: bool) -> _Good:
        """Write what goes into the table.

        Hardly a file has rows that are late or of the future. Where all files are held to the same limit of lateness,
        the rows are read without looking for any; if then one turns out to be such by the bounds of what was read, they
        are read once more.
        """
        batch = self._reader.read(
            plan.items,
            judge=judge,
            # With their files the rows can serve everything that the tables of a group want to know of them.
            with_files=self._reader.scans is not None,
            handed=self._is_handed_over(plan.items),
        )
        if batch.lines is not None:
            written = self._write(results.of(batch.good()), self._main, number, plan)
            tally = self._tally_of_lines(batch, batch.lines, written)
        else:
            watched, watch = batch.watched()
            written = self._write(results.of(watched.good()), self._main, number, plan)
            tally = confirmed(watch.tally, plan.items, batch.tally)
        if judge or not in_question(self._feed, plan.items, tally):
            return _Good(written=written, tally=tally)
        self._main.discard(written.files)
        return self._good_rows(plan, number, results, judge=True)

    def _tally_of_lines(self, batch: Batch, lines: int, written: Written) -> Tally:
        """Of each line a row was made. Where the query leaves none out and all have been written, all were good."""
        lows = [file.low for file in written.files]
        highs = [file.high for file in written.files]
        if self._table.row_for_row and written.rows == lines and None not in (*lows, *highs):
            bounds = [bound for bound in (*lows, *highs) if bound is not None]
            return Tally(read=lines, low=min(bounds, default=None), high=max(bounds, default=None))
        return batch.tally()

    def _write(self, frame: DataFrame, table: StoredTable, number: int, plan: LoadPlan) -> Written:
        if not plan.items:
            return Written(files=(), schema=arrow_schema(frame))
        by = self._partition_by(table)
        return write_result(frame, table, number=number, partition_by=by, large=self._is_large(plan.items))

    def _is_large(self, items: Sequence[LoadItem]) -> bool:
        return _size(items) > self._large_update

    def _is_handed_over(self, items: Sequence[LoadItem]) -> bool:
        """Whether Spark gets the lines of the files instead of the files."""
        most = min(_HANDED_OVER + len(items) * _HANDED_OVER_PER_FILE, _HANDED_OVER_AT_MOST)
        return self._flow is None and _size(items) <= most and not asks_for_files(self._table.query)

    def _side_rows(self, plan: LoadPlan, number: int, tally: Tally, results: Results) -> _Sides:
        """Write what was found not to go into the table."""
        if not tally.rejected and not tally.late and not results.only_storable:
            return _Sides(counts=Counts(read=tally.read))
        batch = self._reader.read(plan.items)
        unfit, count = self._rejected(batch, plan, tally, results)
        rejected = self._write(unfit, self._rejects, number, plan) if count else None
        late = self._write(results.of(batch.late_rows()), self._late, number, plan) if tally.late else None
        counts = Counts(read=tally.read, rejected=count, late=late.rows if late else 0)
        return _Sides(counts=counts, rejected=rejected, late=late)

    def _rejected(self, batch: Batch, plan: LoadPlan, tally: Tally, results: Results) -> tuple[DataFrame, int]:
        """What is rejected, and how many rows that is: what does not fit the feed, and what no table can hold."""
        if not results.only_storable:
            return batch.rejected(), tally.rejected
        # File by file: what comes out of a query does not say which one it came from.
        found = [
            results.unstorable(self._reader.read([item]).fitting(), file=item.arrival.position) for item in plan.items
        ]
        unstorable = reduce(DataFrame.union, found)
        return batch.rejected().union(unstorable), tally.rejected + unstorable.count()

    def _accounted(self, sides: _Sides, taken: int) -> _Sides:
        """With what the query made of the rows, which are no more than it was given, and as many if it keeps all."""
        counts = replace(sides.counts, loaded=taken)
        put_aside = sides.rejected.rows if sides.rejected else 0
        if put_aside != counts.rejected:
            raise MiscountedError(self._table, f"{counts.rejected} rows do not fit, and {put_aside} were put aside")
        made, given = counts.loaded + counts.late, counts.read - counts.rejected
        is_too_many = made > given and isinstance(self._table.query, SqlQuery)
        if is_too_many or (made != given and self._table.row_for_row):
            raise MiscountedError(self._table, f"{given} rows were read that fit, and {made} were written")
        return replace(sides, counts=counts)

    def _update(self, plan: LoadPlan, record: UpdateRecord, written: Written, sides: _Sides) -> Prepared:
        rebuild = record.kind is UpdateKind.REBUILD
        revised_from = BEGINNING if rebuild else self._revised_from(plan, written)
        counts = self._with_replaced(sides.counts, plan, rebuild=rebuild)
        record = replace(record, counts=counts, revised_from=revised_from)
        aside = replace(record, counts=Counts(), arrivals=(), targets={})
        beside = []
        for table, put_aside in ((self._rejects, sides.rejected), (self._late, sides.late)):
            if put_aside is not None:
                beside.append((table, self._change(table, aside, put_aside)))
            elif rebuild and table.snapshot is not None:
                # What had been put aside is judged anew by a rebuild: the old rows go, even if no new ones come.
                nothing = Written(files=(), schema=table.snapshot.schema)
                beside.append((table, self._change(table, aside, nothing)))
        change = self._change(self._main, record, written)
        own = (self._main, replace(change, replace_all=change.replace_all or plan.replaces))
        return Prepared(own=own, beside=tuple(beside), files=plan.arrivals)

    def _revised_from(self, plan: LoadPlan, written: Written) -> int | None:
        """From where on the load changes what dependents may have used: of a reference table that is all of it."""
        before = self._main.snapshot
        if not self._table.is_reference:
            return _reaching_back(written, before)
        changes = bool(written.files) or (plan.replaces and before is not None and before.rows > 0)
        return BEGINNING if before is not None and changes else None

    def _with_replaced(self, counts: Counts, plan: LoadPlan, *, rebuild: bool) -> Counts:
        """With the rows of files that were not worth reading, and those that left the table for the ones of another."""
        passed_by = sum(file.rows or 0 for file in plan.superseded)
        before = self._main.snapshot
        left = before.rows if plan.replaces and not rebuild and before is not None else 0
        return replace(
            counts,
            read=counts.read + passed_by,
            superseded=counts.superseded + passed_by,
            loaded=counts.loaded - left,
            replaced=counts.replaced + left,
        )

    def _change(self, table: StoredTable, record: UpdateRecord, written: Written) -> Change:
        return Change(
            record=record,
            at=self._clock(),
            schema=written.schema,
            partition_by=self._partition_by(table),
            add=written.files,
            replace_all=record.kind is UpdateKind.REBUILD,
        )

    def _partition_by(self, table: StoredTable) -> tuple[str, ...]:
        # Late rows have not gone through the flow: what the table is partitioned by may not be there yet.
        as_they_came = (self._rejects,) if self._flow is None else (self._rejects, self._late)
        return () if table in as_they_came else self._table.partition_by


def _are_held_apart(items: Sequence[LoadItem]) -> bool:
    """Whether each row has to be held to the limit of lateness of its own file."""
    return len({item.late_upto for item in items}) > 1


def _size(items: Sequence[LoadItem]) -> int:
    """Bytes of text, roughly: they decide only which way the rows take."""
    return sum(item.arrival.weight for item in items)


def _reaching_back(written: Written, before: Snapshot | None) -> int | None:
    """The earliest new row that is stamped in what dependents were told is complete."""
    safe = before.record.safe if before is not None and before.record is not None else None
    if safe is None:
        return None
    lows = [BEGINNING if file.low is None else file.low for file in written.files]
    return min((low for low in lows if low <= safe), default=None)
