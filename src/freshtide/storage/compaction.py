"""Merging small files, so that a table updated every second stays quick to open and to read.

Files are merged in rungs: whenever enough files of about the same size have gathered, they become one of the next
rung. Each row is thus rewritten a few times in its life, however long the table lives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from freshtide.crashpoints import reach
from freshtide.storage.rows import stored_rows
from freshtide.storage.snapshots import DataFile, Snapshot
from freshtide.storage.tables import StoredTable

FAN_IN = 16
LARGEST_MERGE = 64 * 1024 * 1024


def compact(
    table: StoredTable,
    *,
    at: float,
    closed_before: int | None = None,
    largest: int = LARGEST_MERGE,
    fan_in: int = FAN_IN,
) -> bool:
    """Merge one rung of `fan_in` files, of at most `largest` bytes together, if one is full; whether it did.

    With `closed_before` only files whose rows are all stamped before it are merged: open partitions are
    replaced by the next update anyway, and must stay in files of their own.
    """
    snapshot = table.snapshot
    if snapshot is None or len(snapshot.files) < fan_in:
        return False
    rung = _full_rung(snapshot, closed_before, largest, fan_in)
    if rung is None:
        return False
    rows = stored_rows(snapshot, rung)
    partition = rung[0].partition_values
    number = max(file.number for file in rung)
    added = table.write_part(rows, number=number, partition_values=partition)
    reach("compaction")
    table.rewrite(add=(added,), remove=rung, at=at)
    return True


def _full_rung(snapshot: Snapshot, closed_before: int | None, largest: int, fan_in: int) -> tuple[DataFile, ...] | None:
    rungs: dict[tuple[object, ...], list[DataFile]] = defaultdict(list)
    for file in _in_time_order(snapshot.files):
        if closed_before is not None and (file.high is None or file.high >= closed_before):
            continue
        rung = (tuple(file.partition_values.items()), rung_of(file.size))
        rungs[rung].append(file)
        if len(rungs[rung]) == fan_in:
            merged = tuple(rungs[rung])
            if sum(member.size for member in merged) <= largest:
                return merged
            rungs[rung].clear()
    return None


def rung_of(size: int) -> int:
    """0 up to 64 kB, then one more for every factor of 16."""
    rung, limit = 0, 64 * 1024
    while size > limit:
        rung, limit = rung + 1, limit * FAN_IN
    return rung


def _in_time_order(files: Iterable[DataFile]) -> list[DataFile]:
    return sorted(files, key=lambda file: (file.low is None, file.low or 0, file.path))
