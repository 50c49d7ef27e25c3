"""What all tests share: one Spark for everything that needs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.spark import SparkSession, start_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A Spark session, started when the first test asks for it."""
    log: Path = tmp_path_factory.mktemp("spark") / "spark.log"
    session = start_session({"spark.master": "local[2]"}, log=log)
    yield session
    session.stop()
