"""The updates of one update table: a micro-batch out of its queue, through its query, into the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from freshtide.core.arrivals import Arrival
from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import Column, Feed
from freshtide.core.instants import micros
from freshtide.core.sides import REJECTS, open_beside
from freshtide.core.tables import Query, Table
from freshtide.latest import BatchSizes
from freshtide.spark.ingest import FeedReader, WatchFiles
from freshtide.spark.jvm import collected
from freshtide.spark.latest.aside import Aside
from freshtide.spark.latest.fates import ByTag, Fates, by_tag
from freshtide.spark.latest.intake import read_files
from freshtide.spark.latest.listeners import Listeners
from freshtide.spark.latest.past import Past
from freshtide.spark.latest.rows import RowShape
from freshtide.spark.latest.settlements import Settlement
from freshtide.spark.latest.spool import Spool
from freshtide.spark.latest.stream import LatestStream
from freshtide.spark.latest.tables import LatestTables, identity
from freshtide.spark.latest.waiting import MicroBatch
from freshtide.spark.queries import evaluate
from freshtide.spark.reading import empty_frame
from freshtide.spark.schemas import arrow_schema_of, feed_schema, input_schema
from freshtide.spark.writing import arrow_schema
from freshtide.storage import (
    BEGINNING,
    Change,
    Counts,
    LoadedArrival,
    Merge,
    Prepared,
    Snapshot,
    Store,
    UpdateKind,
    UpdateRecord,
    key_column,
    next_number,
    places,
)

# Rows go through the driver as Arrow; more at once would gain nothing.
_LARGEST_BATCH = 100_000
# Seconds: no query and commit takes less.
_LEAST_OVERHEAD = 0.03

# Below this the exchange of rows takes as long as what it saves.
_WORTH_SPREADING = 0.1


class LostColumnError(FreshtideError):
    """A query that does not hand on what tells the rows of an update table apart."""

    def __init__(self, table: Table, column: str) -> None:
        super().__init__(
            f"The query of '{table.name}' gives no column '{column}', and without it no row can replace another.",
            way_out=f"Let it return '{column}' as it is.",
        )


class NoRoomError(FreshtideError):
    """Rows that find no room although nothing can be processed to make some."""

    def __init__(self, table: Table) -> None:
        super().__init__(
            f"The rows that wait for '{table.name}' find no room, and none of those that have some can be processed.",
            way_out="Raise `update_memory` in freshtide.yml.",
        )


class StreamMaker(Protocol):
    """Makes an empty stream for a table."""

    def __call__(self, table: Table, shape: RowShape, *, apart: bool) -> LatestStream: ...


class LatestTableRunner:
    """Serves one update table, for as long as the warehouse is at work."""

    def __init__(
        self,
        table: Table,
        feed: Feed,
        make_stream: StreamMaker,
        *,
        store: Store,
        latest: LatestTables,
        definition: str,
        clock: Callable[[], float],
        listeners: Listeners,
        spool: Spool,
        watch: WatchFiles,
    ) -> None:
        """`spool` keeps what a run leaves behind."""
        self.table = table
        self.feed = feed
        assert table.latest is not None, f"{table.name} is no update table"
        self._shape = RowShape(columns=feed.column_names, key=table.latest.key)
        self._make_stream = make_stream
        self._stream: LatestStream | None = None
        self._own = latest[table.name]
        self._aside = Aside(
            store.table(f"{table.name}{REJECTS}"), self._own.gone, store.table(open_beside(table)), clock=clock
        )
        self._past = Past(table, feed, self._shape, spool=spool, definition=definition)
        self._tables = store.root
        self._definition = definition
        self._clock = clock
        self._listeners = listeners
        self._watch = watch
        self._sizes = BatchSizes(most=_LARGEST_BATCH, overhead=_LEAST_OVERHEAD)

    def begin_anew(self) -> None:
        """Forget what has come so far; files that are not done with will be read again."""
        self._stream = None

    @property
    def stream(self) -> LatestStream:
        """Where rows wait. It begins when it is first asked for: by then the table is as the last run left it."""
        if self._stream is None:
            self._stream = self._make_stream(self.table, self._shape, apart=False)
            self._past.take_up(self._stream, self._own.stored.snapshot, self._aside.open_windows, self._clock())
        return self._stream

    def leave_behind(self) -> None:
        """A run ends: keep what waits and could not be had again."""
        if self._stream is not None:
            self._past.leave_behind(self._stream, self._clock())
            self._stream = None

    def take_in(self, session: SparkSession, files: Sequence[Arrival], extra: tuple[Column, ...]) -> None:
        """Read files and let their rows wait."""
        for rows, unfit in read_files(self._reader(session, extra), files, self._shape, tables=self._tables):
            self.stream.take_in(rows, unfit)

    @contextmanager
    def prepared(self, session: SparkSession, extra: tuple[Column, ...]) -> Iterator[Prepared | None]:
        """Process the keys that are served next; None if nothing is to be done. What does not land waits again."""
        if self.stream.is_quiet:
            self.stream.rest()
            yield None
            return
        begun = self._clock()
        batch = self.stream.take(self._sizes.size(self.stream.pending.residents), begun)
        settlement = self.stream.settlement(batch)
        try:
            if self.stream.is_full and not batch.keys:
                raise NoRoomError(self.table)
            with self._processed(session, batch, settlement, extra) as (update, fates):
                yield update
        except BaseException:
            self.stream.give_back(batch)
            raise
        self.stream.settle(settlement, batch, fates)
        if settlement.is_done_with_the_past:
            self._past.forget()
        if batch.keys:
            self._measured(batch.keys, self._clock() - begun)

    @contextmanager
    def rebuilt(self, session: SparkSession, files: Sequence[Arrival], extra: tuple[Column, ...]) -> Iterator[Prepared]:
        """Let the table hold what files give as if they had just arrived, and nothing else.

        Files that are not done with are read as well: of their rows some have been processed and wait no longer.
        """
        anew = self._make_stream(self.table, self._shape, apart=True)
        begun = [file for file in self.stream.unfinished if file not in files]
        in_order = sorted([*files, *begun], key=lambda file: file.id)
        for rows, unfit in read_files(self._reader(session, extra), in_order, self._shape, tables=self._tables):
            anew.take_in(rows, unfit)
        batch = anew.take(anew.pending.residents, self._clock())
        settlement = anew.settlement(batch).but_for(begun)
        with self._processed(session, batch, settlement, extra, anew=True) as (update, _):
            yield update
        if self.table.has_windows:
            # What waits is put down with it, and the next update goes on from there.
            self.begin_anew()

    def _reader(self, session: SparkSession, extra: tuple[Column, ...]) -> FeedReader:
        return FeedReader(session=session, feed=self.feed, extra=extra, watch=self._watch)

    def _measured(self, keys: int, seconds: float) -> None:
        self._sizes.observe(keys, seconds)
        self.stream.cost.observe(keys, seconds)

    @contextmanager
    def _processed(
        self,
        session: SparkSession,
        batch: MicroBatch,
        settlement: Settlement,
        extra: tuple[Column, ...],
        *,
        anew: bool = False,
    ) -> Iterator[tuple[Prepared, ByTag]]:
        """A batch through the table's query; listeners are told once what came of it has landed."""
        current = self._own.stored.snapshot
        number = next_number(self._own.stored, self._aside.tables, at=self._clock())
        rows = self._result(session, batch, extra)
        come_in = self._own.anew if anew else self._own.merge
        merge = come_in(rows, number=number, going=self._going(batch, rows))
        gone = self._aside.gone(merge.gone, number=number, anew=anew)
        fates = self._fates(batch, merge)
        counts = self._counts(merge, gone, settlement, settlement.counted(fates))
        record = self._record(number, current, merge, settlement, counts, anew=anew)
        beside = self._aside.changes(settlement.rejects, gone, self._open_windows(settlement, extra), record)
        change = Change(
            record=record,
            at=self._clock(),
            schema=rows.schema,
            add=merge.add,
            remove=merge.remove,
            replace_all=anew,
        )
        yield Prepared(own=(self._own.stored, change), beside=beside, files=settlement.files), fates
        self._listeners.tell(self.table.name, merge.rows)

    def _result(self, session: SparkSession, batch: MicroBatch, extra: tuple[Column, ...]) -> pa.Table:
        """What the table's query gives over the rows of a batch."""
        schema = input_schema(self.table, self.feed, extra)
        if not batch.keys:
            return arrow_schema(evaluate(session, self.table.query, [empty_frame(session, schema)])).empty_table()
        rows = self._shape.table(batch, arrow_schema_of(schema))
        _, per_key = self._sizes.cost.coefficients
        result = compute(session, self.table.query, rows, schema, work=per_key * batch.keys)
        key, time_column = identity(self.table)
        for column in (*key, time_column):
            if column not in result.column_names:
                raise LostColumnError(self.table, column)
        return result

    def _going(self, batch: MicroBatch, rows: pa.Table) -> pa.Table | None:
        """The keys of a batch whose newest rows the query leaves out, with the times of these."""
        if self._own.gone is None:
            return None
        taken = self._shape.keys_and_times(batch, arrow_schema_of(self._declared))
        return taken.filter(pc.invert(self._are_among(taken, rows)))

    def _fates(self, batch: MicroBatch, merge: Merge) -> ByTag:
        """What becomes of the rows of a batch, except for those that the query leaves out. Windows the queue counts."""
        if self.table.has_windows:
            return {}
        assert merge.gone is not None, "keys can go"
        taken = self._shape.keys_and_times(batch, arrow_schema_of(self._declared))
        come, go = (self._are_among(taken, rows).to_pylist() for rows in (merge.rows, merge.gone))
        passed_by = (item for item, came, went in zip(batch.tuples, come, go, strict=True) if not came and not went)
        came_in = (item for item, came in zip(batch.tuples, come, strict=True) if came)
        return by_tag([*batch.superseded, *passed_by], came_in)

    def _are_among(self, keys: pa.Table, rows: pa.Table) -> pa.Array:
        key, _ = identity(self.table)
        return pc.is_valid(places(key_column(keys, key), key_column(rows, key)))

    def _open_windows(self, settlement: Settlement, extra: tuple[Column, ...]) -> pa.Table | None:
        """What waits for windows, where it is put down."""
        if settlement.put_down is None:
            return None
        return self._past.open_windows(arrow_schema_of(feed_schema(self.feed, extra))).rows(settlement.put_down)

    @cached_property
    def _declared(self) -> StructType:
        return feed_schema(self.feed)

    def _counts(self, merge: Merge, gone: Merge | None, settlement: Settlement, counted: Fates) -> Counts:
        more = merge.rows.num_rows - merge.replaced - merge.left
        return Counts(
            read=settlement.read,
            loaded=more,
            rejected=len(settlement.rejects),
            superseded=counted.superseded,
            replaced=0 if self.table.has_windows else counted.came_in - more,
            windowed=counted.came_in if self.table.has_windows else None,
            waiting=settlement.more_waiting,
            gone=0 if gone is None else gone.rows.num_rows - gone.replaced,
        )

    def _record(
        self,
        number: int,
        current: Snapshot | None,
        merge: Merge,
        settlement: Settlement,
        counts: Counts,
        *,
        anew: bool,
    ) -> UpdateRecord:
        before = current.freshness if current else None
        stamps = [before, None if settlement.timestamp is None else micros(settlement.timestamp)]
        freshness = max((stamp for stamp in stamps if stamp is not None), default=None)
        return UpdateRecord(
            number=number,
            kind=UpdateKind.REBUILD if anew else UpdateKind.MERGE,
            freshness=freshness,
            safe=freshness,
            definition=self._definition,
            counts=counts,
            arrivals=tuple(LoadedArrival.of(file) for file in settlement.files),
            revised_from=BEGINNING if current is not None and (anew or merge.add or merge.remove) else None,
            times=self.feed.meaning_of_times,
        )


def compute(session: SparkSession, query: Query, rows: pa.Table, schema: StructType, *, work: float) -> pa.Table:
    """What the query gives; `work` is what that is expected to take, in seconds beyond the cost of any query.

    Spark computes over rows that it is handed while it plans, on one processor. For little work nothing is quicker;
    more is spread over all processors.
    """
    frame = session.createDataFrame(rows, schema=schema)
    if work > _WORTH_SPREADING:
        frame = frame.repartition(session.sparkContext.defaultParallelism)
    return collected(evaluate(session, query, [frame]))
