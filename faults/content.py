"""What files hold: lines of CSV as a producer writes them, and rows as the files of tables keep them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import pyarrow as pa

from faults.tables import Row
from freshtide.core.instants import micros
from freshtide.storage import DataFile, Footer, Snapshot, StoredTable
from freshtide.world import Disk, OpenFile

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


class PlainRows:
    """Rows as JSON: names of columns, then their values, times as microseconds.

    Nobody but these worlds reads it. Parquet would take a quarter of all their time, and what becomes of a file is the
    same whatever is in it.
    """

    def encoded(self, rows: pa.Table) -> bytes:
        values = [_values(column.combine_chunks()) for column in rows.columns]
        return as_json(rows.column_names, list(zip(*values, strict=True)))

    def footer(self, file: OpenFile, time_column: str | None) -> Footer:
        names, rows = _read(file.read())
        stats: dict[str, Any] = {"numRecords": len(rows)}
        low = high = None
        if time_column in names:
            place = names.index(time_column)
            low, high = min(row[place] for row in rows), max(row[place] for row in rows)
            stats |= {"minValues": {time_column: _instant(low)}, "maxValues": {time_column: _instant(high)}}
        return Footer(rows=len(rows), low=low, high=high, stats=json.dumps(stats))

    def row_count(self, file: OpenFile) -> int:
        return len(decoded(file.read()))

    def rows(self, file: OpenFile, columns: Sequence[str] | None = None) -> pa.Table:
        names, rows = _read(file.read())
        return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))).select(columns or names)


def written(
    table: StoredTable, rows: Sequence[Sequence[Any]], schema: pa.Schema, *, number: int
) -> tuple[DataFile, ...]:
    """Rows in a file of a table, ready to be committed; no rows, no file."""
    return (table.put_part(as_json(schema.names, rows), number=number, partition_values={}),) if rows else ()


def as_json(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    return json.dumps([columns, *rows]).encode()


def decoded(content: bytes) -> list[tuple[Any, ...]]:
    """The rows of a file of a table."""
    return _read(content)[1]


@lru_cache(maxsize=512)
def _read(content: bytes) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows: each file is read again and again."""
    columns, *rows = json.loads(content)
    return columns, [tuple(row) for row in rows]


def _values(column: pa.Array) -> list[Any]:
    plain = column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column
    values: list[Any] = plain.to_pylist()
    return values


def _instant(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1_000_000, UTC).isoformat()
