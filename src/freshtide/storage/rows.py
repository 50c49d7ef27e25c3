"""The rows of some files of a table, as Arrow, and the Arrow schemas that tables keep."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa

from freshtide.storage.snapshots import DataFile, Snapshot

# Each table has one, and is asked for it at each update.
_SCHEMAS_KEPT = 512


def stored_rows(snapshot: Snapshot, files: tuple[DataFile, ...], *, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of the files without their partition columns; columns that the table gained later are null in them."""
    wanted = [field for field in snapshot.schema if field.name not in snapshot.partition_by]
    if columns is not None:
        wanted = [field for field in wanted if field.name in columns]
    schema = nullable(pa.schema(wanted))
    parts = [_read(snapshot, file, columns) for file in files]
    return pa.concat_tables([aligned(part, schema) for part in parts]) if parts else schema.empty_table()


def _read(snapshot: Snapshot, file: DataFile, columns: Sequence[str] | None) -> pa.Table:
    with snapshot.disk.open(snapshot.folder / file.path) as stream:
        return snapshot.encoding.rows(stream, columns)


def aligned(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with just the columns of a schema, in its order; what they lack is null."""
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


@lru_cache(maxsize=_SCHEMAS_KEPT)
def nullable(schema: pa.Schema) -> pa.Schema:
    """The schema with every field nullable.

    Whether Spark calls a column nullable depends on the plan that computed it; a table's schema must not change
    with the plan.
    """
    return pa.schema([_nullable_field(field) for field in schema])


def _nullable_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _nullable_type(field.type), nullable=True)


def _nullable_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_nullable_field(field) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _nullable_type(kind.value_type), nullable=True))
    if pa.types.is_map(kind):
        return pa.map_(_nullable_type(kind.key_type), _nullable_type(kind.item_type))
    return kind
