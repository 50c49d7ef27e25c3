"""Why a row does not fit its feed's schema, in words."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from freshtide.core.durations import format_duration
from freshtide.core.tables import Column, Feed, FileFormat
from freshtide.spark.parsing import TIME_TEXT, Layout, csv_options, half_a_character
from freshtide.spark.schemas import effective_type, quoted
from freshtide.spark.unstorable import Fault, told
from freshtide.spark.verdicts import CONTENT, UNNAMED, is_required, unstorable

REJECTS = StructType([StructField(name, StringType()) for name in ("file", "content", "reason")])


def content_of(feed: Feed, columns: Sequence[Column], layouts: Sequence[Layout]) -> str:
    """A row as it stands in its file, as far as that is known; else its values, with the time as it was written."""
    values = {column.name: quoted(column.name) for column in columns}
    if feed.time_format is not None:
        values[feed.time_column] = f"{TIME_TEXT} AS {quoted(feed.time_column)}"
    if any(layout.unnamed for layout in layouts):
        values[UNNAMED] = UNNAMED
    return f"coalesce({CONTENT}, to_json(struct({', '.join(values.values())})))"


def reason(
    feed: Feed, columns: Sequence[Column], layout: Layout, *, beyond: str, partitions: Sequence[str]
) -> SparkColumn:
    """The first thing wrong with a rejected row of files of one layout. `beyond` tells whether it is of the future.

    The row is taken apart once more, with every value as text: where there is a text and no value, it was not one of
    its type. This costs something, but only for rows that are wrong.
    """
    complaints = [] if feed.format is FileFormat.PARQUET else _of_parsing(feed, columns, layout)
    if feed.time_format is not None:
        complaints.append(_not_a(feed, feed.time_column, "timestamp", sf.col(TIME_TEXT)))
    if layout.unnamed:
        unnamed = sf.col(UNNAMED)
        complaints.append(sf.when(unnamed.isNotNull(), told("it has '", unnamed, "' in a column without a name")))
    complaints += [fault.told() for fault in unstorable(feed, columns, partitions)]
    if feed.future_limit is not None:
        words = f"is more than {format_duration(feed.future_limit)} after its file came"
        complaints.append(Fault(column=feed.time_column, condition=beyond, words=words).told())
    for column in columns:
        if is_required(feed, column):
            missing = sf.col(quoted(column.name)).isNull()
            complaints.append(sf.when(missing, sf.lit(f"column '{column.name}' is empty")))
    return sf.coalesce(*complaints, sf.lit("the row does not fit the schema"))


def _of_parsing(feed: Feed, columns: Sequence[Column], layout: Layout) -> list[SparkColumn]:
    content = sf.col(CONTENT)
    fields = ", ".join(f"{quoted(column.name)} string" for column in layout.present)
    values = sf.from_csv(content, fields, csv_options(feed))
    complaints = []
    if feed.format is FileFormat.JSON:
        values = sf.from_json(content, fields)
        complaints = [
            sf.when(sf.expr(half_a_character(CONTENT)), sf.lit("it has half of a character")),
            sf.when(content.isNotNull() & sf.try_parse_json(content).isNull(), sf.lit("it is not valid JSON")),
            sf.when(content.rlike(r"^\s*\["), sf.lit("it is an array, and a line is one object")),
            sf.when(~content.rlike(r"^\s*\{"), sf.lit("it is not an object with a value for each column")),
        ]
    there = {column.name for column in layout.present}
    complaints += [
        _not_a(feed, column.name, effective_type(feed, column), values.getField(column.name))
        for column in columns
        if column.name in there
    ]
    whole = f"it does not have the {len(layout.present)} columns that the {'file' if feed.header else 'feed'} declares"
    if feed.format is FileFormat.JSON:
        whole = "it is more than one object"
    return [*complaints, sf.when(content.isNotNull(), sf.lit(whole))]


def _not_a(feed: Feed, name: str, type_: str, text: SparkColumn) -> SparkColumn:
    unfit = text.isNotNull() & sf.col(quoted(name)).isNull()
    if name == feed.time_column:
        unfit &= sf.trim(text) != ""
    return sf.when(unfit, told(f"column '{name}': '", text, f"' is not a {type_}"))
