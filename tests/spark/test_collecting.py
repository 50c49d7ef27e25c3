"""Rows are fetched without a job where Spark has them already, and are the same."""

from __future__ import annotations

import pytest

from freshtide.spark import SparkSession
from freshtide.spark.jvm import collected

VALUES = """
    1L AS whole, CAST(2 AS TINYINT) AS small, 1.5D AS real, CAST(1.25 AS DECIMAL(20, 3)) AS exact, true AS yes,
    'ü' AS text, X'00FF' AS bytes, DATE '2026-01-01' AS day, TIMESTAMP '2026-01-01 00:00:00.000001' AS at,
    TIMESTAMP_NTZ '2026-01-01 00:00:00' AS local, INTERVAL '1' DAY AS span, CAST(NULL AS STRING) AS nothing,
    array(1, NULL) AS list, map('a', 1) AS pairs, named_struct('x', 1, 'y', array('z')) AS parts
"""


def jobs(session: SparkSession, group: str) -> int:
    return len(session.sparkContext.statusTracker().getJobIdsForGroup(group))


@pytest.mark.parametrize("condition", ["true", "whole > 1"])
def test_rows_that_were_handed_over_are_fetched_without_a_job(session: SparkSession, condition: str) -> None:
    values = session.sql(f"SELECT {VALUES}")
    handed_over = session.createDataFrame(values.toArrow(), schema=values.schema)
    frame = handed_over.where(condition).selectExpr("*", "whole + 1 AS more")
    session.sparkContext.setJobGroup(condition, "")
    found = collected(frame)
    assert jobs(session, condition) == 0
    assert found == frame.toArrow()
    assert jobs(session, condition) > 0, "otherwise there is nothing to gain"


def test_what_takes_a_job_gets_one(session: SparkSession) -> None:
    frame = session.range(1_000).groupBy("id").count()
    session.sparkContext.setJobGroup("counted", "")
    assert collected(frame).num_rows == 1_000
    assert jobs(session, "counted") > 0
