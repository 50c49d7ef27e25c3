"""Rows out of Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame
from pyspark.util import _load_from_socket

from freshtide.spark.schemas import arrow_schema_of

_WITHOUT_A_JOB = "LocalTableScan"
_UNLIMITED = 2**62


def collected(frame: DataFrame) -> pa.Table:
    """All rows, as `DataFrame.toArrow` gives them.

    Spark computes over rows that it was handed while it plans. `toArrow` would then still run a job to fetch them,
    which takes longer than everything else: what is there already is fetched without one.
    """
    execution = frame._jdf.queryExecution()
    plan = execution.executedPlan()
    if plan.nodeName() != _WITHOUT_A_JOB:
        return frame.toArrow()
    jvm = frame.sparkSession.sparkContext._jvm
    assert jvm is not None
    converters = getattr(getattr(jvm.org.apache.spark.sql.execution.arrow, "ArrowConverters$"), "MODULE$")
    batches = converters.toBatchWithSchemaIterator(
        plan.rows().iterator(), plan.schema(), _UNLIMITED, _UNLIMITED, "UTC", True, False
    )
    port, secret, server = jvm.org.apache.spark.api.python.PythonRDD.serveIterator(batches, "rows")
    with _load_from_socket((port, secret), NoOpSerializer()) as received:
        tables = [pa.ipc.open_stream(batch).read_all() for batch in received]
    server.getResult()
    schema = arrow_schema_of(frame.schema)
    return pa.concat_tables(tables).cast(schema) if tables else schema.empty_table()
