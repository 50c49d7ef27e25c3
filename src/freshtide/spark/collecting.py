"""Rows out of Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame
from pyspark.util import _load_from_socket

from freshtide.spark.jvm import jvm_of
from freshtide.spark.schemas import arrow_schema_of

_WITHOUT_A_JOB = "LocalTableScan"


def collected(frame: DataFrame) -> pa.Table:
    """All rows, as `DataFrame.toArrow` gives them.

    Spark computes over rows that it was handed while it plans. `toArrow` would then still run a job to fetch them,
    which takes longer than everything else: what is there already is fetched without one.
    """
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.nodeName() != _WITHOUT_A_JOB:
        return frame.toArrow()
    port, secret, server = jvm_of(frame.sparkSession).serve_arrow(plan.rows().iterator(), plan.schema())
    with _load_from_socket((port, secret), NoOpSerializer()) as received:
        tables = [pa.ipc.open_stream(batch).read_all() for batch in received]
    server.getResult()
    return pa.concat_tables(tables) if tables else arrow_schema_of(frame.schema).empty_table()
