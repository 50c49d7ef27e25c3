"""The keys of a table's rows as one Arrow column, and where in a table they are."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from freshtide.storage.snapshots import DataFile, Snapshot


def key_column(rows: pa.Table, key: tuple[str, ...]) -> pa.Array:
    """One value per row that is equal where the key is.

    A key of several columns becomes a text of them all, each with its length before it, so that `a, bc` is not `ab, c`.
    """
    if len(key) == 1:
        return _without_sign_of_zero(_whole(rows.column(key[0])))
    texts = [_without_sign_of_zero(_whole(rows.column(name))).cast(pa.string()) for name in key]
    parts = [pc.binary_join_element_wise(pc.utf8_length(text).cast(pa.string()), text, ":") for text in texts]
    return pc.binary_join_element_wise(*parts, ",", null_handling="replace", null_replacement="-")


def instants(times: pa.ChunkedArray) -> pa.Array:
    """A time column such that any two of them can be compared: dates, too, and times without a zone, which are UTC."""
    return _whole(times).cast(pa.timestamp("us", tz="UTC"))


def places(keys: pa.Array, among: pa.Array) -> pa.Array:
    """For each key its place among others; null where it is not among them."""
    return pc.index_in(keys, value_set=among.cast(keys.type), skip_nulls=False)


def all_of(arrays: Iterable[pa.Array]) -> pa.Array:
    """The values of several columns in one."""
    found = [array for array in arrays if len(array)]
    return pa.concat_arrays([array.cast(found[0].type) for array in found]) if found else pa.array([], pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKeys:
    """The key and the time of each row of a file, in the order of the rows."""

    keys: pa.Array
    times: pa.Array


class KeyIndex:
    """Keys and times of the files of a table, read when they are first asked for and kept while the table has them.

    Columns in memory: a million keys take as many bytes as they are long.
    """

    def __init__(self, key: tuple[str, ...], time_column: str) -> None:
        self._key = key
        self._time_column = time_column
        self._known: dict[str, FileKeys] = {}
        self._lock = threading.Lock()

    def of(self, snapshot: Snapshot) -> list[tuple[DataFile, FileKeys]]:
        """The files of a snapshot with the keys that are in them; those of other files are forgotten."""
        with self._lock:
            found = [(file, self._keys(snapshot, file)) for file in snapshot.files]
            self._known = {file.path: keys for file, keys in found}
            return found

    def _keys(self, snapshot: Snapshot, file: DataFile) -> FileKeys:
        known = self._known.get(file.path)
        if known is None:
            columns = [*self._key, self._time_column]
            with snapshot.disk.open(snapshot.folder / file.path) as stream:
                rows = pq.ParquetFile(stream).read(columns=columns)
            known = FileKeys(keys=key_column(rows, self._key), times=instants(rows.column(self._time_column)))
        return known


def _without_sign_of_zero(values: pa.Array) -> pa.Array:
    """Zero is one key to Spark, and wherever rows wait. Arrow tells two apart, by their signs."""
    return pc.add(values, pa.scalar(0, values.type)) if pa.types.is_floating(values.type) else values


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
