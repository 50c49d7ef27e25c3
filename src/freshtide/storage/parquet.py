"""Parquet files beside a table's log: written from Arrow, or adopted from a folder that Spark wrote.

Until a commit names them they are invisible to every reader.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from freshtide.crashpoints import reach
from freshtide.storage.durability import make_folder, sync_files
from freshtide.storage.snapshots import DataFile

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def write_arrow(
    folder: Path, rows: pa.Table, *, number: int, partition_by: tuple[str, ...], time_column: str | None
) -> list[DataFile]:
    """Write the rows, one file per partition; no rows, no file."""
    written = [
        write_part(folder, part, number=number, partition_values=values, time_column=time_column)
        for values, part in _by_partition(rows, partition_by)
    ]
    sync_files((folder / file.path for file in written), under=folder)
    return written


def write_part(
    folder: Path,
    rows: pa.Table,
    *,
    number: int,
    partition_values: Mapping[str, str | None],
    time_column: str | None,
) -> DataFile:
    """Write rows of one partition, without its partition columns, as one file."""
    relative = _partition_folder(partition_values) + _file_name(number)
    path = folder / relative
    make_folder(path.parent)
    pq.write_table(rows, path, compression="zstd")
    return DataFile.describe(folder, relative, partition_values=partition_values, time_column=time_column)


def staging_root(folder: Path) -> Path:
    """Where Spark writes; the underscore keeps readers and the sweeping of files away."""
    return folder / "_staging"


def staging_folder(folder: Path, number: int) -> Path:
    """A new folder for Spark to write into."""
    return staging_root(folder) / f"{number:08d}-{uuid.uuid4().hex}"


def adopt_staged(
    folder: Path, staging: Path, *, number: int, partition_by: tuple[str, ...], time_column: str | None
) -> list[DataFile]:
    """Move the Parquet files that Spark wrote to their place under the table's folder."""
    reach("staged")
    adopted = []
    for source in sorted(staging.rglob("*.parquet")):
        parts = source.relative_to(staging).parts[:-1]
        values = dict(zip(partition_by, (_partition_value(part) for part in parts), strict=True))
        relative = "".join(f"{part}/" for part in parts) + _file_name(number)
        target = folder / relative
        make_folder(target.parent)
        source.rename(target)
        file = DataFile.describe(folder, relative, partition_values=values, time_column=time_column)
        if file.rows:
            adopted.append(file)
        else:
            target.unlink()
    sync_files((folder / file.path for file in adopted), under=folder)
    shutil.rmtree(staging, ignore_errors=True)
    return adopted


def discard_staged(folder: Path) -> None:
    """Throw away what earlier processes left staged."""
    shutil.rmtree(staging_root(folder), ignore_errors=True)


def _file_name(number: int) -> str:
    return f"part-{number:08d}-{uuid.uuid4().hex}.parquet"


def _by_partition(rows: pa.Table, partition_by: tuple[str, ...]) -> Iterator[tuple[Mapping[str, str | None], pa.Table]]:
    if not rows.num_rows:
        return
    if not partition_by:
        yield {}, rows
        return
    # Rows are taken by their place, not compared with the key again: a NaN would equal nothing.
    keys = rows.select(partition_by).rename_columns([f"key{place}" for place in range(len(partition_by))])
    placed = keys.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    groups = placed.group_by(keys.column_names, use_threads=False).aggregate([("place", "list")])
    for group in groups.to_pylist():
        part = rows.take(pa.array(group["place_list"], pa.int64())).drop_columns(list(partition_by))
        values = zip(partition_by, keys.column_names, strict=True)
        yield {name: serialised(group[key]) for name, key in values}, part


def serialised(value: Any) -> str | None:
    """A partition value as the Delta protocol writes it."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S.%f")
        case date():
            return value.isoformat()
    return str(value)


def _partition_folder(values: Mapping[str, str | None]) -> str:
    return "".join(
        f"{name}={_NULL_PARTITION if value is None else quote(value, safe=' ')}/" for name, value in values.items()
    )


def _partition_value(folder: str) -> str | None:
    value = folder.partition("=")[2]
    return None if value == _NULL_PARTITION else unquote(value)
