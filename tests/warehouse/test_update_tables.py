"""Update tables: only the newest row of each key counts."""

from __future__ import annotations

from datetime import datetime

from tests.warehouse.shop import EVENTS, Shop, stamp
from tests.warehouse.test_loading import moment


def update_table(shop: Shop, name: str = "quotes", query: str = "*", **properties: str) -> None:
    """Declare a feed of CSV events in landing/<name>/, which may repeat itself, and an update table of them by `k`."""
    place = {"path": f"landing/{name}/*", "format": "csv", "settle": "renamed", "duplicates": "load"}
    shop.warehouse.feed(f"{name}_feed", schema=EVENTS, time_column="ts", **place)
    listed = ", ".join(f"'{key}'='{value}'" for key, value in {"update_key": "k", **properties}.items())
    rest = "" if "FROM" in query else f" FROM STREAM {name}_feed"
    shop.warehouse.sql(f"CREATE STREAMING TABLE {name} TBLPROPERTIES ({listed}) AS SELECT {query}{rest}")


def newest(shop: Shop, table: str = "quotes") -> dict[str, int]:
    rows = shop.rows(table)
    found = {row["k"]: row["v"] for row in rows}
    assert len(found) == len(rows)
    return found


def test_the_newest_row_of_each_key_is_in_the_table(shop: Shop) -> None:
    update_table(shop)
    shop.drop_events("quotes", "1.csv", [(1, "a", 10), (1, "b", 20), (2, "a", 11)])
    shop.load()
    assert newest(shop) == {"a": 11, "b": 20}
    shop.drop_events("quotes", "2.csv", [(3, "a", 12), (4, "c", 30)])
    shop.drop_events("quotes", "3.csv", [(5, "c", 31)])
    shop.load()
    assert newest(shop) == {"a": 12, "b": 20, "c": 31}
    count = shop.counts()["quotes"]
    assert (count.arrived, count.in_table, count.superseded) == (6, 3, 3)
    shop.check()


def test_what_cannot_supersede_anything_is_kept_aside_with_its_reason(shop: Shop) -> None:
    update_table(shop)
    rows = f"ts,k,v\n{stamp(5)},a,1\n{stamp(4)},a,2\n{stamp(6)},,3\nnever,b,4\n{stamp(7)},b,5\n"
    path = shop.drop("quotes", "1.csv", rows)
    shop.load()
    assert newest(shop) == {"a": 1, "b": 5}
    rejects = {row["reason"]: row["file"] for row in shop.rows("quotes__rejects")}
    assert len(rejects) == 2
    assert set(rejects.values()) == {str(path)}
    assert any("key" in reason for reason in rejects)
    # The older row of 'a' is no reject: it is superseded, like any row of a key but the newest.
    assert shop.counts()["quotes"].superseded == 1
    shop.check()


def test_append_tables_latest_views_and_full_views_live_beside_update_tables(shop: Shop) -> None:
    update_table(shop)
    shop.events("trades")
    shop.view("dear", "SELECT ts, k, v FROM quotes WHERE v > 10", update_key="k")
    shop.view("total", "SELECT count(*) AS n, sum(v) AS v FROM quotes")
    shop.view("valued", "SELECT t.ts, t.k, t.v * q.v AS worth FROM trades t JOIN quotes q ON t.k = q.k")
    for turn in range(2):
        shop.drop_events("quotes", f"{turn}.csv", [(10 * turn + 1, "a", 11 + turn), (10 * turn + 1, "b", 11 - turn)])
        shop.drop_events("trades", f"{turn}.csv", [(10 * turn + 1, "a", 1)])
        shop.load()
        shop.check()
    assert newest(shop) == {"a": 12, "b": 10}
    assert newest(shop, "dear") == {"a": 12}
    assert [(row["n"], row["v"]) for row in shop.rows("total")] == [(2, 22)]
    assert sorted(row["worth"] for row in shop.rows("valued")) == [12, 12]
    assert shop.maintenance("dear") == "latest"
    assert shop.maintenance("total") == "full"
    assert moment(11) in {row["ts"] for row in shop.rows("trades")}


MEANS = (
    "k, window_start, window_end, count(*) AS n, sum(v) AS v FROM STREAM {}_feed GROUP BY k, window_start, window_end"
)


def test_an_aggregate_is_over_exactly_the_rows_of_its_window(shop: Shop) -> None:
    update_table(shop, query=MEANS.format("quotes"), window="10s")
    shop.drop_events("quotes", "1.csv", [(1, "a", 1), (4, "a", 2), (12, "a", 4), (3, "b", 1)])
    shop.load()
    assert [(row["k"], row["window_start"], row["n"], row["v"]) for row in shop.rows("quotes")] == [
        ("a", moment(0), 2, 3)
    ]
    # The windows that are not complete yet survive a restart, because their file is read again.
    later = shop.again()
    update_table(later, query=MEANS.format("quotes"), window="10s")
    later.drop_events("quotes", "2.csv", [(15, "a", 8), (21, "a", 16), (11, "b", 1)])
    later.load()
    rows = {(row["k"], row["window_start"]): (row["n"], row["v"]) for row in later.rows("quotes")}
    assert rows == {("a", moment(0)): (2, 3), ("a", moment(10)): (2, 12), ("b", moment(0)): (1, 1)}
    later.check()


def test_of_several_complete_windows_of_a_key_the_youngest_is_served(shop: Shop) -> None:
    update_table(shop, query=MEANS.format("quotes"), window="10s", slide="5s", key_order="fifo")
    shop.drop_events("quotes", "1.csv", [(second, "a", 1) for second in range(0, 31)])
    shop.load()
    assert {start: rows for start, (rows, _) in windows(shop).items()} == {moment(20): 10}


def test_eager_windows_are_taken_up_when_they_begin_and_served_when_they_are_complete(shop: Shop) -> None:
    update_table(shop, query=MEANS.format("quotes"), window="10s", windows="eager")
    # The second file completes the window that was taken up with the first one, and so on. In the last one three
    # windows begin, and the youngest supersedes the others.
    files = [
        [(1, "a", 1), (4, "a", 2)],
        [(8, "a", 4), (12, "a", 8)],
        [(15, "a", 16), (21, "a", 32)],
        [(29, "a", 64), (31, "a", 128), (42, "a", 256), (53, "a", 512)],
    ]
    served = {moment(0): (3, 7), moment(10): (2, 24), moment(20): (2, 96)}
    taken_in: set[int | None] = set()

    def until() -> bool:
        """Drop a file when the one before it has been taken in."""
        stream = shop.warehouse.workbench.catalog.streams.all().get("quotes")
        newest_file = stream.taken_in if stream else None
        if newest_file not in taken_in and len(taken_in) < len(files):
            shop.drop_events("quotes", f"{len(taken_in)}.csv", files[len(taken_in)])
            taken_in.add(newest_file)
        return windows(shop) == served

    shop.warehouse.run(until=until)
    assert windows(shop) == served


def windows(shop: Shop) -> dict[datetime, tuple[int, int]]:
    """What the windows of one key come to, by when they begin."""
    return {row["window_start"]: (row["n"], row["v"]) for row in shop.rows("quotes")}


def test_a_view_of_windows_shows_the_last_one_of_each_key(shop: Shop) -> None:
    update_table(shop, query=MEANS.format("quotes"), window="10s")
    shop.view("last", "SELECT k, window_end, v FROM quotes", update_key="k")
    for turn in range(3):
        shop.drop_events("quotes", f"{turn}.csv", [(10 * turn, "a", turn), (10 * turn, "b", turn)])
        shop.load()
        shop.check()
    assert len(shop.rows("quotes")) == 4
    assert {(row["k"], row["window_end"]): row["v"] for row in shop.rows("last")} == {
        ("a", moment(20)): 1,
        ("b", moment(20)): 1,
    }


def test_keys_of_several_columns_and_nested_values_come_through_unchanged(shop: Shop) -> None:
    schema = {
        "ts": "timestamp",
        "a": "string",
        "b": "int",
        "tags": "map<string,int>",
        "at": "struct<x:double,y:double>",
    }
    shop.warehouse.feed(
        "moves_feed", path="landing/moves/*", format="json", schema=schema, time_column="ts", settle="renamed"
    )
    shop.warehouse.sql(
        "CREATE STREAMING TABLE moves TBLPROPERTIES ('update_key'='a, b') AS "
        "SELECT ts, a, b, tags['n'] AS n, at FROM STREAM moves_feed"
    )
    lines = [
        f'{{"ts": "{stamp(second)}", "a": "{a}", "b": {b}, "tags": {{"n": {second}}}, "at": {{"x": {second}.5}}}}'
        for second, a, b in ((1, "x", 1), (2, "x", 2), (3, "y", 1), (4, "x", 1))
    ]
    shop.drop("moves", "1.json", "\n".join(lines))
    shop.load()
    rows = {(row["a"], row["b"]): (row["n"], row["at"]) for row in shop.rows("moves")}
    assert rows == {
        ("x", 1): (4, {"x": 4.5, "y": None}),
        ("x", 2): (2, {"x": 2.5, "y": None}),
        ("y", 1): (3, {"x": 3.5, "y": None}),
    }


def test_columns_that_a_feed_gains_come_into_the_table(shop: Shop) -> None:
    shop.warehouse.feed(
        "quotes_feed",
        path="landing/quotes/*",
        format="csv",
        schema=EVENTS,
        time_column="ts",
        settle="renamed",
        on_schema_change="evolve",
    )
    shop.warehouse.sql(
        "CREATE STREAMING TABLE quotes TBLPROPERTIES ('update_key'='k') AS SELECT * FROM STREAM quotes_feed"
    )
    shop.drop_events("quotes", "1.csv", [(1, "a", 1), (1, "b", 1)])
    shop.load()
    shop.drop("quotes", "2.csv", f"ts,k,v,venue\n{stamp(2)},a,2,X\n")
    shop.load()
    assert {row["k"]: (row["v"], row["venue"]) for row in shop.rows("quotes")} == {"a": (2, "X"), "b": (1, None)}


def test_a_pause_lets_a_single_pass_end_with_rows_that_wait(shop: Shop) -> None:
    update_table(shop)
    shop.drop_events("quotes", "1.csv", [(1, "a", 1)])
    shop.load()
    shop.warehouse.pause("quotes")
    shop.drop_events("quotes", "2.csv", [(2, "a", 2)])
    shop.load()
    assert newest(shop) == {"a": 1}
    shop.warehouse.resume("quotes")
    shop.load()
    assert newest(shop) == {"a": 2}
