"""Spark's process dies: it is started again, the updates are repeated, and what kills it is put aside."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrameReader

from freshtide.core.arrivals import ArrivalState
from freshtide.spark import DataFrame, SparkSession
from tests.trust.runs import running
from tests.waiting import wait_until
from tests.warehouse.shop import Shop, stamp

_REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_is_started_again_and_the_file_that_kills_it_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.trust.dying", str(tmp_path / "shop")],
        cwd=_REPOSITORY,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def of_json(root: Path, spark: SparkSession) -> Shop:
    """A warehouse with one table, whose files Spark reads itself."""
    shop = Shop(root, spark, retry={"attempts": 2, "backoff": "20ms"})
    shop.warehouse.feed(
        "f",
        path="landing/f/*",
        format="json",
        schema={"ts": "timestamp", "v": "int"},
        time_column="ts",
        settle="renamed",
    )
    shop.warehouse.sql("CREATE STREAMING TABLE t AS SELECT * FROM STREAM f")
    return shop


def test_a_file_is_not_to_blame_while_spark_reads_not_even_a_good_one(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, read = of_json(tmp_path / "shop", spark), DataFrameReader.json

    def failing(reader: DataFrameReader, path: Any, **how: Any) -> DataFrame:
        return read(reader, path, **how).where("raise_error('out of order') IS NULL")

    shop.drop("f", "1.json", f'{{"ts": "{stamp(1)}", "v": 1}}\n')
    with monkeypatch.context() as broken:
        broken.setattr(DataFrameReader, "json", failing)
        with running(shop) as run:
            run.wait_for(lambda: run.heard("cannot even read a file that is known to be good"))
            broken.undo()
            run.wait_for(lambda: shop.freshness("t") == 1)
    assert shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.QUARANTINED) == []
    shop.check()
    shop.warehouse.close()


def test_files_are_not_to_blame_for_spark_s_own_folders_having_been_cleaned_away(
    tmp_path: Path, spark: SparkSession
) -> None:
    shop = of_json(tmp_path / "shop", spark)
    shop.view("v", "SELECT v % 2 AS odd, sum(v) AS total, max(ts) AS ts FROM t GROUP BY v % 2", time_column="ts")
    shop.drop("f", "1.json", f'{{"ts": "{stamp(1)}", "v": 1}}\n')
    shop.load()
    folders = shop.warehouse.workbench.computer.health.own_folders
    with running(shop) as run:
        for folder in folders:
            wait_until(partial(_is_removed, folder))
        for number in range(2, 6):
            shop.drop("f", f"{number}.json", f'{{"ts": "{stamp(number)}", "v": {number}}}\n')
        run.wait_for(lambda: shop.freshness("v") == 5 and _uses_all_of_its_folders(spark))
    assert sorted(row["v"] for row in shop.rows("t")) == [1, 2, 3, 4, 5]
    assert shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.QUARANTINED) == []
    shop.check()
    shop.warehouse.close()


def _is_removed(folder: Path) -> bool:
    """Whether a folder could be removed; not while Spark puts something into it."""
    try:
        shutil.rmtree(folder)
    except OSError:
        return False
    return True


def _uses_all_of_its_folders(spark: SparkSession) -> bool:
    """Whether a job of so many blocks works that it writes to every part of them."""
    try:
        return spark.range(0, 1_000, 1, 32).repartition(32).distinct().count() == 1_000
    except Py4JJavaError:
        return False
