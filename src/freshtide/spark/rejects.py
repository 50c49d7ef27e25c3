"""Why a row does not fit its feed's schema, in words."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from freshtide.core.tables import Column, Feed, FileFormat
from freshtide.spark.schemas import quoted

CONTENT = "_content"
REJECTS = StructType([StructField(name, StringType()) for name in ("file", "content", "reason")])


def reason(feed: Feed, columns: tuple[Column, ...]) -> SparkColumn:
    """The first thing wrong with a rejected row.

    The row is taken apart once more, with every value as text, and each value is tried against its type; this
    costs something, but only for rows that are wrong.
    """
    complaints = [] if feed.format is FileFormat.PARQUET else _complaints(feed, columns, sf.col(CONTENT))
    for column in columns:
        if not column.nullable or column.name == feed.time_column:
            missing = sf.col(quoted(column.name)).isNull()
            complaints.append(sf.when(missing, sf.lit(f"column '{column.name}' is empty")))
    return sf.coalesce(*complaints, sf.lit("the row does not fit the schema"))


def _complaints(feed: Feed, columns: tuple[Column, ...], content: SparkColumn) -> list[SparkColumn]:
    fields = ", ".join(f"{quoted(column.name)} string" for column in columns)
    if feed.format is FileFormat.JSON:
        values = sf.from_json(content, fields)
        whole = sf.when(content.isNotNull() & sf.try_parse_json(content).isNull(), sf.lit("it is not valid JSON"))
    else:
        options = {"sep": feed.delimiter, "quote": feed.quote, "escape": feed.escape, "nullValue": feed.null_value}
        values = sf.from_csv(content, fields, options)
        whole = sf.lit(None).cast("string")
    complaints = [whole]
    for column in columns:
        if column.name == feed.time_column and feed.time_format is not None:
            continue
        value = values.getField(column.name)
        unfit = value.isNotNull() & value.try_cast(column.type).isNull()
        told = sf.concat(
            sf.lit(f"column '{column.name}': '"), sf.substring(value, 1, 80), sf.lit(f"' is not a {column.type}")
        )
        complaints.append(sf.when(unfit, told))
    if feed.format is FileFormat.CSV:
        count = f"it does not have the {len(feed.schema)} columns that the feed declares"
        complaints.append(sf.when(content.isNotNull(), sf.lit(count)))
    return complaints
