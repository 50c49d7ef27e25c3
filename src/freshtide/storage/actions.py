"""The data files of an open table, as the add actions of its log describe them."""

from __future__ import annotations

from datetime import date
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable

from freshtide.storage.snapshots import DataFile
from freshtide.storage.statistics import parse_time_bound
from freshtide.storage.values import serialised


def data_files(handle: DeltaTable, time_column: str | None) -> tuple[DataFile, ...]:
    """The files of an open table."""
    rows = pa.table(handle.get_add_actions()).to_pylist()
    return tuple(_data_file(row, time_column) for row in rows)


def _data_file(row: dict[str, Any], time_column: str | None) -> DataFile:
    partition = row.get("partition") or {}
    low, high = _time_bounds(row, partition, time_column)
    return DataFile(
        path=unquote(row["path"]),
        size=row["size_bytes"],
        rows=row["num_records"],
        partition_values={name: serialised(value) for name, value in partition.items()},
        modified_ms=row["modification_time"],
        low=low,
        high=high,
    )


def _time_bounds(
    row: dict[str, Any], partition: dict[str, Any], time_column: str | None
) -> tuple[int | None, int | None]:
    if time_column is None:
        return None, None
    if isinstance(partition.get(time_column), date):
        day = parse_time_bound(partition[time_column], upper=False)
        return day, day
    low, high = (row.get("min") or {}).get(time_column), (row.get("max") or {}).get(time_column)
    return parse_time_bound(low, upper=False), parse_time_bound(high, upper=True)
