"""A warehouse whose Spark dies again and again; run by a test, in a process of its own."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from freshtide import Warehouse
from freshtide.core.arrivals import ArrivalState
from freshtide.core.errors import RunFailedError
from tests.trust.runs import Running, running
from tests.warehouse.shop import Shop

DEADLY = 666


def deadly(value: int) -> int:
    """A row that is more than Spark's process can bear."""
    if value == DEADLY:
        # The parent of a Python worker is a daemon, and its parent is Spark.
        daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
        os.kill(int(daemon.rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
    return value


class OwnShop(Shop):
    """A warehouse with a Spark of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        retry = {"attempts": 2, "backoff": "50ms"}
        self.warehouse = Warehouse(root, poll="20ms", retry=retry, spark={"master": "local[2]"})


def values(shop: Shop, table: str) -> list[int]:
    begun = any((shop.root / "warehouse" / table / "_delta_log").glob("*.json"))
    return sorted(row["v"] for row in shop.rows(table)) if begun else []


def main(root: Path) -> None:
    shop = OwnShop(root)
    shop.events("a")
    shop.view("v", "SELECT k, sum(v) AS total, max(ts) AS ts FROM a GROUP BY k", time_column="ts")
    given = {"path": "landing/b/*", "format": "csv", "schema": {"ts": "timestamp", "v": "int"}, "time_column": "ts"}
    shop.warehouse.feed("b_feed", settle="renamed", **given)

    @shop.warehouse.table(feed="b_feed", name="b")
    def b(rows: DataFrame) -> DataFrame:
        return rows.withColumn("v", sf.udf(deadly, "int")("v"))

    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    with running(shop) as run:
        run.wait_for(lambda: shop.freshness("v") == 1)

        kill_spark()
        for number in (2, 3, 4):
            shop.drop_events("a", f"{number}.csv", [(number, "x", number)])
        run.wait_for(lambda: run.heard("Spark's process has ended"))
        run.wait_for(lambda: shop.freshness("v") == 4)
        assert values(shop, "a") == [1, 2, 3, 4]

        shop.warehouse.pause("b")
        for number, value in enumerate([10, DEADLY, 12], start=1):
            shop.drop("b", f"{number}.csv", f"ts,v\n2026-01-01T00:00:0{number}Z,{value}\n")
        shop.warehouse.resume("b")
        run.wait_for(lambda: values(shop, "b") == [10, 12])
        (killer,) = shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.QUARANTINED)
        assert killer.position.endswith("b/2.csv"), killer
        assert "process ended each time" in str(killer.reason), killer

        shop.warehouse.workbench.tracks.root.sparkContext._jsc.sc().stop()
        shop.drop_events("a", "5.csv", [(5, "x", 5)])
        run.wait_for(lambda: shop.freshness("v") == 5)
    shop.check()

    notebook = Shop(root.with_name("notebook"), shop.warehouse.workbench.tracks.root)
    notebook.events("a")
    lost = Running(notebook)
    kill_spark()
    fault = lost.wait_for_fault()
    assert isinstance(fault, RunFailedError), fault
    assert "cannot start it again" in str(fault), fault
    notebook.warehouse.close()
    shop.warehouse.close()


def kill_spark() -> None:
    gateway: Any = SparkContext._gateway
    os.kill(gateway.proc.pid, signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
