"""Files of a feed as rows of an update stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from freshtide.core.files import FeedFile, FileState
from freshtide.core.loads import LoadItem
from freshtide.core.tables import Column, Feed
from freshtide.spark.ingest import BLOCK, FILE, Batch, read_batch
from freshtide.spark.unreadable import KnownGood, reading
from freshtide.spark.updates.rows import Reject, Rows, RowShape

Read = tuple[Rows, list[Reject]]
"""The rows of a file, and what of it could not be parsed."""


def read_files(
    session: SparkSession,
    feed: Feed,
    extra: tuple[Column, ...],
    files: Sequence[FeedFile],
    shape: RowShape,
    *,
    tables: Path,
) -> list[Read]:
    """Read files together; the rows of each, in the order of the files. Punctuation has none.

    `tables` is the folder that the tables are in.
    """
    known_good = KnownGood(session=session, format=feed.format, tables=tables)
    items = [LoadItem(file=file, late_upto=None) for file in files if file.state is FileState.READY]
    with reading(items, lambda item: _batch(session, feed, extra, [item]).tally(), known_good=known_good):
        batch = _batch(session, feed, extra, items)
        good = batch.good_by_file().toArrow()
        unfit = _unfit(batch, items, good.num_rows)
    by_path = _by_path(good)
    nothing = good.slice(0, 0)
    found = []
    for file in files:
        rows = by_path.get(file.path, nothing)
        waiting = shape.rows(rows, feed.time_column, file=file, arrived_at=file.arrived_at)
        found.append((waiting, unfit.get(file.path, [])))
    return found


def _batch(session: SparkSession, feed: Feed, extra: tuple[Column, ...], items: Sequence[LoadItem]) -> Batch:
    return read_batch(session, feed, extra, items, judge_late=False)


def _unfit(batch: Batch, items: Sequence[LoadItem], good: int) -> dict[str, list[Reject]]:
    """Rows that do not fit the schema, by path; looked for unless as many are good as were counted on arrival."""
    expected = [item.file.rows for item in items]
    if None not in expected and sum(rows or 0 for rows in expected) == good:
        return {}
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
