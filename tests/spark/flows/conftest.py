from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.spark import SparkSession

from .flowbench import FlowBench


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> FlowBench:
    return FlowBench(spark, tmp_path)
