"""Tables on disk for the tests of this folder: written through the front door, read back by other readers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable

from freshtide.storage import Change, Snapshot, StoredTable, UpdateKind, UpdateRecord

AT = 1_000_000_000.0
"""The moment of all commits: long ago, so that a vacuum may delete what they removed."""
START = datetime(2026, 5, 1, tzinfo=UTC)
TIME = pa.timestamp("us", tz="UTC")


def opened(folder: Path, time_column: str | None = "time") -> StoredTable:
    table = StoredTable(folder, time_column=time_column)
    table.open()
    return table


def rows(*values: int, **columns: Any) -> pa.Table:
    """One row per value, stamped as many seconds after the start."""
    stamps = [START + timedelta(seconds=value) for value in values]
    return pa.table({"time": pa.array(stamps, TIME), "value": pa.array(values, pa.int64()), **columns})


def micros_after(seconds: float) -> int:
    return round((START.timestamp() + seconds) * 1_000_000)


def update(number: int, *, freshness: int | None = None, kind: UpdateKind = UpdateKind.LOAD) -> UpdateRecord:
    return UpdateRecord(number=number, kind=kind, freshness=freshness, safe=freshness, definition="d")


def commit(
    table: StoredTable,
    number: int,
    content: pa.Table,
    *,
    by: tuple[str, ...] = (),
    freshness: int | None = None,
    **how: Any,
) -> Snapshot:
    files = tuple(table.write(content, number=number, partition_by=by))
    record = update(number, freshness=number if freshness is None else freshness)
    return table.commit(
        Change(record=record, at=AT, schema=content.schema, partition_by=by, add=files, **how),
    )


def by_polars(folder: Path) -> pl.DataFrame:
    return pl.read_delta(str(folder))


def by_duckdb(folder: Path, column: str) -> list[Any]:
    """A column, read by DuckDB over delta-rs and Arrow."""
    dataset = DeltaTable(folder).to_pyarrow_dataset()
    with duckdb.connect() as connection:
        connection.register("stored", dataset)
        return [row[0] for row in connection.sql(f'SELECT "{column}" FROM stored').fetchall()]


def values(folder: Path, column: str = "value") -> list[Any]:
    """The values of a column, sorted, as two readers agree on them."""
    found = by_polars(folder)[column].to_list()
    assert Counter(found) == Counter(by_duckdb(folder, column))
    return sorted(found, key=lambda value: (value is None, value))


def held(snapshot: Snapshot | None) -> list[int]:
    """The values in the files that a snapshot lists, read as plain Parquet."""
    assert snapshot is not None
    found: list[int] = []
    for path in snapshot.paths(snapshot.files):
        found += pl.read_parquet(path, hive_partitioning=False)["value"].to_list()
    return sorted(found)


def log_files(folder: Path) -> list[Path]:
    return sorted((folder / "_delta_log").glob("*.json"))


def added_statistics(folder: Path) -> list[dict[str, Any]]:
    """The statistics of the files that the last commit added, as they stand in the log."""
    lines = log_files(folder)[-1].read_text(encoding="utf-8").split("\n")
    actions: Iterable[dict[str, Any]] = (json.loads(line) for line in lines if line)
    return [json.loads(action["add"]["stats"]) for action in actions if "add" in action]
