"""Of each key the youngest row: what a union under update semantics leaves (Moga et al. 2009, section 3.2)."""

from __future__ import annotations

from pyspark.sql import DataFrame

from freshtide.core.tables import Table
from freshtide.spark.updates.tables import identity
from freshtide.storage import youngest


def youngest_rows(frame: DataFrame, table: Table) -> DataFrame:
    """The rows of a frame that come into a table of one row per key, if they come together."""
    key, time_column = identity(table)
    rows = youngest(frame.toArrow(), key, time_column)
    return frame.sparkSession.createDataFrame(rows, schema=frame.schema)
