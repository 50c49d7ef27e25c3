"""Avro: read by Python beside Spark's tasks, since what PyPI has of Spark comes without its reader for Avro.

Each task reads a stretch of a file and hands its rows on as Arrow. What was said of files to Spark holds for them too:
they must be there, under the same name, on every machine that works for Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from freshtide.core.arrivals import Arrival
from freshtide.core.feeds import Column, Feed
from freshtide.feeds.formats.avro import AvroFormat, batches_between, file_schema
from freshtide.spark.formats.format import Layout
from freshtide.spark.jvm import jvm_of
from freshtide.spark.spreading import send_package
from freshtide.spark.typedfiles import TypedLayout, local_places, present_columns, spark_types

# Larger files are read by several tasks.
_STRETCH = 32 * 1024 * 1024
_TASKS_PER_CORE = 4
_NAME, _TASKS = "freshtide_avro", "tasks"
_URI, _START = "_avro_uri", "_avro_start"


class AvroReading:
    options = AvroFormat
    is_parsed = True

    def layout(self, feed: Feed, file: Arrival, columns: tuple[Column, ...]) -> Layout:
        schema = file_schema(file.position)
        present, own = present_columns(feed, file, columns, spark_types(file, schema))
        return AvroLayout(feed=feed, present=present, own=own, local=local_places(feed, schema))

    def column_types(self, _session: SparkSession, file: Arrival) -> Mapping[str, str]:
        return spark_types(file, file_schema(file.position))

    def write_known_good(self, path: Path) -> None:
        import fastavro

        schema = {"type": "record", "name": "row", "fields": [{"name": "n", "type": "long"}]}
        with path.open("wb") as file:
            fastavro.writer(file, schema, [{"n": 1}])

    def read_known_good(self, session: SparkSession, path: Path) -> DataFrame:
        return _frame(session, [(str(path), path.stat().st_size)], "n bigint")


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroLayout(TypedLayout):
    @property
    def has_more(self) -> bool:
        return True

    @property
    def place(self) -> tuple[str, str]:
        return _URI, _START

    def frame(self, session: SparkSession, files: Sequence[Arrival]) -> DataFrame:
        return _frame(session, [(file.position, file.size) for file in files], self.ddl)


_Stretch = tuple[str, str, int, int]
"""A part of a file: its path, its URI, and where the part begins and ends."""


def _frame(session: SparkSession, sizes: Iterable[tuple[str, int]], ddl: str) -> DataFrame:
    """Columns of files of these sizes, and beside them where each row is."""
    uri_of = jvm_of(session).file_uri
    stretches = [
        (path, uri_of(path), start, start + _STRETCH)
        for path, size in sizes
        for start in range(0, max(1, size), _STRETCH)
    ]
    many = min(len(stretches), _TASKS_PER_CORE * session.sparkContext.defaultParallelism)
    tasks = json.dumps([stretches[place::many] for place in range(many)])
    send_package(session)
    session.dataSource.register(_source())
    columns = f"{ddl}, {_URI} string, {_START} bigint"
    return session.read.format(_NAME).schema(columns).option(_TASKS, tasks).load()


def _source() -> type[DataSource]:
    """What the workers carry out. Made here, it is sent as it is, and this module need not be there.

    Spark looks sources up by their names whenever it plans, so that what a frame reads must come with its options.
    """

    class Reader(DataSourceReader):
        def __init__(self, tasks: Sequence[Sequence[_Stretch]], names: Sequence[str]) -> None:
            self._tasks = tasks
            self._names = names

        def partitions(self) -> Sequence[InputPartition]:
            return [InputPartition(stretches) for stretches in self._tasks]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            *columns, _, _ = self._names
            for path, uri, start, end in partition.value:
                for rows in batches_between(path, start, end, columns):
                    beside = [pa.array([uri] * len(rows)), pa.array([start] * len(rows), pa.int64())]
                    yield pa.RecordBatch.from_arrays([*rows.columns, *beside], names=self._names)

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return _NAME

        def reader(self, schema: StructType) -> DataSourceReader:
            return Reader(json.loads(self.options[_TASKS]), schema.names)

    return Source
