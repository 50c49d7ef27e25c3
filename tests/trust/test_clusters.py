"""Spark on several machines: folders that not all of them see, and executors that are lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from freshtide.spark import SparkSession
from freshtide.storage import parquet
from tests.trust.runs import running
from tests.warehouse.shop import Shop

_REPOSITORY = Path(__file__).parents[2]


def test_what_spark_says_it_has_written_must_be_there_before_it_is_committed(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path / "shop", spark, large_update=1, retry={"attempts": 2, "backoff": "20ms"})
    shop.events("a")
    adopt, elsewhere = parquet.adopt_staged, [True]

    def written_elsewhere(folder: Path, staging: Path, **how: Any) -> object:
        if elsewhere[0]:
            # Executors that do not see the folder write on disks of their own.
            for file in staging.rglob("*.parquet"):
                file.unlink()
        return adopt(folder, staging, **how)

    monkeypatch.setattr(parquet, "adopt_staged", written_elsewhere)
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "x", 2)])
    with running(shop) as run:
        run.wait_for(lambda: run.heard("written 2 rows"))
        assert not any((shop.root / "warehouse" / "a" / "_delta_log").glob("*.json"))
        elsewhere[0] = False
        run.wait_for(lambda: shop.freshness("a") == 2)
    assert sorted(row["v"] for row in shop.rows("a")) == [1, 2]
    shop.check()
    shop.warehouse.close()


def test_a_large_load_of_which_nothing_is_to_be_written_is_none_to_wait_for(
    tmp_path: Path, spark: SparkSession
) -> None:
    shop = Shop(tmp_path / "shop", spark, large_update=1)
    shop.events("a")
    shop.warehouse.sql("CREATE STREAMING TABLE none AS SELECT * FROM STREAM a_feed WHERE 1 = 0")
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "x", 2)])
    shop.load()
    assert shop.rows("none") == []
    assert shop.counts()["none"].filtered == 2
    shop.warehouse.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_cluster_without_executors_is_told_and_folders_that_it_does_not_see_are_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.trust.lonely", str(tmp_path / "shop")],
        cwd=_REPOSITORY,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
