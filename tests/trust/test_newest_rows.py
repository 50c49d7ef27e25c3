"""The newest row of a key decides, however rows come together: in update tables, after a backfill, and in views."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from datetime import datetime
from typing import Any

import duckdb
import pytest

from freshtide.core.steps import Merge
from tests.examples import slow_except
from tests.warehouse.shop import START, Shop, stamp
from tests.warehouse.test_update_tables import MEANS, newest, update_table

Row = tuple[int, str, int]
FILTERED = "ts, k, v FROM STREAM quotes_feed WHERE v > 0"


def declare_filtered(shop: Shop) -> None:
    update_table(shop, query=FILTERED)
    shop.view("seen", "SELECT ts, k, v FROM quotes", update_key="k")


def arrive(shop: Shop, *steps: list[list[Row]], between: Callable[[Shop], Shop] = lambda shop: shop) -> Shop:
    """Let the files of each step come at once, and load them."""
    declare_filtered(shop)
    number = 0
    for files in steps:
        for rows in files:
            number += 1
            shop.drop_events("quotes", f"{number}.csv", rows)
        shop.load()
        shop.check()
        shop = between(shop)
    return shop


def restarted(shop: Shop) -> Shop:
    again = shop.again()
    declare_filtered(again)
    return again


GOOD, BAD, OLDER = [(1, "a", 10)], [(2, "a", -1)], [(0, "a", 3)]


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(lambda shop: shop, id="in one run"),
        pytest.param(restarted, id="over restarts", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ([[GOOD], [BAD]], {}),
        pytest.param([[GOOD, BAD]], {}, marks=pytest.mark.slow),
        pytest.param([[BAD], [GOOD]], {}, marks=pytest.mark.slow),
        pytest.param([[GOOD], [OLDER]], {"a": 10}, marks=pytest.mark.slow),
        ([[GOOD], [BAD], [OLDER], [[(2, "a", 7)]]], {"a": 7}),
        ([[GOOD], [BAD], [[(3, "a", 8)]], [BAD]], {"a": 8}),
    ],
)
def test_a_key_whose_newest_row_is_filtered_out_is_gone(
    shop: Shop, steps: list[list[list[Row]]], left: dict[str, int], between: Callable[[Shop], Shop]
) -> None:
    shop = arrive(shop, *steps, between=between)
    assert newest(shop) == newest(shop, "seen") == left
    assert shop.rows("quotes__rejects") == []
    counts = shop.counts()["quotes"]
    assert counts.arrived == sum(len(rows) for files in steps for rows in files)
    assert counts.in_table == len(left)
    shop.warehouse.backfill("quotes")
    shop.load()
    assert newest(shop) == newest(shop, "seen") == left
    shop.warehouse.close()


def test_what_is_known_of_keys_that_have_gone_is_made_anew_when_it_is_lost(shop: Shop) -> None:
    arrive(shop, [GOOD, [(1, "b", 1)]], [[(4, "a", -1)]])
    assert newest(shop) == {"b": 1}
    shutil.rmtree(shop.root / "warehouse" / "quotes__gone")
    again = restarted(shop)
    assert any("'quotes__gone' has lost" in fault for fault in again.counts()["quotes"].faults)
    again.drop_events("quotes", "older.csv", [(2, "a", 7)])
    again.load()
    assert newest(again) == newest(again, "seen") == {"b": 1}
    assert again.counts()["quotes"].faults == ()
    again.warehouse.close()


@pytest.mark.parametrize("key", slow_except(["k", "k,v"], "k,v"), ids=["alone", "with others"])
def test_zero_is_one_key_whatever_its_sign(shop: Shop, key: str) -> None:
    place = {"path": "landing/f/*", "format": "csv", "settle": "renamed"}
    shop.warehouse.feed(
        "f", schema={"ts": "timestamp", "k": "double", "v": "int", "n": "int"}, time_column="ts", **place
    )
    shop.warehouse.sql(f"CREATE STREAMING TABLE t TBLPROPERTIES ('update_key'='{key}') AS SELECT * FROM STREAM f")
    shop.view("w", "SELECT * FROM t", update_key=key)
    for number, (second, zero) in enumerate([(0, "0.0"), (1, "-0.0"), (3, "0.0"), (2, "-0.0")]):
        shop.drop("f", f"{number}.csv", f"ts,k,v,n\n{stamp(second)},{zero},1,{number}\n")
        shop.load()
    for _ in range(2):
        assert [row["n"] for row in shop.rows("t")] == [row["n"] for row in shop.rows("w")] == [2]
        shop.check()
        shop.warehouse.backfill("t")
        shop.load()


def test_of_equal_times_the_row_that_came_last_counts_everywhere(shop: Shop) -> None:
    update_table(shop)
    shop.view("seen", "SELECT ts, k, v FROM quotes", update_key="k")
    # The file that comes first is called and stamped as if it were the last.
    shop.drop_events("quotes", "z.csv", [(9, "b", 0), (5, "a", 1), (5, "a", 2)])
    shop.load()
    assert newest(shop) == {"a": 2, "b": 0}
    shop.drop_events("quotes", "a.csv", [(5, "a", 4), (5, "a", 3)])
    shop.load()
    assert newest(shop) == newest(shop, "seen") == {"a": 3, "b": 0}
    shop.warehouse.backfill("quotes")
    shop.load()
    assert newest(shop) == newest(shop, "seen") == {"a": 3, "b": 0}
    shop.check()


def test_a_backfill_keeps_the_rows_of_files_that_are_half_processed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    update_table(shop)
    shop.drop_events("quotes", "1.csv", [(1, "a", 1)])
    shop.load()
    runner = shop.warehouse.workbench.computer.streams["quotes"]
    monkeypatch.setattr(runner._sizes, "size", lambda _: 1)
    shop.drop_events("quotes", "2.csv", [(2, key, 2) for key in "abc"])
    rebuilt = False

    def until() -> bool:
        """Between two micro-batches of a file the table is rebuilt."""
        nonlocal rebuilt
        if not rebuilt and runner.stream.unfinished and newest(shop).get("a") == 2:
            rebuilt = True
            shop.warehouse.workbench.executor.run(Merge(table=runner.table, rebuild=True), track=0)
        return rebuilt

    shop.warehouse.run(until=until)
    shop.load()
    assert rebuilt
    assert newest(shop) == {"a": 2, "b": 2, "c": 2}


VIEWS = {
    "united": "SELECT ts, k, v FROM a WHERE v > 0 UNION ALL SELECT ts, k, v FROM b",
    "joined": "SELECT greatest(a.ts, b.ts) AS ts, a.k, a.v + b.v AS v FROM a JOIN b ON a.k = b.k WHERE a.v <> b.v",
    "with_b": "SELECT greatest(a.ts, b.ts) AS ts, a.k, coalesce(b.v, -9) AS v FROM a LEFT JOIN b ON a.k = b.k",
    "above": "SELECT ts, k, v FROM united WHERE v <> 2",
}
YOUNGEST = "SELECT k, v, ts FROM ({}) QUALIFY row_number() OVER (PARTITION BY k ORDER BY ts DESC, branch DESC) = 1"
EXPECTED = {
    "a": YOUNGEST.format("SELECT *, nr AS branch FROM a_rows") + " AND v > -2",
    "b": YOUNGEST.format("SELECT *, nr AS branch FROM b_rows"),
    "united": YOUNGEST.format("SELECT ts, k, v, 1 AS branch FROM a WHERE v > 0 UNION ALL SELECT ts, k, v, 2 FROM b"),
    "joined": "SELECT a.k, a.v + b.v AS v, greatest(a.ts, b.ts) AS ts FROM a JOIN b ON a.k = b.k WHERE a.v <> b.v",
    "with_b": "SELECT a.k, coalesce(b.v, -9) AS v, greatest(a.ts, b.ts) AS ts FROM a LEFT JOIN b ON a.k = b.k",
    "above": "SELECT k, v, ts FROM united WHERE v <> 2",
}


def by_duckdb(rows: dict[str, list[Row]]) -> dict[str, set[tuple[Any, ...]]]:
    """What each table holds if all rows had come at once, as another engine computes it."""
    with duckdb.connect() as engine:
        for name, of_feed in rows.items():
            engine.execute(f"CREATE TABLE {name}_rows (ts INT, k TEXT, v INT, nr INT)")
            if of_feed:
                engine.executemany(
                    f"INSERT INTO {name}_rows VALUES (?, ?, ?, ?)", [(*row, nr) for nr, row in enumerate(of_feed)]
                )
        found = {}
        for name, query in EXPECTED.items():
            engine.execute(f"CREATE TABLE {name} AS {query}")
            found[name] = set(engine.sql(f"SELECT ts, k, v FROM {name}").fetchall())
        return found


def stored(shop: Shop, name: str) -> set[tuple[Any, ...]]:
    rows = shop.rows(name)
    assert len({row["k"] for row in rows}) == len(rows)
    return {(seconds(row["ts"]), row["k"], row["v"]) for row in rows}


def seconds(moment: datetime) -> int:
    return round(moment.timestamp() - START)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_views_over_update_tables_are_their_queries_whatever_comes(shop: Shop, seed: int) -> None:
    rng = random.Random(seed)
    update_table(shop, "a", "ts, k, v FROM STREAM a_feed WHERE v > -2")
    update_table(shop, "b")
    for name, query in VIEWS.items():
        shop.view(name, query, update_key="k", **({"time_column": "ts"} if name == "with_b" else {}))
    rows: dict[str, list[Row]] = {"a": [], "b": []}
    for number in range(5):
        for feed in rows:
            some = [(rng.randint(0, 9), rng.choice("xyzw"), rng.randint(-3, 3)) for _ in range(rng.randint(1, 4))]
            shop.drop_events(feed, f"{rng.randint(0, 99):02d}-{number}.csv", some)
            rows[feed] += some
        shop.load()
        for name, expected in by_duckdb(rows).items():
            assert stored(shop, name) == expected, (seed, number, name)
        shop.check()


def test_where_a_source_has_several_rows_for_a_key_of_the_view_ties_do_not_hang_on_files(shop: Shop) -> None:
    schema = {"ts": "timestamp", "k": "string", "x": "string", "v": "int"}
    place = {"path": "landing/pairs/*", "format": "csv", "settle": "renamed"}
    shop.warehouse.feed("pairs_feed", schema=schema, time_column="ts", **place)
    shop.warehouse.sql(
        "CREATE STREAMING TABLE pairs TBLPROPERTIES ('update_key'='k, x') AS SELECT * FROM STREAM pairs_feed"
    )
    shop.view("last", "SELECT ts, k, v FROM pairs", update_key="k")
    for number, (x, v) in enumerate([("p", 1), ("q", 3), ("r", 2), ("q", 0)]):
        shop.drop("pairs", f"{number}.csv", f"ts,k,x,v\n2026-01-01T00:00:05Z,a,{x},{v}\n")
        shop.load()
        shop.check()
    assert [row["v"] for row in shop.rows("last")] == [2]


def test_an_older_row_is_superseded_in_every_run(shop: Shop) -> None:
    update_table(shop, query=MEANS.format("quotes"), window="10s")
    shop.drop_events("quotes", "1.csv", [(12, "a", 1), (11, "a", 1), (25, "a", 1)])
    shop.load()
    again = shop.again()
    update_table(again, query=MEANS.format("quotes"), window="10s")
    again.drop_events("quotes", "2.csv", [(13, "a", 1)])
    again.load()
    assert again.rows("quotes__rejects") == []
    assert [row["n"] for row in again.rows("quotes")] == [1]
    again.check()
    again.warehouse.close()


def test_rows_that_are_read_again_after_a_stop_are_counted_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    update_table(shop)
    shop.drop_events("quotes", "1.csv", [(1, "a", 1), (2, "a", 2), (2, "b", 2), (1, "b", 1), (2, "c", 2)])
    with monkeypatch.context() as patched:
        patched.setattr(shop.warehouse.workbench.computer.streams["quotes"]._sizes, "size", lambda _: 1)
        shop.warehouse.run(until=lambda: len(shop.rows("quotes")) == 2)
    again = shop.again()
    update_table(again)
    again.load()
    count = again.counts()["quotes"]
    assert (count.arrived, count.in_table, count.superseded, count.filtered) == (5, 3, 2, 0)
    again.check()
    again.warehouse.close()
