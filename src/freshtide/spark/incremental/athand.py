"""Few rows of a source, read here: Spark filters rows that are at hand, and computes values of them, without a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructField, StructType

from freshtide.spark.incremental.arrowrows import FEW_BYTES, having
from freshtide.spark.incremental.operators import Keys
from freshtide.spark.incremental.plans import column
from freshtide.spark.incremental.pruning import may_have_named
from freshtide.spark.reading import schema_of
from freshtide.storage import DataFile, Snapshot, stored_rows

FEW_IN_ONE_PLACE = 1024 * 1024
"""Of Parquet: so much is handed to Spark whole, for a single task."""
_INSTANT = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Which rows are asked for, by their time: those in [since, before). Without a time column, or bounds, all are."""

    column: str | None
    since: int | None
    before: int | None

    @property
    def looked_at(self) -> str | None:
        return None if self.since is None and self.before is None else self.column


@dataclass(frozen=True, slots=True, kw_only=True)
class FewRows:
    """Rows whose columns are called by their places."""

    rows: pa.Table
    schema: StructType


def rows_at_hand(
    snapshot: Snapshot, files: tuple[DataFile, ...], names: Sequence[str], *, bounds: Bounds, keys: Keys | None
) -> FewRows | None:
    """These columns of the rows of some files that lie within the bounds and have one of the keys.

    None where that is for Spark: there are too many, or Arrow does not know how.
    """
    known = {field.name.lower(): field for field in schema_of(snapshot)}
    fields = [known[name.lower()] for name in names if name.lower() in known]
    if snapshot.partition_by or len(fields) < len(names):
        return None
    by = [] if keys is None else [fields[place].name for place in keys.places]
    if keys is not None:
        files = tuple(file for file in files if may_have_named(file, by, keys.values))
    if sum(file.size for file in files) > (FEW_IN_ONE_PLACE if keys is None else FEW_BYTES):
        return None
    time = None if bounds.looked_at is None else known[bounds.looked_at.lower()].name
    try:
        rows = stored_rows(
            snapshot, files, columns=[field.name for field in known.values() if field in fields or field.name == time]
        )
        if time is not None:
            rows = _stamped(rows, time, bounds)
        if keys is not None:
            rows = rows.filter(pa.array(having(rows, by, keys.values)))
    except (pa.ArrowException, OSError):
        # What is wrong with a file Spark tells.
        return None
    called = [column(at) for at in range(len(fields))]
    return FewRows(
        rows=pa.table([rows.column(field.name) for field in fields], names=called),
        schema=StructType([StructField(name, field.dataType) for name, field in zip(called, fields, strict=True)]),
    )


def _stamped(rows: pa.Table, time_column: str, bounds: Bounds) -> pa.Table:
    for bound, holds in ((bounds.since, pc.greater_equal), (bounds.before, pc.less)):
        if bound is not None:
            rows = rows.filter(holds(rows.column(time_column).cast(_INSTANT), pa.scalar(bound, _INSTANT)))
    return rows
