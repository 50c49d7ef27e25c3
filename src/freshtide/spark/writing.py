"""Results onto disk: small ones as Arrow through the driver, large ones by Spark's own writers."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from freshtide import crashpoints
from freshtide.core.instants import datetime_of, seconds
from freshtide.spark.jvm import collected
from freshtide.spark.reading import instant
from freshtide.spark.schemas import arrow_schema_of, quoted
from freshtide.spark.sessions import compiled_plans
from freshtide.spark.unstorable import FaultWatch, faults_of_result
from freshtide.spark.visibility import RowsMissingError, require_arrived, written_rows
from freshtide.storage import DataFile, StoredTable, UnstorableError

_OPEN = "_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Files on disk, not committed yet."""

    files: tuple[DataFile, ...]
    schema: pa.Schema

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


def write_result(
    frame: DataFrame,
    table: StoredTable,
    *,
    number: int,
    partition_by: tuple[str, ...],
    large: bool,
    opens_at: int | None = None,
) -> Written:
    """Write the rows of a frame as Parquet files of a table; UnstorableError where it cannot hold one of them.

    Rows stamped from `opens_at` on go to files of their own: the next update replaces just these.
    """
    if large:
        with compiled_plans(frame.sparkSession):
            return _write_large(frame, table, number, partition_by, opens_at)
    rows = collected(frame)
    parts = [rows] if opens_at is None else _split(rows, table.time_column, opens_at)
    files = [file for part in parts for file in table.write(part, number=number, partition_by=partition_by)]
    return Written(files=tuple(files), schema=rows.schema)


def _split(rows: pa.Table, time_column: str | None, opens_at: int) -> list[pa.Table]:
    if time_column is None:
        return [rows]
    stamps = rows.column(time_column)
    moment = datetime_of(seconds(opens_at))
    is_open = pc.greater_equal(stamps, pa.scalar(moment if pa.types.is_timestamp(stamps.type) else moment.date()))
    return [rows.filter(pc.invert(is_open)), rows.filter(is_open)]


def _write_large(
    frame: DataFrame, table: StoredTable, number: int, partition_by: tuple[str, ...], opens_at: int | None
) -> Written:
    schema = arrow_schema(frame)
    faults = FaultWatch(faults_of_result(frame.schema, partition_by))
    frame = faults.watched(frame)
    folders: tuple[str, ...] = partition_by
    if opens_at is not None and table.time_column is not None:
        is_open = f"CAST({quoted(table.time_column)} AS TIMESTAMP) >= {instant(opens_at)}"
        frame = frame.selectExpr("*", f"{is_open} AS {_OPEN}")
        folders = (_OPEN, *partition_by)
    staging = table.staging(number)
    written = written_rows(frame, lambda rows: _write_parquet(rows, staging, folders))
    crashpoints.reach("spark-write")
    try:
        faults.require_none(rows=written)
    except UnstorableError:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    adopted: list[DataFile] = []
    for root in sorted(staging.glob(f"{_OPEN}=*")) if _OPEN in folders else [staging]:
        adopted += table.adopt(root, number=number, partition_by=partition_by)
    result = Written(files=tuple(adopted), schema=schema)
    try:
        require_arrived(table.folder, written=written, found=result.rows)
    except RowsMissingError:
        table.discard(result.files)
        raise
    return result


def _write_parquet(rows: DataFrame, folder: Path, partition_by: tuple[str, ...]) -> None:
    writer = rows.write.option("compression", "zstd")
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    writer.parquet(str(folder))


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The Arrow schema that Spark gives the frame's rows."""
    return arrow_schema_of(frame.schema)
