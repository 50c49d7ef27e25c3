"""Update tables after failures and crashes: they go on where they were, and no key goes back in time."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from freshtide import Warehouse
from freshtide.spark import SparkSession
from tests.catalogs import use_catalog
from tests.warehouse.killing import runs_that_are_killed
from tests.warehouse.shop import Shop
from tests.warehouse.test_update_tables import newest, update_table


def test_what_a_crash_left_unfinished_is_read_again_and_nothing_goes_back(shop: Shop) -> None:
    update_table(shop)
    shop.drop_events("quotes", "1.csv", [(1, "a", 1), (9, "b", 2)])
    shop.load()
    shop.drop_events("quotes", "2.csv", [(5, "a", 5), (5, "b", 6)])
    shop.load()
    assert newest(shop) == {"a": 5, "b": 2}
    later = shop.again()
    # As if the process had died before the last commit.
    shop.last_commit("quotes").unlink()
    update_table(later)
    later.load()
    assert newest(later) == {"a": 5, "b": 2}
    later.check()


def test_rejects_of_a_commit_that_never_landed_are_not_kept_twice(shop: Shop) -> None:
    update_table(shop)
    shop.drop_events("quotes", "1.csv", [(1, "a", 1)])
    shop.load()
    shop.drop("quotes", "2.csv", "ts,k,v\nnever,x,1\n2026-01-01T00:01:10Z,,2\n2026-01-01T00:01:10Z,b,3\n")
    shop.load()
    later = shop.again()
    shop.last_commit("quotes").unlink()
    update_table(later)
    later.load()
    assert len(later.rows("quotes__rejects")) == 2
    assert newest(later) == {"a": 1, "b": 3}
    later.check()


def test_a_lost_catalog_is_rebuilt_from_the_logs(shop: Shop) -> None:
    update_table(shop)
    shop.drop_events("quotes", "1.csv", [(1, "a", 1), (2, "a", 2)])
    shop.load()
    later = shop.again()
    shop.lose_catalog()
    update_table(later)
    later.drop_events("quotes", "2.csv", [(3, "a", 3)])
    later.load()
    assert newest(later) == {"a": 3}
    assert later.counts()["quotes"].superseded == 2
    later.check()


def test_rows_of_a_query_that_fails_are_there_when_it_works_again(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 1})
    update_table(shop, query="ts, k, 10 / v AS v")
    shop.drop_events("quotes", "1.csv", [(1, "a", 0), (1, "b", 5)])
    report = shop.warehouse.run_once()
    assert "zero" in report.failed["quotes"]
    later = shop.again()
    update_table(later, query="ts, k, coalesce(try_divide(10, v), 0.0D) AS v")
    later.warehouse.resume("quotes")
    later.load()
    assert newest(later) == {"a": 0, "b": 2}
    later.warehouse.close()


def test_a_backfill_leaves_what_all_files_give(shop: Shop) -> None:
    update_table(shop)
    shop.view("dear", "SELECT ts, k, v FROM quotes WHERE v > 1", update_key="k")
    shop.drop_events("quotes", "1.csv", [(1, "a", 1), (1, "b", 7)])
    shop.load()
    shop.drop_events("quotes", "2.csv", [(2, "a", 2)])
    shop.load()
    later = shop.again()
    update_table(later, query="ts, k, v + 10 AS v")
    later.view("dear", "SELECT ts, k, v FROM quotes WHERE v > 12", update_key="k")
    later.warehouse.backfill("quotes")
    assert newest(later) == {"a": 12, "b": 17}
    later.load()
    assert newest(later, "dear") == {"b": 17}
    later.check()


def test_memory_that_is_too_small_for_all_that_waits_only_makes_more_updates(
    tmp_path: Path, spark: SparkSession
) -> None:
    shop = Shop(tmp_path / "shop", spark, update_memory="50kB")
    try:
        update_table(shop)
        rows = [(second, f"k{key:04d}", second) for second in (1, 2) for key in range(2_000)]
        shop.drop_events("quotes", "1.csv", rows)
        shop.load()
        assert newest(shop) == {f"k{key:04d}": 2 for key in range(2_000)}
        assert len(list((shop.root / "warehouse" / "quotes" / "_delta_log").glob("*.json"))) > 2
        shop.check()
    finally:
        shop.warehouse.close()


_PROJECT = {
    "freshtide.yml": "name: ticks\n",
    "feeds/ticks.yml": (
        "path: landing/*.csv\nformat: csv\nsettle: renamed\ntime_column: ts\n"
        "schema: {ts: timestamp, k: string, v: int}\n"
    ),
    "tables/quotes.sql": (
        "CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key'='k') AS SELECT ts, k, v FROM STREAM ticks;\n"
        "CREATE STREAMING TABLE every AS SELECT ts, k, v FROM STREAM ticks;\n"
        "CREATE MATERIALIZED VIEW doubled TBLPROPERTIES ('update_key'='k') AS SELECT ts, k, v * 2 AS v FROM quotes;\n"
    ),
}


def write_ticks(folder: Path, number: int) -> None:
    """A file with the prices of ten keys, and a row that does not fit."""
    folder.mkdir(parents=True, exist_ok=True)
    at = f"2026-05-02T{8 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z"
    rows = [f"{at},k{(number * 10 + i) % 50},{number}" for i in range(10)] + [f"never,k0,{number}"]
    hidden = folder / f".{number}"
    hidden.write_text("\n".join(["ts,k,v", *rows]) + "\n")
    hidden.rename(folder / f"{number:05d}.csv")


def prices(root: Path) -> dict[int, int]:
    """The value of each key, where the table is there."""
    if not (root / "warehouse" / "quotes" / "_delta_log").exists():
        return {}
    rows = pl.read_delta(str(root / "warehouse" / "quotes")).to_dicts()
    assert len({row["k"] for row in rows}) == len(rows)
    return {int(row["k"][1:]): row["v"] for row in rows}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_warehouse_that_is_killed_again_and_again_never_lets_a_key_go_back(
    tmp_path: Path, spark: SparkSession
) -> None:
    root = tmp_path / "ticks"
    for name, text in _PROJECT.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    use_catalog(root)
    files = 600
    seen: dict[int, int] = {}
    for _ in runs_that_are_killed(root, "quotes", partial(write_ticks, root / "landing"), files=files):
        for key, value in prices(root).items():
            # Only every fifth file has the key: any of its values was the newest at some moment.
            assert value % 5 == key // 10
            assert value >= seen.get(key, 0)
            seen[key] = value
    with Warehouse.open(root, spark=spark) as warehouse:
        assert warehouse.run_once().failed == {}
        assert prices(root) == {key: files - 5 + key // 10 for key in range(50)}
        rejects = pl.read_delta(str(root / "warehouse" / "quotes__rejects"))["content"].to_list()
        assert Counter(rejects) == Counter(f"never,k0,{number}" for number in range(files))
        assert pl.read_delta(str(root / "warehouse" / "every")).height == files * 10
        assert all(result.passed for result in warehouse.audit())
