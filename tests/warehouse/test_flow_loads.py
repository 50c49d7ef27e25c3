"""A table that is loaded by a flow: files in, all targets out, together and exactly once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshtide import Flow
from freshtide.core.errors import UsageError
from freshtide.spark import SparkSession
from tests.warehouse.shop import EVENTS, Shop, stamp


def priced(*, risky: bool = False) -> Flow:
    """Rows with a price go on with a tax, the others are kept apart; keys are counted per update."""
    flow = Flow("priced")
    complete = flow.read(feed="sales_feed").not_null("v")
    tax = "CASE WHEN v < 900 THEN v * 10 ELSE CAST(raise_error('too dear') AS INT) END" if risky else "v * 10"
    taxed = complete.expression({"tax": tax}, name="taxed")
    taxed.write(table="sales")
    complete.quarantine.write(table="unpriced")
    taxed.aggregate(by="k", n="count(*)").write(files="out/keys")
    return flow


def declare(shop: Shop, flow: Flow, **settings: str) -> None:
    given: dict[str, Any] = {
        "path": "landing/sales/*",
        "format": "csv",
        "schema": EVENTS,
        "time_column": "ts",
        "settle": "renamed",
    }
    shop.warehouse.feed("sales_feed", **{**given, "period": "10s", **settings})
    shop.warehouse.sql(
        f"CREATE STREAMING TABLE sales TBLPROPERTIES ('flow'='{flow.name}') AS SELECT * FROM STREAM sales_feed"
    )
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, sum(tax) AS tax FROM sales GROUP BY 1")
    shop.warehouse.flow(flow)


def keyed(shop: Shop, table: str) -> Counter[str]:
    return Counter(row["k"] for row in shop.rows(table))


def keys_in_files(shop: Shop) -> Counter[str]:
    files = pl.read_parquet(str(shop.root / "out" / "keys" / "*.parquet"))
    return Counter(files["k"].to_list())


def test_each_update_runs_the_flow_over_what_has_arrived(shop: Shop) -> None:
    declare(shop, priced(), lateness="5s")
    shop.drop_events("sales", "1.csv", [(1, "a", 1), (2, "b", ""), (3, "c", 3)])
    shop.load()
    assert [row["tax"] for row in sorted(shop.rows("sales"), key=lambda row: row["ts"])] == [10, 30]
    assert keyed(shop, "unpriced") == {"b": 1}

    shop.drop("sales", "2.csv", "ts,k,v\nnever,x,1\n2026-01-01T00:01:10Z,d,4\n2026-01-01T00:01:11Z,e,\n")
    shop.load()
    shop.drop_events("sales", "3.csv", [(4, "late", 1), (80, "f", 5)])
    shop.load()
    shop.load()
    loaded = Counter({"a": 1, "c": 1, "d": 1, "f": 1})
    assert (keyed(shop, "sales"), keys_in_files(shop)) == (loaded, loaded)
    assert keyed(shop, "unpriced") == {"b": 1, "e": 1}
    assert len(shop.rows("sales__rejects")) == 1
    assert keyed(shop, "sales__late") == {"late": 1}
    assert shop.freshness("sales") == 80
    count = shop.counts()["sales"]
    assert (count.arrived, count.in_table, count.diverted, count.filtered) == (8, 4, 2, 0)
    shop.check()

    with pytest.raises(UsageError, match="'priced' is the load of the table 'sales'"):
        shop.warehouse.run_flow("priced")
    shop.warehouse.backfill("sales")
    assert (keyed(shop, "sales"), keys_in_files(shop)) == (loaded, loaded)
    assert keyed(shop, "unpriced") == {"b": 1, "e": 1}
    shop.check()


def test_a_flow_that_fails_commits_nothing_and_is_tried_again(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 2, "backoff": "10ms"})
    declare(shop, priced(risky=True))
    shop.drop_events("sales", "1.csv", [(1, "a", 1)])
    shop.load()
    shop.drop_events("sales", "2.csv", [(2, "b", ""), (3, "dear", 900)])
    report = shop.warehouse.run_once()
    assert "Activity 'taxed' failed" in report.failed["sales"]
    assert "too dear" in report.failed["sales"]
    assert shop.warehouse.workbench.catalog.tables.get("sales").failures == 2
    assert (keyed(shop, "sales"), keys_in_files(shop), keyed(shop, "unpriced")) == ({"a": 1}, {"a": 1}, {})

    mended = shop.again()
    declare(mended, priced())
    mended.warehouse.resume("sales")
    mended.load()
    loaded = Counter({"a": 1, "dear": 1})
    assert (keyed(mended, "sales"), keys_in_files(mended), keyed(mended, "unpriced")) == (loaded, loaded, {"b": 1})
    mended.check()
    mended.warehouse.close()


def test_a_flow_reads_tables_that_are_declared_and_not_loaded_yet(shop: Shop) -> None:
    shop.events("prices")
    flow = Flow("joined")
    prices = flow.read(table="prices").only("k", price="v")
    flow.read(feed="sales_feed").join(prices, on="k", how="left").expression(tax="price * 10").write(table="sales")
    declare(shop, flow)
    shop.drop_events("prices", "1.csv", [(0, "a", 7), (0, "a", 8)])
    shop.load()
    shop.drop_events("sales", "1.csv", [(1, "a", 1), (2, "b", 2)])
    shop.load()
    assert Counter((row["k"], row["tax"]) for row in shop.rows("sales")) == {("a", 70): 1, ("a", 80): 1, ("b", None): 1}
    assert shop.counts()["sales"].diverted == -1, "one row more came out than went in"
    shop.check()


def test_punctuation_new_columns_and_rows_without_a_time(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 1})
    flow = Flow("timed")
    arrived = flow.read(feed="sales_feed")
    arrived.expression({"ts": "IF(v < 0, NULL, ts)", "tax": "v"}).write(table="sales", name="stored")
    arrived.write(table="last", mode="overwrite")
    paths = {"path": "landing/sales/*.csv", "punctuation": "landing/sales/*.mark"}
    declare(shop, flow, **paths, on_schema_change="evolve")
    shop.drop_events("sales", "1.csv", [(1, "a", 1)])
    shop.load()
    shop.drop("sales", "1.mark", stamp(60))
    shop.load()
    assert shop.freshness("sales") == 60
    assert keyed(shop, "last") == {"a": 1}, "no rows came, so nothing went through the flow"

    shop.drop("sales", "2.csv", f"ts,k,v,more\n{stamp(70)},b,2,new\n")
    shop.load()
    assert Counter((row["k"], row["more"]) for row in shop.rows("sales")) == {("a", None): 1, ("b", "new"): 1}
    assert keyed(shop, "last") == {"b": 1}
    shop.check()

    shop.drop_events("sales", "3.csv", [(80, "c", -1)])
    reason = shop.warehouse.run_once().failed["sales"]
    assert "Activity 'stored' failed" in reason
    assert "1 of the rows for 'sales' has no time in 'ts'" in reason
    assert keyed(shop, "last") == {"b": 1}
    shop.warehouse.close()


def test_a_file_that_cannot_be_read_is_put_aside_and_the_others_go_through_the_flow(shop: Shop) -> None:
    declare(shop, priced(), format="parquet", timestamp="modified")
    rows = pa.table({"ts": [datetime(2026, 1, 1, tzinfo=UTC)], "k": ["x" * 1000], "v": pa.array([7], pa.int32())})
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, use_dictionary=False, compression="none")
    whole = sink.getvalue().to_pybytes()
    shop.drop("sales", "good.parquet", whole)
    shop.drop("sales", "bad.parquet", whole[:4] + bytes(200) + whole[204:])
    shop.load()
    assert keyed(shop, "sales") == keys_in_files(shop) == {"x" * 1000: 1}
    (held,) = shop.warehouse.status().feeds[0].troubled
    assert held.position.endswith("bad.parquet")


_DIE = """
import os, sys
from pathlib import Path
from freshtide.spark import start_session
from freshtide.storage import StoredTable
from tests.warehouse.shop import Shop
from tests.warehouse.test_flow_loads import declare, priced

left, commit = int(sys.argv[2]), StoredTable.commit

def commit_or_die(table, change):
    global left
    if not left:
        os._exit(9)
    left -= 1
    return commit(table, change)

StoredTable.commit = commit_or_die
shop = Shop(Path(sys.argv[1]), start_session({"spark.master": "local[1]"}))
declare(shop, priced())
shop.load()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("landed", "torn"), [(0, False), (1, False), (1, True)])
def test_a_crash_between_the_commits_is_finished_by_the_next_start(shop: Shop, landed: int, *, torn: bool) -> None:
    shop.drop_events("sales", "1.csv", [(1, "a", 1), (2, "b", "")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    died = subprocess.run([sys.executable, "-c", _DIE, str(shop.root), str(landed)], env=environment, check=False)
    assert died.returncode == 9
    there = [(shop.root / "warehouse" / table / "_delta_log").exists() for table in ("unpriced", "sales")]
    assert there == [landed > 0, False]
    if torn:
        # The machine went down with the process: what had not been synced yet is gone.
        (log,) = (shop.root / "warehouse" / "unpriced" / "_delta_log").glob("*.json")
        log.write_bytes(b"")

    declare(shop, priced())
    shop.load()
    assert (keyed(shop, "sales"), keys_in_files(shop), keyed(shop, "unpriced")) == ({"a": 1}, {"a": 1}, {"b": 1})
    assert shop.freshness("sales") == 2
    shop.drop_events("sales", "2.csv", [(3, "c", 3)])
    shop.load()
    assert keyed(shop, "sales") == {"a": 1, "c": 1}
    shop.check()
