"""The rows of some files of a table, as Arrow."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from freshtide.storage.schemas import nullable
from freshtide.storage.snapshots import DataFile, Snapshot


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
        return pq.ParquetFile(stream).read(columns=columns)


def aligned(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with just the columns of a schema, in its order; what they lack is null."""
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
