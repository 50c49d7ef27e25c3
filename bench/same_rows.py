"""Whether a view holds what DuckDB makes of the same files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isclose
from pathlib import Path

import duckdb
import pyarrow as pa

_NEAR = 1e-6
"""Means of decimals are rounded to other places by Spark than by DuckDB."""


def peer_rows(files: Mapping[str, Sequence[Path]], query: str) -> pa.Table:
    """The query over raw files, by DuckDB."""
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, paths in files.items():
            database.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({[str(path) for path in paths]})")
        return database.sql(query).to_arrow_table()


def difference(have: pa.Table, want: pa.Table) -> str | None:
    """The first row that differs, whatever the order; None where there is none."""
    if have.num_rows != want.num_rows:
        return f"{have.num_rows:,} rows instead of {want.num_rows:,}"
    pairs = zip(_rows(have), _rows(want), strict=True)
    return next((f"{one} instead of {other}" for one, other in pairs if not _is_same(one, other)), None)


def _rows(table: pa.Table) -> list[tuple[object, ...]]:
    rows = zip(*(map(_plain, column.to_pylist()) for column in table.columns), strict=True)
    return sorted(rows, key=_by_what_is_exact)


def _by_what_is_exact(row: Iterable[object]) -> tuple[str, ...]:
    """Numbers that may be rounded come last: rows that are equal but for these meet each other."""
    row = tuple(row)
    exact = [repr(value) for value in row if not isinstance(value, float)]
    return (*exact, *(f"{value:030.3f}" for value in row if isinstance(value, float)))


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)
    if isinstance(value, date):
        return value.isoformat()
    return value


def _is_same(one: Sequence[object], other: Sequence[object]) -> bool:
    return all(
        isclose(float(a), float(b), rel_tol=_NEAR, abs_tol=1e-4)
        if isinstance(a, int | float) and isinstance(b, int | float)
        else a == b
        for a, b in zip(one, other, strict=True)
    )
