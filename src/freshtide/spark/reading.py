"""Stored tables as DataFrames: the pinned file list, pruned and filtered by time."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import StructType

from freshtide.spark.jvm import jvm_of
from freshtide.spark.schemas import quoted, type_text
from freshtide.storage import DataFile, Snapshot

# Rows that are in one place need no shuffle. Up to this many bytes that saves more than working in parallel.
_ONE_PARTITION = 512 * 1024
_FILE = "__file"


def schema_of(snapshot: Snapshot) -> StructType:
    return StructType.fromJson(json.loads(snapshot.spark_schema))


def empty_frame(session: SparkSession, schema: StructType) -> DataFrame:
    nothing = [f"CAST(NULL AS {type_text(field.dataType)}) AS {quoted(field.name)}" for field in schema]
    # Spark sees that this is empty when it plans; a DataFrame of no Python rows would start a job.
    return session.sql(f"SELECT {', '.join(nothing)} WHERE false")


def read_files(session: SparkSession, snapshot: Snapshot, files: tuple[DataFile, ...]) -> DataFrame:
    """The rows of some files of a snapshot."""
    schema = schema_of(snapshot)
    if not files:
        return empty_frame(session, schema)
    frame = jvm_of(session).parquet(session, schema, str(snapshot.folder), snapshot.paths(files))
    return frame.coalesce(1) if sum(file.size for file in files) <= _ONE_PARTITION else frame


def with_file(frame: DataFrame) -> DataFrame:
    """Rows of files, with the file that each comes from as a last column."""
    return frame.withColumn(_FILE, functions.input_file_name())


def files_named(files: tuple[DataFile, ...], rows: pa.Table) -> tuple[DataFile, ...]:
    """Those of the files that rows `with_file` come from."""
    named = {path.rpartition("/")[2] for path in pc.unique(rows.column(_FILE)).to_pylist()}
    return tuple(file for file in files if file.path.rpartition("/")[2] in named)


def read_between(
    session: SparkSession, snapshot: Snapshot, time_column: str | None, since: int | None, before: int | None
) -> DataFrame:
    """The rows stamped in [since, before), microseconds; None leaves a side open."""
    if time_column is None or (since is None and before is None):
        return read_files(session, snapshot, snapshot.files)
    files = snapshot.between(since, before)
    frame = read_files(session, snapshot, files)
    if since is not None and any(file.low is None or file.low < since for file in files):
        frame = stamped_from(frame, time_column, since)
    if before is not None and any(file.high is None or file.high >= before for file in files):
        frame = stamped_before(frame, time_column, before)
    return frame


def narrowed(frame: DataFrame, time_column: str | None, since: int) -> DataFrame:
    """Without the rows stamped before; a table without a time column has no such rows."""
    return frame if time_column is None else stamped_from(frame, time_column, since)


def stamped_from(frame: DataFrame, time_column: str, since: int) -> DataFrame:
    return frame.where(f"{_stamp(time_column)} >= {instant(since)}")


def stamped_before(frame: DataFrame, time_column: str, before: int) -> DataFrame:
    return frame.where(f"{_stamp(time_column)} < {instant(before)}")


def instant(at: int) -> str:
    """A timestamp in SQL."""
    return f"timestamp_micros({at}L)"


def _stamp(time_column: str) -> str:
    # A time column may be a DATE; as a timestamp it is that day's midnight.
    return f"CAST({quoted(time_column)} AS TIMESTAMP)"
