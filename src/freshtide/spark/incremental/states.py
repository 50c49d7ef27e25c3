"""What operators keep: rows behind a key each, in tables beside the view, committed with it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from freshtide.spark.incremental.arrowrows import FEW_BYTES, having
from freshtide.spark.incremental.operators import Keys, When, restricted
from freshtide.spark.incremental.plans import SIGN, Plans, column, columns, sign_field
from freshtide.spark.incremental.pruning import may_have
from freshtide.spark.jvm import collected
from freshtide.spark.reading import files_named, read_files, schema_of, with_file
from freshtide.spark.writing import Written, write_result
from freshtide.storage import DataFile, Snapshot, StoredTable, aligned, stored_rows


@dataclass(slots=True, kw_only=True)
class _Kept:
    """What becomes of what one operator keeps."""

    keys: Keys | None = None
    """Those whose rows are exchanged; None: none is."""
    touched: tuple[DataFile, ...] = ()
    """The files that have rows of these keys."""
    before: pa.Table | None = None
    new: pa.Table | None = None
    exchange: DataFrame | None = None
    """What was there with the sign -1, and what is new."""
    built: Written | None = None
    """All of it, where it is made anew."""
    is_left: bool = False
    """Whether nothing has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What is kept of some keys."""

    rows: pa.Table
    schema: StructType


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
        snapshots: Sequence[Snapshot] | None,
        number: int,
        large: bool = False,
    ) -> None:
        """`snapshots` are what the tables hold, all of it; None: they are made anew."""
        self.builds_anew = snapshots is None
        self._plans = plans
        self._tables = tables
        self._number = number
        self._large = large
        self._kept: dict[int, _Kept] = {}
        self._snapshots = snapshots

    def is_begun(self, place: int) -> bool:
        kept = self._kept.get(place)
        return kept is not None and (kept.built is not None or kept.is_left or kept.new is not None)

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

    def taken(self, place: int, keys: Keys) -> Taken:
        """The rows of some keys, which are about to be exchanged."""
        kept, snapshot = self._of(place), self._snapshot(place)
        files = tuple(file for file in snapshot.files if may_have(file, keys))
        kept.before, kept.touched = self._found(snapshot, files, keys)
        return Taken(rows=kept.before, schema=schema_of(snapshot))

    def replace(self, place: int, keys: Keys, rows: DataFrame) -> DataFrame:
        """Put these rows in the place of those of the keys: those that were there and those that are, with signs."""
        kept, snapshot = self._of(place), self._snapshot(place)
        schema = schema_of(snapshot)
        assert kept.before is not None, "what is exchanged was taken before"
        kept.keys, kept.new = keys, aligned(collected(rows), kept.before.schema)
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
        here = self._found_here(snapshot, files, keys)
        if here is not None:
            return here
        marked = with_file(self._rows_of(snapshot, files))
        found = collected(keys.restrict(marked))
        rows = aligned(found, stored_rows(snapshot, ()).schema)
        return rows, files_named(files, found)

    def _found_here(
        self, snapshot: Snapshot, files: tuple[DataFile, ...], keys: Keys
    ) -> tuple[pa.Table, tuple[DataFile, ...]] | None:
        """The same without Spark; None where there is too much of it, or Arrow cannot tell values apart."""
        if sum(file.size for file in files) > FEW_BYTES:
            return None
        names = [column(place) for place in keys.places]
        parts, touched = [stored_rows(snapshot, ())], []
        try:
            for file in files:
                rows = stored_rows(snapshot, (file,))
                mask = having(rows, names, keys.values)
                if mask.any():
                    parts.append(rows.filter(pa.array(mask)))
                    touched.append(file)
        except pa.ArrowNotImplementedError:
            return None
        return pa.concat_tables(parts), tuple(touched)

    def rows(self, place: int, when: When, keys: Keys | None) -> DataFrame:
        """What is kept, or what will be."""
        kept = self._of(place)
        if kept.built is not None:
            assert when is When.AFTER, "what is made anew has no past"
            return restricted(self._built(place, kept.built), keys)
        snapshot = self._snapshot(place)
        stored = self._stored(snapshot, keys)
        if when is When.BEFORE or kept.keys is None or kept.new is None:
            return stored
        new = self._local(snapshot, kept.new)
        return kept.keys.exclude(stored).unionByName(restricted(new, keys))

    def _stored(self, snapshot: Snapshot, keys: Keys | None) -> DataFrame:
        if keys is None:
            return self._rows_of(snapshot, snapshot.files)
        files = tuple(file for file in snapshot.files if may_have(file, keys))
        here = self._found_here(snapshot, files, keys)
        return keys.restrict(self._rows_of(snapshot, files)) if here is None else self._local(snapshot, here[0])

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
        assert self._snapshots is not None, "what is not made anew is there"
        return self._snapshots[place]

    def _local(self, snapshot: Snapshot, rows: pa.Table) -> DataFrame:
        return self._plans.local(rows, schema_of(snapshot))

    def _rows_of(self, snapshot: Snapshot, files: tuple[DataFile, ...]) -> DataFrame:
        return read_files(self._plans.session, snapshot, files)

    def _built(self, place: int, written: Written) -> DataFrame:
        schema = self._plans.schema_of(written.schema)
        if not written.files:
            return self._plans.local(pa.table({}), schema)
        folder = self._tables[place].folder
        reader = self._plans.session.read.schema(schema)
        return reader.parquet(*(str(folder / file.path) for file in written.files))
