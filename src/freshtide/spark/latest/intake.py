"""Files of a feed as rows of an update stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.loads import LoadItem
from freshtide.spark.ingest import BLOCK, FILE, Batch, FeedReader, confirmed, in_question
from freshtide.spark.latest.rows import Reject, Rows, RowShape
from freshtide.spark.unreadable import KnownGood, reading
from freshtide.spark.verdicts import Tally

Read = tuple[Rows, list[Reject]]
"""The rows of a file, and what of it could not be parsed."""


def read_files(reader: FeedReader, files: Sequence[Arrival], shape: RowShape, *, tables: Path) -> list[Read]:
    """Read files together; the rows of each, in the order of the files. Punctuation has none.

    `tables` is the folder that the tables are in.
    """
    known_good = KnownGood(session=reader.session, feed=reader.feed, tables=tables)
    items = [LoadItem(arrival=file, late_upto=None) for file in files if file.state is ArrivalState.READY]
    unchanged = reader.watch([item.arrival for item in items])
    with reading(items, lambda item: reader.read([item]).read_through(), known_good=known_good):
        good, tally, batch = _good_rows(reader, items)
        unfit = _unfit(batch) if tally.rejected else {}
    unchanged()
    by_path = _by_path(good)
    nothing = good.slice(0, 0)
    found = []
    for file in files:
        rows = by_path.get(file.position, nothing)
        waiting = shape.rows(rows, reader.feed.time.known_column, file=file, arrived_at=file.arrived_at)
        found.append((waiting, unfit.get(file.position, [])))
    return found


def _good_rows(reader: FeedReader, items: Sequence[LoadItem]) -> tuple[pa.Table, Tally, Batch]:
    """The good rows, how many there were of all, and the batch that they are of. Hardly a file has rows of the future:
    they are looked for only where the times that were found say so."""
    batch = reader.read(items, judge=False)
    good, tally = _collected(batch, items)
    if in_question(reader.feed, items, tally):
        batch = reader.read(items)
        good, tally = _collected(batch, items)
    return good, tally, batch


def _collected(batch: Batch, items: Sequence[LoadItem]) -> tuple[pa.Table, Tally]:
    watched, watch = batch.watched()
    rows = watched.good_by_file().toArrow()
    return rows, confirmed(watch.tally, items, batch.tally)


def _unfit(batch: Batch) -> dict[str, list[Reject]]:
    """Rows that do not fit the schema, by path."""
    found: dict[str, list[Reject]] = defaultdict(list)
    for row in batch.rejected().collect():
        found[row["file"]].append(Reject(file=row["file"], content=row["content"], reason=row["reason"]))
    return found


def _by_path(rows: pa.Table) -> dict[str, pa.Table]:
    """The rows of each file in the order in which they stand there."""
    if not rows.num_rows:
        return {}
    placed = rows.append_column("_place", pa.array(range(rows.num_rows), pa.int64()))
    in_order = placed.sort_by([(name, "ascending") for name in (FILE, BLOCK, "_place")])
    runs = pc.run_end_encode(in_order.column(FILE).combine_chunks())
    ends = runs.run_ends.to_pylist()
    rest = in_order.drop_columns([FILE, BLOCK, "_place"])
    begins = [0, *ends]
    return {
        path: rest.slice(begin, end - begin)
        for path, begin, end in zip(runs.values.to_pylist(), begins, ends, strict=False)
    }
