"""Loading a base table: files in; rows, rejects and late rows out, each exactly once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from freshtide.core.files import FeedFile
from freshtide.core.loads import LoadItem, LoadPlan
from freshtide.core.tables import Column, Feed, FileFormat, Table
from freshtide.spark.flows.loads import TableFlow
from freshtide.spark.handing import RecordLines
from freshtide.spark.ingest import Batch, Verdict, read_batch
from freshtide.spark.queries import asks_for_files, evaluate
from freshtide.spark.scans import SharedScans
from freshtide.spark.sessions import compiled_plans
from freshtide.spark.unreadable import KnownGood, reading
from freshtide.spark.writing import Written, arrow_schema, write_result
from freshtide.storage import (
    BEGINNING,
    Change,
    Counts,
    LoadedFile,
    Snapshot,
    Store,
    StoredTable,
    UpdateKind,
    UpdateRecord,
)

# Up to this much a single thread that parses lines is done before a job has begun and ended.
_HANDED_OVER = 256 * 1024


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
        record_lines: RecordLines,
        scans: SharedScans | None = None,
        flow: TableFlow | None = None,
    ) -> None:
        """`flow` is what the rows go through on their way into the table, where it names one."""
        self._record_lines = record_lines
        self._flow = flow
        self._session = session
        self._scans = scans
        self._table = table
        self._feed = feed
        self._extra = extra
        self._large_update = large_update
        self._clock = clock
        self._tables = store.root
        self._main = store.table(table.name, time_column=table.time_column)
        self._rejects = store.table(f"{table.name}__rejects")
        self._late = store.table(f"{table.name}__late", time_column=table.time_column)

    def load(self, plan: LoadPlan, *, definition: str, rebuild: bool = False) -> Snapshot:
        """Take in the files of a plan; with `rebuild` they become the whole content of the table."""
        current = self._main.snapshot
        number = (current.number if current else 0) + 1
        for side in (self._rejects, self._late):
            side.roll_back(number - 1, at=self._clock())
        record = UpdateRecord(
            number=number,
            kind=UpdateKind.REBUILD if rebuild else UpdateKind.LOAD,
            freshness=plan.freshness,
            safe=plan.safe,
            definition=definition,
            files=tuple(LoadedFile.of(file) for file in plan.files),
        )
        known_good = KnownGood(session=self._session, format=self._feed.format, tables=self._tables)
        with reading(plan.items, lambda item: self._read([item]).tally(), known_good=known_good):
            if self._flow is None:
                self._load(plan, record)
            elif plan.items or current is None:
                self._load_through(self._flow, plan, record)
            else:
                # Punctuation alone: there is nothing to put through the flow.
                nothing = Written(files=(), schema=current.schema)
                self._commit(self._changes(record, nothing, _Sides(counts=Counts())))
        snapshot = self._main.snapshot
        assert snapshot is not None, "a load leaves a table"
        return snapshot

    def _load(self, plan: LoadPlan, record: UpdateRecord) -> None:
        written = self._good_rows(plan, record.number)
        sides = self._side_rows(plan, record.number, taken=written.rows)
        self._commit(self._changes(record, written, sides))

    def _load_through(self, flow: TableFlow, plan: LoadPlan, record: UpdateRecord) -> None:
        """What is late is told before the flow: it may stamp rows as it likes."""
        rows = evaluate(self._session, self._table.query, [self._read(plan.items, with_files=False).good()])
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
            sides = self._side_rows(plan, record.number, taken=flowed.rows_in)
            counts = replace(sides.counts, loaded=flowed.written.rows, flowed=flowed.rows_in)
            flowed.commit(self._changes(record, flowed.written, replace(sides, counts=counts)))

    def _good_rows(self, plan: LoadPlan, number: int) -> Written:
        """Write what goes into the table.

        Hardly a file has late rows. Where all files are held to the same limit, the rows are read without looking
        for any; if then one turns out to be late by the bounds of what was written, they are read once more.
        """
        limits = {item.late_upto for item in plan.items}
        (limit,) = limits if len(limits) == 1 else (None,)
        written = self._write_good(plan, number, judge_late=len(limits) > 1)
        if limit is None or all(file.low is not None and file.low > limit for file in written.files):
            return written
        self._main.discard(written.files)
        return self._write_good(plan, number, judge_late=True)

    def _write_good(self, plan: LoadPlan, number: int, *, judge_late: bool) -> Written:
        # With their files the rows can serve everything that the tables of a group want to know of them.
        batch = self._read(plan.items, judge_late=judge_late, with_files=self._scans is not None)
        good = evaluate(self._session, self._table.query, [batch.good()])
        return self._write(good, self._main, number, plan)

    def _read(self, items: Sequence[LoadItem], *, judge_late: bool = True, with_files: bool = True) -> Batch:
        return read_batch(
            self._session,
            self._feed,
            self._extra,
            items,
            judge_late=judge_late,
            with_files=with_files,
            scans=self._scans,
            record_lines=self._record_lines if self._is_handed_over(items) else None,
        )

    def _write(self, frame: DataFrame, table: StoredTable, number: int, plan: LoadPlan) -> Written:
        if not plan.items:
            return Written(files=(), schema=arrow_schema(frame))
        by = self._partition_by(table)
        return write_result(frame, table, number=number, partition_by=by, large=self._is_large(plan.items))

    def _is_large(self, items: Sequence[LoadItem]) -> bool:
        return _size(items) > self._large_update

    def _is_handed_over(self, items: Sequence[LoadItem]) -> bool:
        """Whether Spark gets the lines of the files instead of the files."""
        return self._flow is None and _size(items) <= _HANDED_OVER and not asks_for_files(self._table.query)

    def _side_rows(self, plan: LoadPlan, number: int, *, taken: int) -> _Sides:
        """Look for rows that went elsewhere, unless as many have been taken as were counted on arrival."""
        expected = [item.file.rows for item in plan.items]
        if None not in expected and sum(rows or 0 for rows in expected) == taken:
            return _Sides(counts=Counts(read=taken, loaded=taken))
        batch = self._read(plan.items)
        found = batch.tally()
        rejected = late = None
        if found.get(Verdict.REJECTED):
            rejected = self._write(batch.rejected(), self._rejects, number, plan)
        if found.get(Verdict.LATE):
            late_rows = evaluate(self._session, self._table.query, [batch.late_rows()])
            late = self._write(late_rows, self._late, number, plan)
        counts = Counts(
            read=sum(found.values()),
            loaded=taken,
            rejected=rejected.rows if rejected else 0,
            late=late.rows if late else 0,
        )
        return _Sides(counts=counts, rejected=rejected, late=late)

    def _commit(self, changes: Sequence[tuple[StoredTable, Change]]) -> None:
        for table, change in changes:
            table.commit(change)

    def _changes(self, record: UpdateRecord, written: Written, sides: _Sides) -> list[tuple[StoredTable, Change]]:
        """What is to be committed, the table last: until it has landed, the two beside it can be rolled back."""
        rebuild = record.kind is UpdateKind.REBUILD
        revised_from = BEGINNING if rebuild else _reaching_back(written, self._main.snapshot)
        record = replace(record, counts=sides.counts, revised_from=revised_from)
        aside = replace(record, counts=Counts(), files=())
        changes = []
        for table, put_aside in ((self._rejects, sides.rejected), (self._late, sides.late)):
            if put_aside is not None:
                changes.append((table, self._change(table, aside, put_aside)))
            elif rebuild and table.snapshot is not None:
                # What had been put aside is judged anew by a rebuild: the old rows go, even if no new ones come.
                nothing = Written(files=(), schema=table.snapshot.schema)
                changes.append((table, self._change(table, aside, nothing)))
        return [*changes, (self._main, self._change(self._main, record, written))]

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


def discovered_columns(session: SparkSession, feed: Feed, files: Sequence[FeedFile]) -> tuple[Column, ...]:
    """Columns of the files that the feed does not declare, in order of appearance.

    CSV and JSON say nothing about types, so these are strings; Parquet files know theirs.
    """
    known = set(feed.column_names)
    found: dict[str, Column] = {}
    for file in files:
        new = [name for name in file.columns or () if name not in known and name not in found]
        if not new:
            continue
        types = {}
        if feed.format is FileFormat.PARQUET:
            types = {field.name: field.dataType.simpleString() for field in session.read.parquet(file.path).schema}
        for name in new:
            found[name] = Column(name=name, type=types.get(name, "string"))
    return tuple(found.values())


def _size(items: Sequence[LoadItem]) -> int:
    """Bytes of text, roughly: they decide only which way the rows take."""
    return sum(item.file.weight for item in items)


def _reaching_back(written: Written, before: Snapshot | None) -> int | None:
    """The earliest new row that is stamped in what dependents were told is complete."""
    safe = before.record.safe if before is not None and before.record is not None else None
    if safe is None:
        return None
    lows = [BEGINNING if file.low is None else file.low for file in written.files]
    return min((low for low in lows if low <= safe), default=None)
