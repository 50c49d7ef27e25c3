"""Spark as the user set it up: sessions that exist already, masters, settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from freshtide import Warehouse
from freshtide.project import create_starter
from freshtide.spark import SparkSession


def test_a_session_that_exists_is_used_and_left_as_it_was(tmp_path: Path, spark: SparkSession) -> None:
    create_starter(tmp_path / "shop", "shop")
    notebook = spark.newSession()
    notebook.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    notebook.conf.set("spark.sql.shuffle.partitions", "7")
    notebook.range(3).createOrReplaceTempView("orders")
    before = notebook.conf.getAll
    with Warehouse.open(tmp_path / "shop", spark=notebook) as shop:
        assert shop.run_once().failed == {}
        assert all(result.passed for result in shop.audit())
        assert shop.query("SELECT count(*) AS n FROM orders").first() != notebook.table("orders").first()
    assert notebook.conf.getAll == before
    assert [row.id for row in notebook.table("orders").collect()] == [0, 1, 2]
    assert [row.tableName for row in notebook.sql("SHOW TABLES").collect()] == ["orders"]


_ON_A_CLUSTER = """
from freshtide import Warehouse

with Warehouse.open(".") as shop:
    report = shop.run_once()
    spark = shop.workbench.tracks.root
    print(report.failed, [result.passed for result in shop.audit()])
    print(spark.conf.get("spark.master"), spark.conf.get("spark.of.mine"), spark.conf.get("spark.of.lists"))
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_cluster_does_the_work_and_every_setting_reaches_spark(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    create_starter(root, "shop")
    settings = "spark: {master: 'local-cluster[2,1,1024]', spark: {of: {mine: true, lists: [a, b]}}}\nlarge_update: 1\n"
    (root / "freshtide.yml").write_text(settings)
    done = subprocess.run(
        [sys.executable, "-c", _ON_A_CLUSTER], cwd=root, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.stdout.splitlines() == ["{} [True, True, True]", "local-cluster[2,1,1024] true a,b"], done.stderr
