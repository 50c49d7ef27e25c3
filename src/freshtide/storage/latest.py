"""Tables in which a row replaces the one before it with the same key: one row per key at any moment.

Whoever reads the table sees plain Parquet files, so a row that is superseded has to leave its file: the file is written
anew without it. Rows of keys that change often gather in young and small files, and those are rewritten most. Files
stay small enough for a rewrite to be cheap.

A key whose newest row does not belong into the table has no row in it. Beside the table stands when it went: an older
row that comes later must not bring it back, and whoever follows the table finds which keys have gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from freshtide.storage.compaction import rung_of
from freshtide.storage.keys import FileKeys, KeyIndex, all_of, instants, key_column, places
from freshtide.storage.rows import stored_rows
from freshtide.storage.snapshots import DataFile, Snapshot
from freshtide.storage.tables import StoredTable

GONE_AT = "gone_at"
"""The column that says when a key went: the time of the row that the table does not have."""
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
    gone: pa.Table | None = None
    """The keys that have gone, as they are put down beside the table."""


class LatestTable:
    """One row per key. Beside it, where keys can go, is a table of when they went."""

    def __init__(
        self, stored: StoredTable, *, key: tuple[str, ...], time_column: str, gone: StoredTable | None = None
    ) -> None:
        self.stored = stored
        self.gone = None if gone is None else LatestTable(gone, key=key, time_column=GONE_AT)
        self._key = key
        self._time_column = time_column
        self._index = KeyIndex(key, time_column)

    def merge(self, rows: pa.Table, *, number: int, going: pa.Table | None = None) -> Merge:
        """Write rows in place of those with the same keys, and take out those of the keys that are `going`.

        Going keys come with the time of the row that the table shall not have, `GONE_AT`. No key goes back in time:
        what is older than what is known of its key has no effect. Of several rows of a key the youngest counts; of
        those with the same time the last.
        """
        rows = youngest(rows, self._key, self._time_column)
        given, coming = rows.num_rows, _Newcomers.of(rows, going, self._key, self._time_column)
        outdated: set[int] = set()
        for _, held in self.gone.files() if self.gone is not None else ():
            outdated.update(coming.met(held)[1])
        survivors = Survivors(self.stored.snapshot)
        for file, held in self.files():
            superseded, older = coming.met(held, but_not=outdated)
            outdated.update(older)
            survivors.take(file, *superseded)
        if outdated:
            counts = pa.array([place not in outdated for place in range(len(coming.keys))], pa.bool_())
            rows = rows.filter(counts.slice(0, given))
            going = going.filter(counts.slice(given)) if going is not None else None
        return self._written(rows, survivors, number, given=given, gone=going)

    def replace(self, rows: pa.Table, *, of: pa.Array, number: int) -> Merge:
        """Write the rows that some keys have now, all of them, whatever the table has of these keys."""
        rows = youngest(rows, self._key, self._time_column)
        stay, survivors = key_column(rows, self._key), Survivors(self.stored.snapshot)
        for file, held in self.files():
            replaced = pc.is_valid(places(held.keys, stay))
            survivors.take(file, replaced, pc.and_not(pc.is_valid(places(held.keys, of)), replaced))
        return self._written(rows, survivors, number, given=rows.num_rows)

    def anew(self, rows: pa.Table, *, number: int, going: pa.Table | None = None) -> Merge:
        """Write rows that are to be the whole content of the table."""
        kept = youngest(rows, self._key, self._time_column)
        return self._written(kept, Survivors(None), number, given=kept.num_rows, gone=going)

    def files(self) -> list[tuple[DataFile, FileKeys]]:
        """The files of the table as it is now, with the keys that are in them."""
        current = self.stored.snapshot
        return [] if current is None else self._index.of(current)

    def changed_since(self, snapshot: Snapshot, number: int) -> pa.Array:
        """The keys of all rows that came or went after an update, and perhaps of others that share their files."""
        # What has gone may be told by a younger version. Nothing is taken out of it: what had gone by then is there.
        gone = self.gone.files() if self.gone is not None else []
        return all_of(held.keys for file, held in (*self._index.of(snapshot), *gone) if file.number > number)

    def rows_of(self, snapshot: Snapshot, keys: pa.Array) -> pa.Table:
        """The rows that have one of these keys."""
        parts = []
        for file, held in self._index.of(snapshot):
            wanted = pc.is_valid(places(held.keys, keys))
            if pc.any(wanted).as_py():
                parts.append(stored_rows(snapshot, (file,)).filter(wanted))
        return pa.concat_tables(parts) if parts else stored_rows(snapshot, ())

    def _written(
        self, rows: pa.Table, survivors: Survivors, number: int, *, given: int, gone: pa.Table | None = None
    ) -> Merge:
        new = self.stored.write(rows, number=number) if rows.num_rows else []
        return Merge(
            rows=rows,
            add=(*new, *survivors.written(self.stored)),
            remove=tuple(survivors.touched),
            replaced=survivors.replaced,
            passed_by=given - rows.num_rows,
            left=survivors.left,
            gone=gone,
        )


class Survivors:
    """What is left of the files that lose rows. Small ones are put together, so that there are never many."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._snapshot = snapshot
        self.touched: list[DataFile] = []
        self.replaced = self.left = 0
        self._pools: dict[int, list[tuple[int, pa.Table]]] = defaultdict(list)

    def take(self, file: DataFile, superseded: pa.Array, gone: pa.Array) -> None:
        """Note which rows of a file leave it: those that are superseded, and those whose keys are gone."""
        replaced = pc.sum(superseded).as_py() or 0
        leaving = pc.or_(superseded, gone)
        lost = pc.sum(leaving).as_py() or 0
        if not lost:
            return
        self.touched.append(file)
        self.replaced += replaced
        self.left += lost - replaced
        if lost < file.rows:
            assert self._snapshot is not None, "a file is of a version of the table"
            rows = stored_rows(self._snapshot, (file,)).filter(pc.invert(leaving))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Newcomers:
    """Keys with their newest times: first those that have a row for the table, then those that are going."""

    keys: pa.Array
    times: pa.Array
    with_rows: int

    @classmethod
    def of(cls, rows: pa.Table, going: pa.Table | None, key: tuple[str, ...], time_column: str) -> _Newcomers:
        keys, times = key_column(rows, key), instants(rows.column(time_column))
        if going is not None and going.num_rows:
            keys = pa.concat_arrays([keys, key_column(going, key).cast(keys.type)])
            times = pa.concat_arrays([times, instants(going.column(GONE_AT))])
        return cls(keys=keys, times=times, with_rows=rows.num_rows)

    def met(self, held: FileKeys, *, but_not: Collection[int] = ()) -> tuple[tuple[pa.Array, pa.Array], list[int]]:
        """Which rows of a file are superseded by others and which by nothing, and who is older than a row of the file.

        Those whose places are in `but_not` supersede nothing.
        """
        met = places(held.keys, self.keys)
        if but_not:
            without = pa.array([place not in but_not for place in range(len(self.keys))], pa.bool_())
            met = pc.if_else(without.take(met), met, pa.scalar(None, met.type))
        older = pc.fill_null(pc.greater(held.times, self.times.take(met)), False)
        newer = pc.and_not(pc.is_valid(met), older)
        has_row = pc.fill_null(pc.less(met, self.with_rows), False)
        superseded = pc.and_(newer, has_row), pc.and_not(newer, has_row)
        return superseded, met.filter(older).to_pylist() if pc.any(older).as_py() else []
