"""What files hold: lines of CSV as a producer writes them, and rows in Parquet as tables keep them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from faults.tables import Row
from freshtide.core.instants import micros
from freshtide.storage import Snapshot
from freshtide.world import Disk

_HEADER = "id,ts,k,v"


def as_csv(lines: Sequence[str]) -> bytes:
    return "\n".join([_HEADER, *lines, ""]).encode()


def line_of(row: Row) -> str:
    return f"{row.id},{_instant(row.ts)},{row.k},{row.v}"


def parsed(content: bytes) -> Iterator[tuple[str, Row | None]]:
    """The lines of a file, each with the row that it is; None: it is none."""
    lines = content.decode().splitlines()[1:]
    for raw, fields in zip(lines, csv.reader(io.StringIO("\n".join(lines))), strict=True):
        try:
            number, time, key, value = fields
            yield raw, Row(int(number), micros(datetime.fromisoformat(time).timestamp()), key, int(value))
        except ValueError:
            yield raw, None


def rows_of(disk: Disk, snapshot: Snapshot) -> list[Row]:
    """All that a version of a table holds."""
    return [Row(*values) for path in snapshot.paths(snapshot.files) for values in decoded(disk.read(path))]


@lru_cache(maxsize=4_096)
def decoded(content: bytes) -> list[tuple[Any, ...]]:
    """The rows of a Parquet file, times as microseconds: each is read again and again."""
    table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
    return list(zip(*(_values(column.combine_chunks()) for column in table.columns), strict=True))


def _values(column: pa.Array) -> list[Any]:
    plain = column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column
    values: list[Any] = plain.to_pylist()
    return values


def as_table(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _instant(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1_000_000, UTC).isoformat()
