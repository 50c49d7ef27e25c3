"""Stop it at any time, lose the catalog, tear the log: it goes on where it was, each row once."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from freshtide import Warehouse
from freshtide.project import create_starter
from freshtide.spark import SparkSession
from tests.catalogs import use_catalog
from tests.warehouse.killing import runs_that_are_killed
from tests.warehouse.shop import Shop


def declare(shop: Shop) -> None:
    shop.events("a", lateness="5s")
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM a GROUP BY 1")


def test_a_lost_catalog_is_rebuilt_from_the_logs(shop: Shop) -> None:
    declare(shop)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.drop("a", "2.csv", "ts,k,v\nnever,x,1\n2026-01-01T00:01:10Z,y,2\n")
    shop.load()
    shop.drop_events("a", "3.csv", [(2, "late", 1), (100, "z", 3)])
    shop.load()
    before = {name: shop.bag(name) for name in ("a", "a__rejects", "a__late", "minutes")}
    later = shop.again()
    shop.lose_catalog()
    declare(later)
    later.load()
    assert {name: later.bag(name) for name in before} == before
    assert later.freshness("a") == 100
    later.drop_events("a", "4.csv", [(120, "w", 4)])
    later.load()
    assert len(later.rows("a")) == 4
    later.check()


def test_a_torn_commit_is_done_again(shop: Shop) -> None:
    declare(shop)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    shop.drop_events("a", "2.csv", [(61, "y", 2)])
    shop.load()
    later = shop.again()
    shop.last_commit("a").write_bytes(b"")
    declare(later)
    later.load()
    assert len(later.rows("a")) == 2
    later.check()


def test_rejects_of_an_update_that_never_landed_are_not_counted_twice(shop: Shop) -> None:
    declare(shop)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    shop.drop("a", "2.csv", "ts,k,v\nnever,x,1\n2026-01-01T00:01:10Z,y,2\n")
    shop.load()
    later = shop.again()
    # As if the process had died after the commit of the rejects and before that of the table.
    shop.last_commit("a").unlink()
    declare(later)
    later.load()
    assert len(later.rows("a__rejects")) == 1
    assert len(later.rows("a")) == 2
    later.check()


def test_a_table_that_was_thrown_away_is_built_again(shop: Shop) -> None:
    declare(shop)
    shop.drop_events("a", "1.csv", [(1, "x", 1), (65, "y", 2)])
    shop.load()
    later = shop.again()
    for table in ("a", "minutes"):
        (shop.root / "warehouse" / table).rename(shop.root / f"old_{table}")
    declare(later)
    later.load()
    assert len(later.rows("a")) == 2
    later.check()


def write_orders(folder: Path, number: int) -> None:
    """A file of ten orders."""
    at = f"2026-05-02T{8 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z"
    rows = [f"{number * 10 + i},c{i % 3},{i}.50,{at}" for i in range(10)]
    hidden = folder / f".{number}"
    hidden.write_text("\n".join(["order_id,customer,amount,ordered_at", *rows]) + "\n")
    hidden.rename(folder / f"gen_{number:05d}.csv")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_warehouse_that_is_killed_again_and_again_loads_every_row_once(tmp_path: Path, spark: SparkSession) -> None:
    root = tmp_path / "shop"
    create_starter(root, "shop")
    use_catalog(root)
    for sample in (root / "landing" / "orders").iterdir():
        sample.unlink()
    files = 600
    landing = root / "landing" / "orders"
    for _ in runs_that_are_killed(root, "orders", partial(write_orders, landing), files=files):
        pass
    with Warehouse.open(root, spark=spark) as warehouse:
        assert warehouse.run_once().failed == {}
        ids = Counter(pl.read_delta(str(root / "warehouse" / "orders"))["order_id"].to_list())
        assert ids == Counter(range(files * 10))
        assert all(result.passed for result in warehouse.audit())
