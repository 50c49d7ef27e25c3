"""What earlier runs have left for an update table: the stream of the table goes on with it."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa

from freshtide.core.feeds import Feed
from freshtide.core.instants import micros_of, seconds
from freshtide.core.latest import WINDOW_COLUMNS
from freshtide.core.tables import Table
from freshtide.latest.windows import WindowGrid
from freshtide.spark.latest.openwindows import OpenWindows, WaitingForWindows
from freshtide.spark.latest.rows import Rows, RowShape
from freshtide.spark.latest.spool import LeftBehind, Spool
from freshtide.spark.latest.stream import LatestStream
from freshtide.spark.latest.waiting import MicroBatch
from freshtide.spark.schemas import arrow_schema_of, feed_schema
from freshtide.storage import Snapshot, StoredTable, stored_rows


class Past:
    """Takes up and leaves behind what waits for one table.

    Rows of files are read again from the first file that the table is not done with. What waits for windows beyond that
    was put down beside the table. Single rows are in the spool from the end of one run to the beginning of the next.
    """

    def __init__(self, table: Table, feed: Feed, shape: RowShape, *, spool: Spool, definition: str) -> None:
        self._table = table
        self._feed = feed
        self._shape = shape
        self._spool = spool
        self._definition = definition
        windows = None if table.latest is None else table.latest.windows
        self._grid = None if windows is None else WindowGrid.of(windows)

    @cached_property
    def _feed_schema(self) -> pa.Schema:
        return arrow_schema_of(feed_schema(self._feed))

    def take_up(self, stream: LatestStream, snapshot: Snapshot | None, open_windows: StoredTable, now: float) -> None:
        """Let wait again what did; `snapshot` is what the table holds."""
        left = self._left_behind() if not self._feed.brings_files else self._put_down(open_windows, now)
        if left is None:
            _resume(stream, self._table, snapshot)
        elif self._grid is None:
            rows = self._shape.rows(left.rows, self._feed.time.known_column, file=None, arrived_at=left.since)
            stream.take_in(rows, left.rejects, uncounted=left.uncounted)
        else:
            self._go_on(stream, left, now)

    def leave_behind(self, stream: LatestStream, now: float) -> None:
        """A run ends: keep what came from a stream of single rows and waits. Nobody can be asked for it again."""
        if self._feed.brings_files:
            return
        left = stream.remainder(now)
        if not left:
            return
        if self._grid is None:
            rows = self._shape.table(MicroBatch(tuples=left.tuples), self._feed_schema)
        else:
            waiting = WaitingForWindows(standings=left.standings, outside=left.outside, unplaced=left.tuples)
            rows = self.open_windows(self._feed_schema).rows(waiting)
        self._spool.put(
            LeftBehind(
                rows=rows,
                since=left.since,
                rejects=left.rejects,
                uncounted=left.uncounted,
                definition=self._definition,
            )
        )

    def forget(self) -> None:
        """What was left behind is in the table."""
        self._spool.clear()

    def open_windows(self, schema: pa.Schema) -> OpenWindows:
        """The form of what waits for windows, with these columns of the feed."""
        assert self._grid is not None, f"{self._table.name} has no windows"
        return OpenWindows(self._shape, schema, time_column=self._feed.time.known_column, grid=self._grid)

    def _left_behind(self) -> LeftBehind | None:
        schema = self._feed_schema
        return self._spool.get(schema if self._grid is None else self.open_windows(schema).schema)

    def _put_down(self, open_windows: StoredTable, now: float) -> LeftBehind | None:
        snapshot = open_windows.snapshot
        if self._grid is None or snapshot is None or snapshot.record is None:
            return None
        rows = stored_rows(snapshot, snapshot.files)
        return LeftBehind(rows=rows, since=now, definition=snapshot.record.definition)

    def _go_on(self, stream: LatestStream, left: LeftBehind, now: float) -> None:
        waiting = self.open_windows(OpenWindows.of_feed(left.rows.schema)).waiting(left.rows)
        waited, served = waiting.waiting, 0
        if left.definition != self._definition:
            # Windows lie elsewhere, perhaps: their rows come in as if they had just arrived.
            served = waiting.served
            waiting = WaitingForWindows(standings=(), unplaced=waiting.tuples)
        tuples, windows = [item for item, _ in waiting.outside], [window for _, window in waiting.outside]
        keys = {(item.key, window) for item, window in waiting.outside}
        outside = MicroBatch(tuples=tuples, windows=windows, keys=len(keys))
        stream.restore(waiting.standings, outside, now, waited=waited)
        if waiting.unplaced or left.rejects or left.uncounted:
            rows = Rows.of(waiting.unplaced, width=len(self._shape.kinds), arrived_at=left.since)
            stream.take_in(rows, left.rejects, uncounted=left.uncounted, served=served)
        # From now on rows are added to these windows in memory. After a crash without them, a window would be a part.
        self._spool.clear()


def _resume(stream: LatestStream, table: Table, snapshot: Snapshot | None) -> None:
    """Let windows go on after the last one of each key that the table has.

    Files that were not done with are read again from their beginnings, and of an older window their rows may be but a
    part: it must not come into the table once more.
    """
    if snapshot is None or table.latest is None or table.latest.windows is None:
        return
    key, (start, _) = list(table.latest.key), WINDOW_COLUMNS
    windows = stored_rows(snapshot, snapshot.files, columns=(*key, start))
    last = windows.group_by(key, use_threads=False).aggregate([(start, "max")])
    starts = (seconds(micros_of(moment)) for moment in last.column(f"{start}_max").to_pylist())
    keys = last.select(key).to_pydict().values()
    for *parts, begins in zip(*keys, starts, strict=True):
        stream.resume_after(parts[0] if len(parts) == 1 else tuple(parts), begins)
