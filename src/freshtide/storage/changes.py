"""What one update does to a table, and what the table looks like afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa
from deltalake import Schema

from freshtide.storage.errors import StorageError
from freshtide.storage.records import UpdateRecord
from freshtide.storage.rows import nullable
from freshtide.storage.snapshots import DataFile, Snapshot

# Tables that are written whole ask for the same ones at each update.
_SCHEMAS_KEPT = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one update does to a table."""

    record: UpdateRecord
    at: float
    """The moment of the commit."""
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    add: tuple[DataFile, ...] = ()
    remove: tuple[DataFile, ...] = ()
    replace_all: bool = False
    """Whether the added files are the whole new content, under a schema that may be another one."""

    def leaves(self, current: Snapshot | None) -> tuple[DataFile, ...]:
        """The files that are not part of the table any more."""
        if current is None:
            return ()
        return current.files if self.replace_all else self.remove


class Columns(NamedTuple):
    """The columns of a table."""

    arrow: pa.Schema
    spark: str
    """In Spark's JSON form."""


def columns_after(table: str, current: Snapshot | None, change: Change) -> Columns:
    """The columns of a table after a change: those that it had, and those that are new."""
    wanted = nullable(change.schema)
    if current is None or change.replace_all:
        return _declared(wanted)
    fault = _other_type(table, current, wanted)
    if fault is None and change.add:
        fault = _other_partitions(table, current, change.partition_by)
    if fault is not None:
        raise StorageError(fault, way_out=f"Run `freshtide backfill {table}` to rebuild the table with what is new.")
    known = {field.name: field for field in current.schema}
    other = {field.name: field for field in wanted if field.name not in known or known[field.name].type != field.type}
    if not other:
        return Columns(current.schema, current.spark_schema)
    return _as_delta_has_them(pa.schema((known | other).values()))


@lru_cache(maxsize=_SCHEMAS_KEPT)
def _declared(schema: pa.Schema) -> Columns:
    """The columns that a query gives. Without what a log says of each: by that, equal schemas may still differ."""
    return _as_delta_has_them(schema)


def _as_delta_has_them(schema: pa.Schema) -> Columns:
    found = Schema.from_arrow(schema)
    return Columns(pa.schema(found), found.to_json())


def outgrown(table: str, current: Snapshot | None, schema: pa.Schema, partition_by: tuple[str, ...]) -> str | None:
    """Why rows of these columns could not be added to a table as it is; None where they can."""
    if current is None:
        return None
    wanted = _declared(nullable(schema)).arrow
    return _other_type(table, current, wanted) or _other_partitions(table, current, partition_by)


def otherwise_timed(table: str, current: Snapshot | None, times: str) -> str | None:
    """Why rows would have other times now than the same rows have in a table; None where they would not."""
    if current is None or current.record is None or not current.files or current.record.times == times:
        return None
    return f"The rows of '{table}' have their times by another time zone, or another 'time', than its feed says now."


def _other_type(table: str, current: Snapshot, wanted: pa.Schema) -> str | None:
    if not current.files:
        # No row is there that must fit: a table whose rows have all gone takes columns as they come.
        return None
    known = {field.name: field for field in current.schema}
    for field in wanted:
        old = known.get(field.name)
        if old is not None and old.type != field.type:
            return f"Column '{field.name}' of '{table}' is {old.type} in the table and {field.type} now."
    return None


def _other_partitions(table: str, current: Snapshot, partition_by: tuple[str, ...]) -> str | None:
    if partition_by == current.partition_by:
        return None
    before, now = (", ".join(by) or "nothing" for by in (current.partition_by, partition_by))
    return f"'{table}' is partitioned by {before} on disk and by {now} now."
