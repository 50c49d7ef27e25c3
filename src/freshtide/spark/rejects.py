"""Why a row does not fit its feed's schema, in words."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from freshtide.core.durations import format_duration
from freshtide.core.feeds import Column, Feed
from freshtide.spark.formats import Layout
from freshtide.spark.parsedtexts import not_a
from freshtide.spark.parsing import TIME_TEXT
from freshtide.spark.schemas import quoted
from freshtide.spark.unstorable import Fault, told
from freshtide.spark.verdicts import CONTENT, UNNAMED, is_required, unstorable

REJECTS = StructType([StructField(name, StringType()) for name in ("file", "content", "reason")])


def content_of(feed: Feed, columns: Sequence[Column], layouts: Sequence[Layout]) -> str:
    """A row as it stands in its file, as far as that is known; else its values, with the time as it was written."""
    computed = None if feed.time.expression is None else feed.time.column
    values = {column.name: quoted(column.name) for column in columns if column.name != computed}
    if feed.time.format is not None:
        time_column = feed.time.known_column
        values[time_column] = f"{TIME_TEXT} AS {quoted(time_column)}"
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
    complaints = layout.complaints(columns)
    if feed.time.format is not None:
        complaints.append(not_a(feed, feed.time.known_column, "timestamp", sf.col(TIME_TEXT)))
    if feed.time.expression is not None:
        nothing = sf.col(quoted(feed.time.known_column)).isNull()
        complaints.append(sf.when(nothing, sf.lit(f"its time cannot be computed: {feed.time.expression.strip()}")))
    if layout.unnamed:
        unnamed = sf.col(UNNAMED)
        complaints.append(sf.when(unnamed.isNotNull(), told("it has '", unnamed, "' in a column without a name")))
    complaints += [fault.told() for fault in unstorable(feed, columns, partitions)]
    if feed.time.column is not None and feed.time.future_limit is not None:
        words = f"is more than {format_duration(feed.time.future_limit)} after its file came"
        complaints.append(Fault(column=feed.time.column, condition=beyond, words=words).told())
    for column in columns:
        if is_required(feed, column):
            missing = sf.col(quoted(column.name)).isNull()
            complaints.append(sf.when(missing, sf.lit(f"column '{column.name}' is empty")))
    return sf.coalesce(*complaints, sf.lit("the row does not fit the schema"))
