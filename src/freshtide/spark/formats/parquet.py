"""Parquet: columns are found by name, with the types that they have. Times in nanoseconds come as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import UTC_ZONE, Column, Feed
from freshtide.feeds.formats.parquet import ParquetFormat, local_times, nanoseconds, type_faults
from freshtide.spark.formats.format import NO_TEXT, Layout, paths_of
from freshtide.spark.schemas import quoted, type_text
from freshtide.spark.timesinside import Path as Place
from freshtide.spark.timesinside import times_of_numbers, type_of_numbers
from freshtide.spark.typedfiles import require_types
from freshtide.spark.verdicts import CONTENT


class ParquetReading:
    options = ParquetFormat
    is_parsed = False

    def layout(self, feed: Feed, file: Arrival, columns: tuple[Column, ...]) -> Layout:
        local = local_times(file.position) if feed.time_zone != UTC_ZONE else frozenset[Place]()
        return ParquetLayout(feed=feed, present=columns, nanoseconds=nanoseconds(file.position), local=local)

    def column_types(self, session: SparkSession, file: Arrival) -> Mapping[str, str]:
        """All times are instants in microseconds there."""
        require_types(file, type_faults(file.position))
        types = {field.name: type_text(field.dataType) for field in session.read.parquet(*paths_of([file])).schema}
        numbers = nanoseconds(file.position)
        times = {name for name, type_ in types.items() if type_ == "timestamp_ntz" or (name.lower(),) in numbers}
        return types | dict.fromkeys(times, "timestamp")

    def write_known_good(self, path: Path) -> None:
        pq.write_table(pa.table({"n": [1]}), path)

    def read_known_good(self, session: SparkSession, path: Path) -> DataFrame:
        return session.read.parquet(str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetLayout(Layout):
    nanoseconds: frozenset[Place] = frozenset()
    """Where times are that Spark reads as numbers."""
    local: frozenset[Place] = frozenset()
    """Where times are that have no zone, if the feed has one."""

    def frame(self, session: SparkSession, files: Sequence[Arrival]) -> DataFrame:
        fields = (f"{quoted(column.name)} {self._raw_type(column)}" for column in self.present)
        return session.read.schema(", ".join(fields)).parquet(*paths_of(files))

    def value(self, column: Column) -> str:
        name = quoted(column.name)
        value = name
        if self.nanoseconds or self.local:
            value = times_of_numbers(column, self.nanoseconds, local=self.local, zone=self.feed.time_zone)
        if value == name and column.name == self.feed.time.column and self.feed.time.format is not None:
            value = self.written_time(name, column.type)
        return name if value == name else f"{value} AS {name}"

    @property
    def content(self) -> str:
        return f"{NO_TEXT} AS {CONTENT}"

    def _raw_type(self, column: Column) -> str:
        return type_of_numbers(column, self.nanoseconds) if self.nanoseconds else column.type
