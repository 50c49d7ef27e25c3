"""Windows over files are the same whether a warehouse runs on or starts again and again, and files do not pile up."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from freshtide.spark import SparkSession
from tests.warehouse.shop import START, Shop
from tests.warehouse.test_update_tables import MEANS, update_table


def declare(shop: Shop, *, slide: str = "5s", windows: str = "lazy") -> None:
    update_table(shop, query=MEANS.format("quotes"), window="10s", slide=slide, windows=windows)


def seconds(moment: datetime) -> int:
    return round(moment.timestamp() - START)


def windows(shop: Shop, key: str = "a") -> dict[int, tuple[int, int]]:
    """How many rows the windows of a key have and what they come to, by when they begin."""
    rows = [row for row in shop.rows("quotes") if row["k"] == key]
    return {seconds(row["window_start"]): (row["n"], row["v"]) for row in rows}


def pending(shop: Shop) -> list[str]:
    return [Path(file.path).name for file in shop.warehouse.workbench.catalog.files.pending("quotes")]


def test_no_window_is_skipped_however_often_the_warehouse_starts_again(shop: Shop) -> None:
    for number in range(9):
        declare(shop)
        shop.drop_events("quotes", f"{number}.csv", [(3 * number + i, "a", 1) for i in range(3)])
        shop.load()
        # Each of these two completes a window, and no later one is complete when it is read again.
        shop = killed(shop) if number in (3, 6) else shop.again()
    declare(shop)
    assert windows(shop) == dict.fromkeys((0, 5, 10, 15), (10, 10))
    shop.warehouse.close()


def killed(shop: Shop) -> Shop:
    """The same warehouse after its process was killed before the last commit of the table."""
    again = shop.again()
    shop.last_commit("quotes").unlink()
    return again


@pytest.mark.parametrize("semantics", ["lazy", "eager"])
def test_a_key_that_falls_silent_keeps_no_file_from_being_done_with(shop: Shop, semantics: str) -> None:
    declare(shop, slide="10s", windows=semantics)
    shop.drop_events("quotes", "0.csv", [(1, "silent", 1), (2, "silent", 2), (1, "a", 1)])
    shop.load()
    for number in range(1, 8):
        shop.drop_events("quotes", f"{number}.csv", [(10 * number + i, "a", 1) for i in range(4)])
        shop.load()
    assert len(pending(shop)) <= 2
    # What is done with is not needed any more.
    done = {file.name for file in (shop.root / "landing" / "quotes").iterdir()} - set(pending(shop))
    for name in done:
        (shop.root / "landing" / "quotes" / name).unlink()
    again = shop.again()
    declare(again, slide="10s", windows=semantics)
    again.drop_events("quotes", "9.csv", [(3, "silent", 4), (90, "silent", 8)])
    again.load()
    assert windows(again, "silent") == {0: (3, 7)}
    again.warehouse.close()


def test_what_waits_for_a_window_of_a_stream_is_kept_over_an_orderly_end(tmp_path: Path, spark: SparkSession) -> None:
    def shop_of(rows: list[tuple[int, int]]) -> Shop:
        shop = Shop(tmp_path / "shop", spark)
        records = [{"ts": f"2026-01-01T00:00:{second:02d}Z", "k": "a", "v": value} for second, value in rows]
        schema = {"ts": "timestamp", "k": "string", "v": "int"}
        shop.warehouse.feed("quotes_feed", schema=schema, time_column="ts", generator=lambda: iter(records))
        shop.warehouse.sql(
            "CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key'='k', 'window'='10s', 'slide'='5s') AS "
            f"SELECT {MEANS.format('quotes')}"
        )
        return shop

    for rows in ([(1, 1), (6, 2)], [(7, 4)], [(12, 8)], [(16, 16)]):
        shop = shop_of(rows)
        shop.load()
        shop.warehouse.close()
    assert windows(shop) == {0: (3, 7), 5: (3, 14)}
