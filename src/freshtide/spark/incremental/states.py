"""What operators keep: rows behind a key each, in tables beside the view, committed with it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions
from pyspark.sql.types import StructType

from freshtide.spark.incremental.arrowrows import FEW_BYTES, having
from freshtide.spark.incremental.operators import Keys, NeedsAllError, When, restricted
from freshtide.spark.incremental.plans import SIGN, Plans, column, columns, sign_field
from freshtide.spark.incremental.pruning import may_have
from freshtide.spark.jvm import collected
from freshtide.spark.reading import read_files, schema_of
from freshtide.spark.writing import Written, write_result
from freshtide.storage import DataFile, Snapshot, StoredTable, aligned, stored_rows

_FILE = "__file"


@dataclass(slots=True, kw_only=True)
class _Kept:
    """What becomes of what one operator keeps."""

    keys: Keys | None = None
    """Those whose rows are exchanged; None: none is."""
    touched: tuple[DataFile, ...] = ()
    """The files that have rows of these keys."""
    before: pa.Table | None = None
    new: pa.Table | None = None
    after: DataFrame | None = None
    """The new rows."""
    exchange: DataFrame | None = None
    """What was there with the sign -1, and what is new."""
    built: Written | None = None
    """All of it, where it is made anew."""
    is_left: bool = False
    """Whether nothing has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """What is committed to one of the tables."""

    table: StoredTable
    add: tuple[DataFile, ...]
    remove: tuple[DataFile, ...]
    replace_all: bool
    schema: pa.Schema


class KeptStates:
    """The tables of one view, and what an update does to them. Nothing is committed here."""

    def __init__(
        self,
        plans: Plans,
        tables: Sequence[StoredTable],
        *,
        numbers: Sequence[int] | None,
        number: int,
        large: bool = False,
    ) -> None:
        """`numbers` are those that the tables must have come to; None: they are made anew."""
        self.builds_anew = numbers is None
        self._plans = plans
        self._tables = tables
        self._number = number
        self._large = large
        self._kept: dict[int, _Kept] = {}
        self._snapshots: list[Snapshot | None] = []
        for table, wanted in zip(tables, numbers or (), strict=False):
            snapshot = table.snapshot
            if snapshot is None or snapshot.number != wanted or not snapshot.is_whole():
                raise NeedsAllError(f"What '{table.name}' holds does not belong to its view.")
            self._snapshots.append(snapshot)

    def is_begun(self, place: int) -> bool:
        kept = self._kept.get(place)
        return kept is not None and (kept.built is not None or kept.is_left or kept.after is not None)

    def leave(self, place: int) -> None:
        """Nothing has changed for the operator."""
        self._of(place).is_left = True

    def build(self, place: int, rows: DataFrame, *, key_width: int) -> None:
        """Make all of what an operator keeps anew."""
        table = self._tables[place]
        if key_width:
            # Rows of the same keys lie together: fewer files have those that are asked for.
            rows = rows.sortWithinPartitions(*columns(key_width))
        self._of(place).built = write_result(rows, table, number=self._number, partition_by=(), large=self._large)

    def taken(self, place: int, keys: Keys) -> DataFrame:
        """The rows of some keys, which are about to be exchanged."""
        kept, snapshot = self._of(place), self._snapshot(place)
        files = tuple(file for file in snapshot.files if may_have(file, keys))
        found, kept.touched = self._found(snapshot, files, keys)
        kept.before = found
        return self._plans.local(found, schema_of(snapshot))

    def replace(self, place: int, keys: Keys, rows: DataFrame) -> DataFrame:
        """Put these rows in the place of those of the keys: those that were there and those that are, with signs."""
        kept, snapshot = self._of(place), self._snapshot(place)
        schema = schema_of(snapshot)
        assert kept.before is not None, "what is exchanged was taken before"
        kept.keys, kept.new = keys, aligned(collected(rows), kept.before.schema)
        kept.after = self._plans.local(kept.new, schema)
        parts = [
            part.append_column(SIGN, pa.array(np.full(part.num_rows, sign, dtype=np.int32)))
            for part, sign in ((kept.before, -1), (kept.new, 1))
        ]
        kept.exchange = self._plans.local(pa.concat_tables(parts), StructType([*schema.fields, sign_field()]))
        return kept.exchange

    def exchanged(self, place: int) -> DataFrame | None:
        """What `replace` gave, where that was done."""
        kept = self._kept.get(place)
        return None if kept is None else kept.exchange

    def _found(
        self, snapshot: Snapshot, files: tuple[DataFile, ...], keys: Keys
    ) -> tuple[pa.Table, tuple[DataFile, ...]]:
        """The rows of some keys in some files, and the files that have any."""
        names = [column(place) for place in keys.places]
        parts, touched = [stored_rows(snapshot, ())], []
        if sum(file.size for file in files) <= FEW_BYTES:
            with suppress(pa.ArrowNotImplementedError):
                for file in files:
                    rows = stored_rows(snapshot, (file,))
                    mask = having(rows, names, keys.values)
                    if mask.any():
                        parts.append(rows.filter(pa.array(mask)))
                        touched.append(file)
                return pa.concat_tables(parts), tuple(touched)
        marked = self._rows_of(snapshot, files).withColumn(_FILE, functions.input_file_name())
        found = collected(keys.restrict(marked))
        paths = {path.rpartition("/")[2] for path in pc.unique(found.column(_FILE)).to_pylist()}
        holding = tuple(file for file in files if file.path.rpartition("/")[2] in paths)
        return aligned(found.drop_columns([_FILE]), parts[0].schema), holding

    def rows(self, place: int, when: When, keys: Keys | None) -> DataFrame:
        """What is kept, or what will be."""
        kept = self._of(place)
        if kept.built is not None:
            assert when is When.AFTER, "what is made anew has no past"
            return restricted(self._built(place, kept.built), keys)
        snapshot = self._snapshot(place)
        files = snapshot.files if keys is None else tuple(file for file in snapshot.files if may_have(file, keys))
        stored = restricted(self._rows_of(snapshot, files), keys)
        if when is When.BEFORE or kept.keys is None or kept.after is None:
            return stored
        return kept.keys.exclude(stored).unionByName(restricted(kept.after, keys))

    def changes(self) -> list[StateChange]:
        """What is to be committed; files are written for it."""
        return [
            self._change(place, kept)
            for place, kept in sorted(self._kept.items())
            if kept.built is not None or kept.new is not None
        ]

    def _change(self, place: int, kept: _Kept) -> StateChange:
        table = self._tables[place]
        if kept.built is not None:
            built = kept.built
            return StateChange(table=table, add=built.files, remove=(), replace_all=True, schema=built.schema)
        assert kept.new is not None, "something was exchanged"
        assert kept.keys is not None, "something was exchanged"
        rows = kept.new
        if kept.touched:
            rows = pa.concat_tables([self._others(self._snapshot(place), kept.touched, kept.keys), rows])
        add = table.write(rows, number=self._number) if rows.num_rows else []
        return StateChange(table=table, add=tuple(add), remove=kept.touched, replace_all=False, schema=rows.schema)

    def _others(self, snapshot: Snapshot, files: tuple[DataFile, ...], keys: Keys) -> pa.Table:
        """The rows of all other keys in some files."""
        if sum(file.size for file in files) <= FEW_BYTES:
            with suppress(pa.ArrowNotImplementedError):
                rows = stored_rows(snapshot, files)
                names = [column(place) for place in keys.places]
                return rows.filter(pa.array(~having(rows, names, keys.values)))
        return aligned(collected(keys.exclude(self._rows_of(snapshot, files))), stored_rows(snapshot, ()).schema)

    def _of(self, place: int) -> _Kept:
        return self._kept.setdefault(place, _Kept())

    def _snapshot(self, place: int) -> Snapshot:
        snapshot = self._snapshots[place]
        assert snapshot is not None, "what is not made anew is there"
        return snapshot

    def _rows_of(self, snapshot: Snapshot, files: tuple[DataFile, ...]) -> DataFrame:
        return read_files(self._plans.session, snapshot, files)

    def _built(self, place: int, written: Written) -> DataFrame:
        schema = self._plans.schema_of(written.schema)
        if not written.files:
            return self._plans.local(pa.table({}), schema)
        folder = self._tables[place].folder
        reader = self._plans.session.read.schema(schema)
        return reader.parquet(*(str(folder / file.path) for file in written.files))
