"""A run whose allocation cannot keep its promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.core.costs import CostModel
from freshtide.core.errors import ProjectError
from freshtide.spark import SparkSession
from tests.warehouse.shop import Shop


def test_a_run_is_refused_once_it_is_known_that_the_tables_do_not_fit(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path / "shop", spark, tracks=1, scheduler="edf-partitioned")
    shop.events("a", period="10ms")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    # Nobody knows yet what the table costs, so it is loaded.
    shop.load()
    assert len(shop.rows("a")) == 1
    shop.warehouse.workbench.catalog.tables.set_costs({"a": CostModel.learnt_from([(1.0, 2.0), (2.0, 2.0)])})
    with pytest.raises(ProjectError, match="'a' takes 2s of every"):
        shop.warehouse.run_once()
    shop.warehouse.close()
