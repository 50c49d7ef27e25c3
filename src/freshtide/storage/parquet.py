"""Parquet files beside a table's log: written from Arrow, or adopted from a folder that Spark wrote.

Until a commit names them they are invisible to every reader.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from freshtide.crashpoints import reach
from freshtide.storage.encoding import RowEncoding
from freshtide.storage.snapshots import DataFile
from freshtide.storage.values import by_partition, folder_of, require_storable_times, value_of
from freshtide.world import Disk, files_below, make_folder, sync_files


def write_arrow(
    disk: Disk,
    encoding: RowEncoding,
    folder: Path,
    rows: pa.Table,
    *,
    number: int,
    partition_by: tuple[str, ...],
    time_column: str | None,
) -> list[DataFile]:
    """Write the rows, one file per partition; no rows, no file. UnstorableError for values that no table can hold."""
    require_storable_times(rows)
    written = [
        put_part(
            disk,
            encoding,
            folder,
            encoding.encoded(part),
            number=number,
            partition_values=values,
            time_column=time_column,
        )
        for values, part in by_partition(rows, partition_by)
    ]
    sync_files(disk, (folder / file.path for file in written), under=folder)
    return written


def put_part(
    disk: Disk,
    encoding: RowEncoding,
    folder: Path,
    content: Any,
    *,
    number: int,
    partition_values: Mapping[str, str | None],
    time_column: str | None,
) -> DataFile:
    """Write the encoded rows of one partition, without its partition columns, as one file."""
    relative = folder_of(partition_values) + _file_name(number)
    path = folder / relative
    make_folder(disk, path.parent)
    try:
        disk.write(path, content)
    except OSError:
        with suppress(OSError):
            disk.remove(path, missing_ok=True)  # What is not whole is of no use, and takes room.
        raise
    return DataFile.describe(
        disk, encoding, folder, relative, partition_values=partition_values, time_column=time_column
    )


def staging_root(folder: Path) -> Path:
    """Where Spark writes; the underscore keeps readers and the sweeping of files away."""
    return folder / "_staging"


def staging_folder(folder: Path, number: int) -> Path:
    """A new folder for Spark to write into."""
    return staging_root(folder) / f"{number:08d}-{uuid.uuid4().hex}"


def adopt_staged(
    disk: Disk,
    encoding: RowEncoding,
    folder: Path,
    staging: Path,
    *,
    number: int,
    partition_by: tuple[str, ...],
    time_column: str | None,
) -> list[DataFile]:
    """Move the Parquet files that Spark wrote to their place under the table's folder."""
    reach("staged")
    adopted = []
    for source in sorted(files_below(disk, staging, suffix=".parquet")):
        parts = source.relative_to(staging).parts[:-1]
        values = dict(zip(partition_by, (value_of(part) for part in parts), strict=True))
        relative = "".join(f"{part}/" for part in parts) + _file_name(number)
        target = folder / relative
        make_folder(disk, target.parent)
        disk.rename(source, target)
        file = DataFile.describe(disk, encoding, folder, relative, partition_values=values, time_column=time_column)
        if file.rows:
            adopted.append(file)
        else:
            disk.remove(target)
    sync_files(disk, (folder / file.path for file in adopted), under=folder)
    disk.remove_tree(staging)
    return adopted


def discard_staged(disk: Disk, folder: Path) -> None:
    """Throw away what earlier processes left staged."""
    disk.remove_tree(staging_root(folder))


def _file_name(number: int) -> str:
    return f"part-{number:08d}-{uuid.uuid4().hex}.parquet"
