"""Feed files as DataFrames: parsed by the declared schema, with a verdict on every row.

Three columns travel with the rows until the split: `_file`, `_content` (the line as it stands in the file, for rows
that could not be parsed) and `_verdict`. A row is good, rejected (it does not fit the schema) or late (it is stamped
in a time that was promised to be complete).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf

from freshtide.core.loads import LoadItem
from freshtide.core.tables import Column, Feed, FileFormat
from freshtide.spark.reading import empty_frame
from freshtide.spark.rejects import reason
from freshtide.spark.schemas import feed_schema, schema_from_ddl

FILE, CONTENT, VERDICT = "_file", "_content", "_verdict"
_MAP_LIMIT = 64


class Verdict(IntEnum):
    GOOD = 0
    REJECTED = 1
    LATE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The parsed rows of some files."""

    feed: Feed
    columns: tuple[Column, ...]
    frame: DataFrame

    def good(self) -> DataFrame:
        return self._rows(Verdict.GOOD)

    def late(self) -> DataFrame:
        return self._rows(Verdict.LATE)

    def rejected(self) -> DataFrame:
        """File, content and reason of the rows that do not fit."""
        bad = self.frame.where(sf.col(VERDICT) == sf.lit(int(Verdict.REJECTED)))
        as_read = sf.to_json(sf.struct(*(_name(column.name) for column in self.columns)))
        return bad.select(
            _plain_path(sf.col(FILE)).alias("file"),
            sf.coalesce(sf.col(CONTENT), as_read).alias("content"),
            reason(self.feed, self.columns, sf.col(CONTENT)).alias("reason"),
        )

    def _rows(self, verdict: Verdict) -> DataFrame:
        rows = self.frame.where(sf.col(VERDICT) == sf.lit(int(verdict)))
        return rows.select(*(_name(column.name) for column in self.columns))


def read_batch(session: SparkSession, feed: Feed, extra: tuple[Column, ...], items: Sequence[LoadItem]) -> Batch:
    """Parse the files of a load together: what waits together is read together."""
    columns = (*feed.schema, *extra)
    groups: dict[tuple[str, ...] | None, list[str]] = defaultdict(list)
    for item in items:
        groups[_layout(feed, item)].append(item.file.path)
    parts = [_parsed(session, feed, columns, layout, paths) for layout, paths in groups.items()]
    if parts:
        frame = reduce(DataFrame.unionByName, parts)
    else:
        frame = _with_marks(empty_frame(session, feed_schema(feed, extra)))
    return Batch(feed=feed, columns=columns, frame=_judged(session, feed, columns, frame, items))


def _layout(feed: Feed, item: LoadItem) -> tuple[str, ...] | None:
    """Files with the same columns in the same order can be read by one scan; only CSV cares about order."""
    return item.file.columns if feed.format is FileFormat.CSV and feed.header else None


def _parsed(
    session: SparkSession,
    feed: Feed,
    columns: tuple[Column, ...],
    layout: tuple[str, ...] | None,
    paths: list[str],
) -> DataFrame:
    by_name = {column.name: column for column in columns}
    if layout is not None:
        present = [by_name.get(name, Column(name=name, type="string")) for name in layout]
    elif feed.format is FileFormat.CSV:
        present = list(feed.schema)
    else:
        present = list(columns)
    raw = _reader(session, feed, present).load([_escaped(path) for path in paths])
    content = sf.lit(None).cast("string") if feed.format is FileFormat.PARQUET else sf.col(CONTENT)
    there = {column.name for column in present}
    values = [
        _converted(feed, column) if column.name in there else sf.lit(None).cast(column.type).alias(column.name)
        for column in columns
    ]
    return raw.select(*values, content.alias(CONTENT), sf.col("_metadata.file_path").alias(FILE))


def _reader(session: SparkSession, feed: Feed, columns: list[Column]) -> DataFrameReader:
    fields = [f"{_quoted(column.name)} {_raw_type(feed, column)}" for column in columns]
    if feed.format is FileFormat.PARQUET:
        return session.read.format("parquet").schema(schema_from_ddl(", ".join(fields)))
    schema = schema_from_ddl(", ".join([*fields, f"{CONTENT} string"]))
    reader = session.read.schema(schema).option("columnNameOfCorruptRecord", CONTENT).option("mode", "PERMISSIVE")
    reader = reader.option("encoding", feed.encoding).option("multiLine", feed.multiline)
    if feed.format is FileFormat.JSON:
        return reader.format("json")
    return (
        reader.format("csv")
        .option("header", feed.header)
        .option("sep", feed.delimiter)
        .option("quote", feed.quote)
        .option("escape", feed.escape)
        .option("nullValue", feed.null_value)
    )


def _raw_type(feed: Feed, column: Column) -> str:
    """The type to parse as: a time in a format of its own is text until it is converted."""
    if column.name == feed.time_column and feed.time_format is not None and feed.format is not FileFormat.PARQUET:
        return "string"
    return column.type


def _converted(feed: Feed, column: Column) -> SparkColumn:
    value = _name(column.name)
    if column.name != feed.time_column or feed.time_format is None:
        return value
    if feed.time_format in {"epoch_seconds", "epoch_millis"}:
        scale = 1_000_000 if feed.time_format == "epoch_seconds" else 1_000
        number = value.try_cast("decimal(30,9)")
        return sf.timestamp_micros(sf.round(number * sf.lit(scale)).cast("bigint")).alias(column.name)
    return sf.try_to_timestamp(value, sf.lit(feed.time_format)).alias(column.name)


def _judged(
    session: SparkSession, feed: Feed, columns: tuple[Column, ...], frame: DataFrame, items: Sequence[LoadItem]
) -> DataFrame:
    time = _name(feed.time_column)
    unfit = sf.col(CONTENT).isNotNull() | time.isNull()
    for column in columns:
        if not column.nullable:
            unfit = unfit | _name(column.name).isNull()
    # Spark parses only the columns that a plan refers to, and finds only their errors: refer to them all.
    nothing = reduce(lambda left, right: left & right, (_name(column.name).isNull() for column in columns))
    rejected = sf.when(unfit | nothing, sf.lit(int(Verdict.REJECTED)))
    if all(item.late_upto is None for item in items):
        return frame.withColumn(VERDICT, rejected.otherwise(sf.lit(int(Verdict.GOOD))))
    limited, late_upto = _late_limits(session, frame, items)
    verdict = rejected.when(sf.unix_micros(time) <= late_upto, sf.lit(int(Verdict.LATE)))
    return limited.withColumn(VERDICT, verdict.otherwise(sf.lit(int(Verdict.GOOD))))


def _late_limits(session: SparkSession, frame: DataFrame, items: Sequence[LoadItem]) -> tuple[DataFrame, SparkColumn]:
    """The frame with, for each row, up to where its file's rows are late.

    A map for few files; its content stays out of the generated code, which can thus be used again. A join
    for many, since looking a file up in a map takes longer the more there are.
    """
    limits = {file_uri(session, item.file.path): item.late_upto for item in items if item.late_upto is not None}
    if len(set(limits.values())) == 1 and len(limits) == len(items):
        return frame, sf.lit(next(iter(limits.values())))
    if len(limits) <= _MAP_LIMIT:
        pairs = [part for uri, upto in limits.items() for part in (sf.lit(uri), sf.lit(upto))]
        return frame, sf.try_element_at(sf.create_map(*pairs), sf.col(FILE))
    table = session.createDataFrame(list(limits.items()), f"{FILE} string, _late_upto bigint")
    return frame.join(sf.broadcast(table), FILE, "left"), sf.col("_late_upto")


def file_uri(session: SparkSession, path: str) -> str:
    """A path as Spark's metadata column spells it."""
    jvm = session.sparkContext._jvm
    assert jvm is not None
    return str(jvm.java.io.File(path).toURI().toString())


def _with_marks(frame: DataFrame) -> DataFrame:
    nothing = sf.lit(None).cast("string")
    return frame.withColumn(CONTENT, nothing).withColumn(FILE, nothing)


def _plain_path(uri: SparkColumn) -> SparkColumn:
    """The metadata column's URI as the path that a user knows."""
    decoded = sf.url_decode(sf.replace(uri, sf.lit("+"), sf.lit("%2B")))
    return sf.regexp_replace(decoded, "^file:(//)?", "")


def _escaped(path: str) -> str:
    """Spark takes paths as globs: a file called `a[1].csv` is itself, not a pattern."""
    return "".join(f"\\{character}" if character in "*?[]{}\\" else character for character in path)


def _name(column: str) -> SparkColumn:
    return sf.col(_quoted(column))


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"
