"""Windows over files are the same whether a warehouse runs on or starts again and again, and files do not pile up."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import pytest

from freshtide.spark import SparkSession
from tests.examples import slow_except
from tests.warehouse.shop import START, Shop, stamp
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
    return [Path(file.position).name for file in shop.warehouse.workbench.catalog.arrivals.pending("quotes")]


def assert_accounted(shop: Shop) -> None:
    """Every row is counted once, by where it is, and no number is one that cannot be explained."""
    count = shop.counts()["quotes"]
    assert count.in_windows is not None
    parts = (count.in_windows, count.waiting, count.superseded, count.in_rejects)
    assert sum(parts) == count.arrived, count
    assert all(part >= 0 for part in parts), count
    assert (count.filtered, count.unaccounted, count.faults) == (0, 0, ()), count


def told(shop: Shop) -> tuple[int | None, int, int]:
    """How many rows are in windows, wait for them, and were superseded."""
    count = shop.counts()["quotes"]
    return count.in_windows, count.waiting, count.superseded


@pytest.mark.parametrize(
    ("slide", "semantics"),
    [
        ("2s", "lazy"),
        pytest.param("10s", "eager", marks=pytest.mark.slow),
        pytest.param("2s", "eager", marks=pytest.mark.slow),
        pytest.param("10s", "lazy", marks=pytest.mark.slow),
    ],
)
def test_every_row_of_a_window_table_is_counted_once(shop: Shop, slide: str, semantics: str) -> None:
    declare(shop, slide=slide, windows=semantics)
    for number in range(14):
        rows = [(2 * number, "a", 1), (2 * number + 1, "b", 1), *([(0, "silent", 1)] if number == 0 else [])]
        older = [(2 * number - 5, "a", 1)] if number % 5 == 4 else []
        shop.drop_events("quotes", f"{number}.csv", [*rows, *older])
        shop.load()
        assert_accounted(shop)
        if number % 4 in (0, 3):
            shop = killed(shop) if number % 4 == 3 else shop.again()
            declare(shop, slide=slide, windows=semantics)
    shop.load()
    assert_accounted(shop)
    shop.warehouse.backfill("quotes")
    assert_accounted(shop)
    shop.drop_events("quotes", "more.csv", [(second, key, 1) for second in range(28, 60, 2) for key in ("a", "b")])
    shop.load()
    assert_accounted(shop)
    assert shop.counts()["quotes"].arrived == 14 * 2 + 1 + 2 + 32
    shop.warehouse.close()


def test_counts_tell_what_is_in_windows_what_waits_and_what_is_in_none(shop: Shop) -> None:
    declare(shop, slide="10s")
    shop.drop_events("quotes", "0.csv", [(1, "a", 1), (2, "a", 2), (2, "a", 3), (1, "a", 4), (1, "b", 1)])
    shop.load()
    assert told(shop) == (0, 3, 2)
    # Two windows close before the first of them is taken up: its rows are in none that is served.
    lines = [f"{stamp(second)},a,1" for second in (12, 13, 14, 15, 16, 17, 21)]
    shop.drop("quotes", "1.csv", "\n".join(["ts,k,v", *lines, "never,a,1"]) + "\n")
    shop.load()
    assert windows(shop) == {10: (6, 6)}
    assert told(shop) == (6, 2, 4)
    assert_accounted(shop)


def test_rows_that_wait_are_counted_once_though_windows_are_declared_anew(shop: Shop) -> None:
    declare(shop, slide="5s")
    shop.drop_events("quotes", "0.csv", [(second, "a", 1) for second in range(0, 14)])
    shop.load()
    assert told(shop) == (10, 4, 0)
    again = shop.again()
    declare(again, slide="2s")
    again.drop_events("quotes", "1.csv", [(second, "a", 1) for second in range(14, 30)])
    again.load()
    assert_accounted(again)
    again.warehouse.close()


def test_rows_that_wait_are_made_anew_from_files_when_they_are_lost(shop: Shop) -> None:
    declare(shop, slide="10s")
    shop.drop_events("quotes", "0.csv", [(1, "a", 1), (2, "a", 2)])
    shop.load()
    again = shop.again()
    shutil.rmtree(shop.root / "warehouse" / "quotes__open")
    declare(again, slide="10s")
    assert again.counts()["quotes"].faults
    again.load()
    again.drop_events("quotes", "1.csv", [(12, "a", 1)])
    again.load()
    assert windows(again) == {0: (2, 3)}
    assert_accounted(again)
    again.warehouse.close()


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


@pytest.mark.parametrize("semantics", slow_except(["lazy", "eager"], "eager"))
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
