"""Delta logs by delta-rs, which looks at the disks of this machine itself."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from freshtide.storage.declarations import Declaration
from freshtide.storage.logs import OpenLog, UnreadableLogError
from freshtide.storage.snapshots import DataFile
from freshtide.storage.statistics import parse_time_bound
from freshtide.storage.values import serialised

# How delta-rs, which is written in Rust, ends a message of the operating system; 2 is a file that is not there.
_SYSTEM_ERROR, _NOT_THERE = "(os error ", "(os error 2)"


class DeltaRs:
    """Opens what lies on the disks of this machine."""

    def open(self, folder: Path, version: int | None = None) -> OpenLog:
        try:
            return _Opened(DeltaTable(folder, version=version))
        except (DeltaError, OSError) as error:
            raise _told(error) from error


class _Opened:
    def __init__(self, handle: DeltaTable) -> None:
        self._handle = handle

    @property
    def version(self) -> int:
        return self._handle.version()

    def schema(self) -> pa.Schema:
        return pa.schema(self._handle.schema())

    def declaration(self) -> Declaration:
        said = self._handle.metadata()
        return Declaration(
            id=str(said.id),
            name=said.name,
            created_ms=said.created_time,
            schema=self._handle.schema().to_json(),
            partition_by=tuple(said.partition_columns),
            features=tuple(self._handle.protocol().reader_features or ()),
            configuration=said.configuration,
        )

    def files(self, time_column: str | None) -> tuple[DataFile, ...]:
        rows = pa.table(self._handle.get_add_actions()).to_pylist()
        return tuple(_data_file(row, time_column) for row in rows)

    def file_count(self) -> int:
        return len(self._handle.file_uris())

    def removed(self, *, hours: int) -> list[str]:
        return self._handle.vacuum(hours, dry_run=True, enforce_retention_duration=False)

    def write_checkpoint(self) -> None:
        self._handle.create_checkpoint()


def _told(error: Exception) -> Exception:
    """What is wrong, in one line: without the values of the program that found it.

    What the system refuses is told from what is wrong with the table: nothing is dropped for want of a descriptor.
    """
    said = str(error)
    kind = OSError if _SYSTEM_ERROR in said and _NOT_THERE not in said else UnreadableLogError
    return kind(said.partition("\n")[0])


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
