"""What operators keep: rows behind a key each, in tables beside the view, committed with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions

from freshtide.spark.incremental.operators import Keys, NeedsAllError, When, restricted
from freshtide.spark.incremental.plans import Plans, columns
from freshtide.spark.incremental.pruning import may_have
from freshtide.spark.jvm import collected
from freshtide.spark.reading import read_files
from freshtide.spark.writing import Written, write_result
from freshtide.storage import DataFile, Snapshot, StoredTable

_FILE = "__file"


@dataclass(slots=True, kw_only=True)
class _Kept:
    """What becomes of what one operator keeps."""

    keys: Keys | None = None
    """Those whose rows are exchanged; None: none is."""
    touched: tuple[DataFile, ...] = ()
    """The files that have rows of these keys."""
    before: DataFrame | None = None
    after: DataFrame | None = None
    new: pa.Table | None = None
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
        schema = self._rows_of(snapshot, ()).schema
        if not files:
            kept.before = self._plans.local(pa.table({}), schema)
            return kept.before
        rows = self._rows_of(snapshot, files).withColumn(_FILE, functions.input_file_name())
        found = collected(keys.restrict(rows))
        names = {path.rpartition("/")[2] for path in pc.unique(found.column(_FILE)).to_pylist()}
        kept.touched = tuple(file for file in files if file.path.rpartition("/")[2] in names)
        kept.before = self._plans.local(found.drop_columns([_FILE]), schema)
        return kept.before

    def replace(self, place: int, keys: Keys, rows: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Put these rows in the place of those of the keys; what they were and what they are."""
        kept, snapshot = self._of(place), self._snapshot(place)
        schema = self._rows_of(snapshot, ()).schema
        kept.keys, kept.new = keys, collected(rows)
        kept.after = self._plans.local(kept.new, schema)
        assert kept.before is not None, "what is exchanged was taken before"
        return kept.before, kept.after

    def replaced(self, place: int) -> tuple[DataFrame, DataFrame] | None:
        kept = self._kept.get(place)
        if kept is None or kept.before is None or kept.after is None:
            return None
        return kept.before, kept.after

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
            others = collected(kept.keys.exclude(self._rows_of(self._snapshot(place), kept.touched)))
            rows = pa.concat_tables([others, rows.select(others.column_names).cast(others.schema)])
        add = table.write(rows, number=self._number) if rows.num_rows else []
        return StateChange(table=table, add=tuple(add), remove=kept.touched, replace_all=False, schema=rows.schema)

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
