"""What the formats have in common whose values are text until Spark parses them.

Lines of small files are handed to Spark instead of read by it. For a few thousand rows a job that reads a file takes
several times as long as parsing it. What Spark is handed it computes while it plans (`collected` in `jvm`), with the
parser that also reads files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from freshtide.core.feeds import UTC_ZONE, Column, Feed
from freshtide.spark.jvm import jvm_of
from freshtide.spark.localtimes import instant_in, zone_options
from freshtide.spark.reading import empty_frame
from freshtide.spark.schemas import effective_type, literal, quoted, schema_from_ddl
from freshtide.spark.timesinside import has_time_of_day, holds_instants
from freshtide.spark.unstorable import told
from freshtide.spark.verdicts import CONTENT

_SPARK_DEFAULTS = {
    "encoding": "utf-8",
    "header": "false",
    "sep": ",",
    "quote": '"',
    "escape": "\\",
    "nullValue": "",
    "multiLine": "false",
}


def parsing_options(feed: Feed, options: Mapping[str, str]) -> dict[str, str]:
    """Options with which what cannot be parsed is kept, and times are of the feed's zone.

    Each is a call to the JVM: Spark's defaults are left out.
    """
    wanted = {"columnNameOfCorruptRecord": CONTENT, **zone_options(feed.time_zone), **options}
    return {name: value for name, value in wanted.items() if _SPARK_DEFAULTS.get(name) != value.lower()}


def columns_with_content(fields: Sequence[str]) -> str:
    """Columns as DDL, and beside them that for what cannot be parsed."""
    return ", ".join([*fields, f"{CONTENT} string"])


def raw_type(feed: Feed, column: Column) -> str:
    """The type to parse as: a time in a format of its own is text until it is converted."""
    is_written = column.name == feed.time.column and feed.time.format is not None
    return "string" if is_written else column.type


def is_parsed_as_instants(feed: Feed, column: Column) -> bool:
    """Whether it is Spark that makes instants of the column's texts."""
    return holds_instants(column.type) and (column.name != feed.time.column or feed.time.format is None)


def instant_of_text(text: str, column: Column, zone: str) -> str:
    """What Spark makes of a text, except for times of day: those would be of the day of the load."""
    instant = f"try_cast({text} AS {column.type})" if zone == UTC_ZONE else instant_in(zone, text)
    return f"CASE WHEN NOT {has_time_of_day(text, column)} THEN {instant} END"


def unparsed_values(
    feed: Feed, columns: Sequence[Column], present: Sequence[Column], texts: SparkColumn
) -> list[SparkColumn]:
    """Complaints about values that are not of their types, from the same values as texts."""
    there = {column.name for column in present}
    return [
        not_a(feed, column.name, effective_type(feed, column), texts.getField(column.name))
        for column in columns
        if column.name in there
    ]


def not_a(feed: Feed, name: str, type_: str, text: SparkColumn) -> SparkColumn:
    unfit = text.isNotNull() & sf.col(quoted(name)).isNull()
    if name == feed.time.column:
        unfit &= sf.trim(text) != ""
    return sf.when(unfit, told(f"column '{name}': '", text, f"' is not a {type_}"))


def parsed_lines(session: SparkSession, lines: Sequence[bytes], schema: str, options: Mapping[str, str]) -> DataFrame:
    """What reading a file with these lines gives, under a schema as DDL."""
    if not lines:
        return empty_frame(session, schema_from_ddl(schema))
    pairs = ", ".join(literal(word) for pair in options.items() for word in pair)
    record = f"from_csv(value, {literal(schema)}, map({pairs})) AS record"
    jvm = jvm_of(session)
    return jvm.select(jvm.select(jvm.lines(session, lines), (record,)), ("record.*",))
