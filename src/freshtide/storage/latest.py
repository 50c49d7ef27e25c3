"""Tables in which a row replaces the one before it with the same key: one row per key at any moment.

Whoever reads the table sees plain Parquet files, so a row that is superseded has to leave its file: the file is written
anew without it. Rows of keys that change often gather in young and small files, and those are rewritten most. Files
stay small enough for a rewrite to be cheap.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from freshtide.storage.compaction import rung_of
from freshtide.storage.keys import FileKeys, KeyIndex, all_of, key_column, places
from freshtide.storage.rows import stored_rows
from freshtide.storage.snapshots import DataFile, Snapshot
from freshtide.storage.tables import StoredTable

LARGEST_FILE = 4 * 1024 * 1024
"""Files of such a table are merged up to this size: a rewrite of one takes some hundredths of a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Rows on disk that are to replace others, not committed yet."""

    rows: pa.Table
    """Those that come into the table."""
    add: tuple[DataFile, ...]
    remove: tuple[DataFile, ...]
    replaced: int
    """Rows that leave the table because a newer one of their key comes."""
    passed_by: int
    """Rows that do not come into the table because a newer one of their key is there."""
    left: int
    """Rows that leave the table without another in their place."""


class LatestTable:
    """One row per key."""

    def __init__(self, stored: StoredTable, *, key: tuple[str, ...], time_column: str) -> None:
        self.stored = stored
        self._key = key
        self._time_column = time_column
        self._index = KeyIndex(key, time_column)

    def merge(self, rows: pa.Table, *, number: int, leaving: pa.Array | None = None) -> Merge:
        """Write rows in place of those with the same keys, and take out those with the `leaving` keys.

        A key never goes back in time: a row stays out if the table has a younger one of its key. Of several of one
        key the youngest counts; of those with the same time the last.
        """
        current = self.stored.snapshot
        if current is None:
            return self.anew(rows, number=number)
        rows = youngest(rows, self._key, self._time_column)
        keys, times = key_column(rows, self._key), rows.column(self._time_column).combine_chunks()
        survivors = Survivors()
        outdated: set[int] = set()
        for file, held in self._index.of(current):
            superseded, older = _met(held, keys, times)
            outdated.update(older)
            gone = pc.is_valid(places(held.keys, leaving)) if leaving is not None else None
            survivors.take(current, file, superseded, gone)
        given = rows.num_rows
        if outdated:
            rows = rows.filter(pa.array([place not in outdated for place in range(given)], pa.bool_()))
        return self._written(rows, survivors, number, given=given)

    def anew(self, rows: pa.Table, *, number: int) -> Merge:
        """Write rows that are to be the whole content of the table."""
        kept = youngest(rows, self._key, self._time_column)
        return self._written(kept, Survivors(), number, given=kept.num_rows)

    def changed_since(self, snapshot: Snapshot, number: int) -> pa.Array:
        """The keys of all rows that came after an update, and perhaps of others that share their files."""
        return all_of(held.keys for file, held in self._index.of(snapshot) if file.number > number)

    def rows_of(self, snapshot: Snapshot, keys: pa.Array) -> pa.Table:
        """The rows that have one of these keys."""
        parts = []
        for file, held in self._index.of(snapshot):
            wanted = pc.is_valid(places(held.keys, keys))
            if pc.any(wanted).as_py():
                parts.append(stored_rows(snapshot, (file,)).filter(wanted))
        return pa.concat_tables(parts) if parts else stored_rows(snapshot, ())

    def _written(self, rows: pa.Table, survivors: Survivors, number: int, *, given: int) -> Merge:
        new = self.stored.write(rows, number=number) if rows.num_rows else []
        return Merge(
            rows=rows,
            add=(*new, *survivors.written(self.stored)),
            remove=tuple(survivors.touched),
            replaced=survivors.replaced,
            passed_by=given - rows.num_rows,
            left=survivors.left,
        )


class Survivors:
    """What is left of the files that lose rows. Small ones are put together, so that there are never many."""

    def __init__(self) -> None:
        self.touched: list[DataFile] = []
        self.replaced = self.left = 0
        self._pools: dict[int, list[tuple[int, pa.Table]]] = defaultdict(list)

    def take(self, snapshot: Snapshot, file: DataFile, superseded: pa.Array, gone: pa.Array | None) -> None:
        """Note which rows of a file leave it: those that are superseded, and those that are gone for good."""
        replaced = pc.sum(superseded).as_py() or 0
        leaving = superseded if gone is None else pc.or_(superseded, gone)
        lost = pc.sum(leaving).as_py() or 0
        if not lost:
            return
        self.touched.append(file)
        self.replaced += replaced
        self.left += lost - replaced
        if lost < file.rows:
            rows = stored_rows(snapshot, (file,)).filter(pc.invert(leaving))
            self._pools[rung_of(file.size)].append((file.number, rows))

    def written(self, stored: StoredTable) -> list[DataFile]:
        """Files with what is left; none says that its rows are younger than they are."""
        files: list[DataFile] = []
        for rung, pool in sorted(self._pools.items()):
            portions = [pool] if rung_of(LARGEST_FILE) > rung else [[one] for one in pool]
            for portion in portions:
                rows = pa.concat_tables([rows for _, rows in portion])
                files += stored.write(rows, number=max(number for number, _ in portion))
        return files


def youngest(rows: pa.Table, key: tuple[str, ...], time_column: str) -> pa.Table:
    """Of the rows of each key the youngest; of those with the same time the last."""
    keys = key_column(rows, key)
    if pc.count_distinct(keys, mode="all").as_py() == rows.num_rows:
        return rows
    times = rows.column(time_column)
    turns = pa.array(range(rows.num_rows), pa.int64())
    order = pa.table({"known": pc.is_valid(times), "time": times, "place": turns})
    in_order = pc.sort_indices(order, sort_keys=[(name, "ascending") for name in order.column_names])
    placed = pa.table({"key": keys.take(in_order), "turn": turns})
    last = placed.group_by("key", use_threads=False).aggregate([("turn", "max")]).sort_by("turn_max")
    return rows.take(in_order.take(last.column("turn_max").combine_chunks()))


def _met(held: FileKeys, keys: pa.Array, times: pa.Array) -> tuple[pa.Array, list[int]]:
    """Which rows of a file are superseded, and the places of the new rows that are older than those of the file."""
    met = places(held.keys, keys)
    older = pc.fill_null(pc.greater(held.times, times.take(met).cast(held.times.type)), False)
    superseded = pc.and_not(pc.is_valid(met), older)
    return superseded, met.filter(older).to_pylist() if pc.any(older).as_py() else []
