"""Spark on several machines: folders that not all of them see, and executors that are lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrameWriter

from freshtide.spark import SparkSession
from tests.trust.runs import running
from tests.warehouse.shop import Shop
from tests.warehouse.test_flow_loads import declare, keyed, priced

_REPOSITORY = Path(__file__).parents[2]


class Workers:
    """Where tasks write Parquet files to: while `apart`, to disks of their own that the driver does not see."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.apart = True
        write = DataFrameWriter.parquet

        def parquet(writer: DataFrameWriter, path: str, **how: Any) -> None:
            write(writer, path, **how)
            if self.apart:
                for file in Path(path).rglob("*.parquet"):
                    file.unlink()

        patch.setattr(DataFrameWriter, "parquet", parquet)


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Workers:
    return Workers(monkeypatch)


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession) -> Iterator[Shop]:
    made = Shop(tmp_path / "shop", spark, large_update=1, retry={"attempts": 2, "backoff": "20ms"})
    yield made
    made.warehouse.close()


def has_commits(shop: Shop, table: str) -> bool:
    return any((shop.root / "warehouse" / table / "_delta_log").glob("*.json"))


def test_what_spark_says_it_has_written_must_be_there_before_it_is_committed(shop: Shop, workers: Workers) -> None:
    shop.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "x", 2)])
    with running(shop) as run:
        run.wait_for(lambda: run.heard("written 2 rows"))
        assert not has_commits(shop, "a")
        workers.apart = False
        run.wait_for(lambda: shop.freshness("a") == 2)
    assert sorted(row["v"] for row in shop.rows("a")) == [1, 2]
    shop.check()


def test_what_a_flow_has_written_must_be_there_before_any_of_it_is_committed(
    tmp_path: Path, spark: SparkSession, workers: Workers
) -> None:
    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 2, "backoff": "20ms"})
    declare(shop, priced())
    shop.drop_events("sales", "1.csv", [(1, "a", 1), (2, "b", ""), (3, "c", 3)])
    with running(shop) as run:
        # A table beside the one that is loaded: the rows of that one come through the driver.
        run.wait_for(lambda: run.heard("written 1 rows") and run.heard("unpriced"))
        assert not has_commits(shop, "sales")
        workers.apart = False
        run.wait_for(lambda: shop.freshness("sales") == 3)
    assert (keyed(shop, "sales"), keyed(shop, "unpriced")) == ({"a": 1, "c": 1}, {"b": 1})
    shop.check()
    shop.warehouse.close()


def test_a_large_load_of_which_nothing_is_to_be_written_is_none_to_wait_for(shop: Shop) -> None:
    shop.events("a")
    shop.warehouse.sql("CREATE STREAMING TABLE none AS SELECT * FROM STREAM a_feed WHERE 1 = 0")
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "x", 2)])
    shop.load()
    assert shop.rows("none") == []
    assert shop.counts()["none"].filtered == 2


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
