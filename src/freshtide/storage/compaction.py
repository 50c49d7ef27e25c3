"""Merging small files, so that a table updated every second stays quick to open and to read.

Files are merged in rungs: whenever enough files of about the same size have gathered, they become one of the next
rung. Each row is thus rewritten a few times in its life, however long the table lives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from freshtide.storage.schemas import nullable
from freshtide.storage.snapshots import DataFile, Snapshot
from freshtide.storage.tables import StoredTable

_FAN_IN = 16
_LARGEST_MERGE = 64 * 1024 * 1024


def compact(table: StoredTable, *, at: float, closed_before: int | None = None) -> bool:
    """Merge one rung of files if one is full; whether it did.

    With `closed_before` only files whose rows are all stamped before it are merged: open partitions are
    replaced by the next update anyway, and must stay in files of their own.
    """
    snapshot = table.snapshot
    if snapshot is None or len(snapshot.files) < _FAN_IN:
        return False
    rung = _full_rung(snapshot, closed_before)
    if rung is None:
        return False
    rows = _read(snapshot, rung)
    partition = rung[0].partition_values
    added = table.write_part(rows, number=snapshot.number, partition_values=partition)
    table.rewrite(add=(added,), remove=rung, at=at)
    return True


def _full_rung(snapshot: Snapshot, closed_before: int | None) -> tuple[DataFile, ...] | None:
    rungs: dict[tuple[object, ...], list[DataFile]] = defaultdict(list)
    for file in _in_time_order(snapshot.files):
        if closed_before is not None and (file.high is None or file.high >= closed_before):
            continue
        rung = (tuple(file.partition_values.items()), _rung(file.size))
        rungs[rung].append(file)
        if len(rungs[rung]) == _FAN_IN:
            merged = tuple(rungs[rung])
            if sum(member.size for member in merged) <= _LARGEST_MERGE:
                return merged
            rungs[rung].clear()
    return None


def _rung(size: int) -> int:
    """0 up to 64 kB, then one more for every factor of 16."""
    rung, limit = 0, 64 * 1024
    while size > limit:
        rung, limit = rung + 1, limit * _FAN_IN
    return rung


def _in_time_order(files: Iterable[DataFile]) -> list[DataFile]:
    return sorted(files, key=lambda file: (file.low is None, file.low or 0, file.path))


def _read(snapshot: Snapshot, files: tuple[DataFile, ...]) -> pa.Table:
    """The rows of the files; columns that were added to the table later are null in older files."""
    schema = nullable(pa.schema([field for field in snapshot.schema if field.name not in snapshot.partition_by]))
    parts = [pq.ParquetFile(path).read() for path in snapshot.paths(files)]
    return pa.concat_tables([_aligned(part, schema) for part in parts])


def _aligned(part: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        part.column(field.name).cast(field.type)
        if field.name in part.column_names
        else pa.nulls(part.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
