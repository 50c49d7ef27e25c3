"""Lines of small CSV files, handed to Spark instead of read by it.

For a few thousand rows a job that reads a file takes several times as long as parsing it. What Spark is handed it
computes while it plans (see `collecting`), with the parser that also reads files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from freshtide.spark.jvm import jvm_of
from freshtide.spark.reading import empty_frame
from freshtide.spark.schemas import literal, schema_from_ddl


def parsed_lines(session: SparkSession, lines: Sequence[bytes], schema: str, options: Mapping[str, str]) -> DataFrame:
    """What reading a file with these lines gives, under a schema as DDL."""
    if not lines:
        return empty_frame(session, schema_from_ddl(schema))
    pairs = ", ".join(literal(word) for pair in options.items() for word in pair)
    record = f"from_csv(value, {literal(schema)}, map({pairs})) AS record"
    jvm = jvm_of(session)
    return jvm.select(jvm.select(jvm.lines(session, lines), (record,)), ("record.*",))
