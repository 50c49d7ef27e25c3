"""Warehouses for tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.spark import SparkSession
from tests.warehouse.shop import Shop


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession) -> Iterator[Shop]:
    made = Shop(tmp_path / "shop", spark)
    yield made
    made.warehouse.close()
