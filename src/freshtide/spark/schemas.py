"""The columns of every table, resolved by Spark from the declared columns of the feeds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType, TimestampType

from freshtide.core.errors import FreshtideError
from freshtide.core.feeds import Column, Feed
from freshtide.core.latest import WINDOW_COLUMNS
from freshtide.core.tables import Table

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class UnknownColumnsError(FreshtideError):
    """A question about columns that nobody can tell yet."""


class TableSchemas:
    """Schema by table name; of a table that a flow loads none, as long as what the flow reads has no data."""

    def __init__(self, schemas: Mapping[str, StructType]) -> None:
        self._schemas = dict(schemas)

    def of(self, table: str) -> StructType:
        if table not in self._schemas:
            raise UnknownColumnsError(
                f"The columns of '{table}' are not known yet: they come from a flow that reads what has no data.",
                way_out="Load what the flow reads first.",
            )
        return self._schemas[table]

    def types(self, table: str) -> dict[str, str] | None:
        """Column to type in Spark's words, where they are known."""
        schema = self._schemas.get(table)
        return None if schema is None else {field.name: field.dataType.simpleString() for field in schema}


def feed_schema(feed: Feed, extra: tuple[Column, ...] = ()) -> StructType:
    """The columns that a feed's rows have in Spark: the time column is always a time."""
    return _schema(feed, (*feed.columns, *extra))


def brought_schema(feed: Feed) -> StructType:
    """The same without a time that is computed from the others."""
    return _schema(feed, feed.schema)


def input_schema(table: Table, feed: Feed, extra: tuple[Column, ...] = ()) -> StructType:
    """The columns that the query of a base table sees: the feed's and, with windows, where they begin and end."""
    schema = feed_schema(feed, extra)
    if table.latest is None or table.latest.windows is None:
        return schema
    return StructType([*schema.fields, *(StructField(name, TimestampType()) for name in WINDOW_COLUMNS)])


def quoted(column: str) -> str:
    """A column name as an identifier of Spark SQL."""
    return "`" + column.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text as a literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def type_text(kind: DataType) -> str:
    """The type as it is written in SQL. Spark itself leaves names of fields as they are, whatever is in them."""
    match kind:
        case StructType():
            return f"struct<{','.join(f'{_name(field.name)}:{type_text(field.dataType)}' for field in kind)}>"
        case ArrayType():
            return f"array<{type_text(kind.elementType)}>"
        case MapType():
            return f"map<{type_text(kind.keyType)},{type_text(kind.valueType)}>"
    return kind.simpleString()


def schema_from_ddl(columns: str) -> StructType:
    schema = StructType.fromDDL(columns)
    assert isinstance(schema, StructType), "a list of columns is a struct"
    return schema


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark gives rows of these columns."""
    return to_arrow_schema(schema, timezone="UTC")


def effective_type(feed: Feed, column: Column) -> str:
    """The type of a column once it has been parsed."""
    if column.name == feed.time.column and feed.time.format is not None:
        return "timestamp"
    return column.type


def _schema(feed: Feed, columns: Iterable[Column]) -> StructType:
    return schema_from_ddl(", ".join(f"{quoted(column.name)} {effective_type(feed, column)}" for column in columns))


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name)
