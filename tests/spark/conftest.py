"""A session to work in, as updates have it."""

from __future__ import annotations

import pytest

from freshtide.spark import SparkSession
from freshtide.spark.sessions import working_session


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    return working_session(spark, compiled=False)
