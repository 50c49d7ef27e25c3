"""Rows of a stored view that go and others that come: only files that have some of them are written anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from freshtide.spark.incremental import FEW_BYTES, having, left_over
from freshtide.spark.writing import Written
from freshtide.storage import DataFile, Snapshot, StoredTable, aligned, stored_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a refresh does to the files of a view."""

    written: Written
    remove: tuple[DataFile, ...] = ()
    replace_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What is left of the files that have rows which go."""

    left: pa.Table
    touched: tuple[DataFile, ...]


_NOTHING_GOES = Rest(left=pa.table({}), touched=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What makes the rows of a view other ones."""

    added: pa.Table
    gone: pa.Table


def exchanged(current: Snapshot, rows: pa.Table, stored: StoredTable, *, number: int) -> Exchange:
    """Make these the rows of a view: where most of them are there already, the rest alone is written."""
    found = difference(current, rows)
    rest = None if found is None else without(current, found.gone) if found.gone.num_rows else _NOTHING_GOES
    if found is None or rest is None:
        files = stored.write(rows, number=number, partition_by=current.partition_by)
        return Exchange(written=Written(files=tuple(files), schema=rows.schema), replace_all=True)
    parts = [part for part in (rest.left, found.added) if part.num_rows]
    files = stored.write(pa.concat_tables(parts), number=number) if parts else []
    return Exchange(written=Written(files=tuple(files), schema=current.schema), remove=rest.touched)


def without(current: Snapshot, gone: pa.Table) -> Rest | None:
    """The files of a small view that have these rows, without them; None where that is not for Arrow."""
    if not _is_for_arrow(current):
        return None
    names = gone.column_names
    parts, touched = [], []
    try:
        for file in current.files:
            rows = stored_rows(current, (file,)).select(names)
            if having(rows, names, gone).any():
                parts.append(rows)
                touched.append(file)
        schema = stored_rows(current, ()).select(names).schema
        together = pa.concat_tables([*parts, aligned(gone, schema)])
        signs = np.ones(together.num_rows, dtype=np.int64)
        signs[together.num_rows - gone.num_rows :] = -1
        left, _ = left_over(together, signs, names)
    except pa.ArrowNotImplementedError:
        return None
    return Rest(left=left, touched=tuple(touched))


def difference(current: Snapshot, rows: pa.Table) -> Difference | None:
    """What has to come and go so that a small view has just these rows; None where it is no use to ask.

    That is so where columns are others, where Arrow cannot tell rows apart, and where most rows differ.
    """
    schema = stored_rows(current, ()).schema
    if not _is_for_arrow(current) or not _same_columns(schema, rows.schema):
        return None
    names: Sequence[str] = schema.names
    together = pa.concat_tables([stored_rows(current, current.files), aligned(rows, schema)])
    signs = np.ones(together.num_rows, dtype=np.int64)
    signs[: together.num_rows - rows.num_rows] = -1
    try:
        left, signs = left_over(together, signs, names)
    except pa.ArrowNotImplementedError:
        return None
    if 2 * left.num_rows > together.num_rows:
        return None
    return Difference(added=left.filter(pa.array(signs > 0)), gone=left.filter(pa.array(signs < 0)))


def _is_for_arrow(current: Snapshot) -> bool:
    return not current.partition_by and current.size <= FEW_BYTES


def _same_columns(ours: pa.Schema, theirs: pa.Schema) -> bool:
    return ours.names == theirs.names and all(a.type == b.type for a, b in zip(ours, theirs, strict=True))
