"""The peer of update tables: Structured Streaming that keeps the latest row of each key in a Delta table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol

import pyarrow as pa
from deltalake import DeltaTable

from bench.ticks import DDL
from freshtide.spark import DataFrame, SparkSession


class _Query(Protocol):
    def stop(self) -> None: ...
    def exception(self) -> Exception | None: ...


class LatestStream:
    """A query that runs within a block, as often as it can.

    It takes all files that have landed, keeps the newest row of each key, computes the columns of these rows alone, and
    merges them into the table. That is told after the merge, before Spark's own bookkeeping.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        source: Path,
        folder: Path,
        columns: str,
        schema: pa.Schema,
        told: Callable[[Mapping[str, int]], None],
    ) -> None:
        """`columns` are what is selected of a row, and `schema` what comes out."""
        self._spark = spark
        self._source = source
        self._folder = folder
        self._columns = columns
        self._told = told
        self._table = DeltaTable.create(str(folder / "table"), schema=schema)
        self._query: _Query

    def __enter__(self) -> LatestStream:
        rows = self._spark.readStream.schema(DDL).option("header", True).csv(str(self._source))
        writer = rows.writeStream.foreachBatch(self._merge)
        writer = writer.option("checkpointLocation", str(self._folder / "checkpoint"))
        self._query = writer.trigger(processingTime="0 seconds").start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._query.stop()

    def check(self) -> None:
        if (fault := self._query.exception()) is not None:
            raise fault

    def _merge(self, batch: DataFrame, _number: int) -> None:
        newest = "SELECT newest.* FROM (SELECT max_by(struct(*), seq) AS newest FROM {batch} GROUP BY k)"
        rows = batch.sparkSession.sql(f"SELECT {self._columns} FROM ({newest})", batch=batch).toArrow()
        merging = self._table.merge(rows, "held.k = new.k", source_alias="new", target_alias="held")
        merging.when_matched_update_all("new.seq > held.seq").when_not_matched_insert_all().execute()
        self._told(dict(zip(rows.column("k").to_pylist(), rows.column("seq").to_pylist(), strict=True)))
