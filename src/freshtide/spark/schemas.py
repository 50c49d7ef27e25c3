"""The columns of every table, resolved by Spark from the declared columns of the feeds."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from freshtide.core.tables import Column, Feed


class TableSchemas:
    """Schema by table name."""

    def __init__(self, schemas: Mapping[str, StructType]) -> None:
        self._schemas = dict(schemas)

    def of(self, table: str) -> StructType:
        return self._schemas[table]


def feed_schema(feed: Feed, extra: tuple[Column, ...] = ()) -> StructType:
    """The columns that a feed's rows have in Spark: the time column is always a time."""
    columns = [
        Column(name=column.name, type=_effective_type(feed, column), nullable=column.nullable)
        for column in (*feed.schema, *extra)
    ]
    return schema_from_ddl(", ".join(f"{quoted(column.name)} {column.type}" for column in columns))


def quoted(column: str) -> str:
    """A column name as an identifier of Spark SQL."""
    return "`" + column.replace("`", "``") + "`"


def schema_from_ddl(columns: str) -> StructType:
    schema = StructType.fromDDL(columns)
    assert isinstance(schema, StructType), "a list of columns is a struct"
    return schema


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark gives rows of these columns."""
    return to_arrow_schema(schema, timezone="UTC")


def _effective_type(feed: Feed, column: Column) -> str:
    if column.name == feed.time_column and feed.time_format is not None:
        return "timestamp"
    return column.type
