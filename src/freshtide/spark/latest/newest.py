"""Of each key the youngest row: what a union under update semantics leaves (Moga et al. 2009, section 3.2).

Of rows with the same time the last one counts. What is last in a view must not hang on how rows lie in files. Where
each source has one row for a key of the view, it is the order of the branches of a union. Where a source has several,
their values decide.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from freshtide.core.tables import Table
from freshtide.spark.latest.tables import identity
from freshtide.storage import youngest


def youngest_rows(frame: DataFrame, table: Table, sources: Mapping[str, Table]) -> DataFrame:
    """The rows of a frame that come into a table of one row per key, if they come together."""
    key, time_column = identity(table)
    rows = youngest(in_order(frame, table, sources), key, time_column)
    return frame.sparkSession.createDataFrame(rows, schema=frame.schema)


def in_order(frame: DataFrame, table: Table, sources: Mapping[str, Table]) -> pa.Table:
    """What the query of a view gives, such that of rows with the same key and time the last one counts."""
    key, _ = identity(table)
    rows = frame.toArrow()
    one_row_per_key = all(len(identity(sources[name])[0]) == len(key) for name in table.sources)
    return rows if one_row_per_key else _by_values(rows)


def _by_values(rows: pa.Table) -> pa.Table:
    names = [f"{place}" for place in range(rows.num_columns)]
    values = pa.table([_sortable(column) for column in rows.columns], names=names)
    return rows.take(pc.sort_indices(values, sort_keys=[(name, "ascending") for name in names]))


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([[json.dumps(value, default=str) for value in column.to_pylist()]], pa.string())
