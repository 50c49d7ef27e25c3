"""The query of an update table over the rows of a micro-batch."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from freshtide.core.tables import Query
from freshtide.spark.jvm import collected
from freshtide.spark.queries import evaluate

# Below this the exchange of rows takes as long as what it saves.
_WORTH_SPREADING = 0.1


def compute(session: SparkSession, query: Query, rows: pa.Table, schema: StructType, *, work: float) -> pa.Table:
    """What the query gives; `work` is what that is expected to take, in seconds beyond the cost of any query.

    Spark computes over rows that it is handed while it plans, on one processor. For little work nothing is quicker;
    more is spread over all processors.
    """
    frame = session.createDataFrame(rows, schema=schema)
    if work > _WORTH_SPREADING:
        frame = frame.repartition(session.sparkContext.defaultParallelism)
    return collected(evaluate(session, query, [frame]))
