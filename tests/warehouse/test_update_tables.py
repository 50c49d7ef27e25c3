"""Update tables: only the newest row of each key counts."""

from __future__ import annotations

from tests.warehouse.shop import Shop, stamp
from tests.warehouse.test_loading import moment


def update_table(shop: Shop, name: str = "quotes", query: str = "*", **properties: str) -> None:
    """Declare a feed of CSV events in landing/<name>/ and an update table of them by `k`."""
    schema = {"ts": "timestamp", "k": "string", "v": "int"}
    shop.warehouse.feed(
        f"{name}_feed", path=f"landing/{name}/*", format="csv", schema=schema, time_column="ts", settle="renamed"
    )
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
    assert len(rejects) == 3
    assert set(rejects.values()) == {str(path)}
    assert any("before 2026-01-01T00:00:05Z" in reason for reason in rejects)
    assert any("key" in reason and "before" not in reason for reason in rejects)
    shop.check()


def test_append_tables_latest_views_and_full_views_live_beside_update_tables(shop: Shop) -> None:
    update_table(shop)
    shop.events("trades")
    shop.view("dear", "SELECT ts, k, v FROM quotes WHERE v > 10", update_key="k")
    shop.view("total", "SELECT count(*) AS n, sum(v) AS v FROM quotes")
    shop.view("valued", "SELECT t.ts, t.k, t.v * q.v AS worth FROM trades t JOIN quotes q ON t.k = q.k")
    for turn in range(3):
        shop.drop_events("quotes", f"{turn}.csv", [(10 * turn + 1, "a", 10 + turn), (10 * turn + 1, "b", 11 - turn)])
        shop.drop_events("trades", f"{turn}.csv", [(10 * turn + 1, "a", 1)])
        shop.load()
        shop.check()
    assert newest(shop) == {"a": 12, "b": 9}
    assert newest(shop, "dear") == {"a": 12}
    assert [(row["n"], row["v"]) for row in shop.rows("total")] == [(2, 21)]
    assert sorted(row["worth"] for row in shop.rows("valued")) == [12, 12, 12]
    assert shop.maintenance("dear") == "latest"
    assert shop.maintenance("total") == "full"
    assert moment(21) in {row["ts"] for row in shop.rows("trades")}
