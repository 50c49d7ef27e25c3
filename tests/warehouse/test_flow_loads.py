"""A table that is loaded by a flow: files in, all targets out, together and exactly once."""

from __future__ import annotations

from collections import Counter


from freshtide import Flow
from tests.warehouse.shop import EVENTS, Shop


def priced(*, risky: bool = False) -> Flow:
    """Rows with a price go on with a tax, the others are kept apart; keys are counted per update."""
    flow = Flow("priced")
    arrived = flow.read(feed="sales_feed", name="arrived")
    complete = arrived.not_null("v", name="complete")
    tax = "CAST(raise_error('too dear') AS INT)" if risky else "v * 10"
    taxed = complete.expression({"tax": f"CASE WHEN v < 900 THEN v * 10 ELSE {tax} END"}, name="taxed")
    taxed.write(table="sales")
    complete.quarantine.write(table="unpriced")
    taxed.aggregate(by="k", n="count(*)").write(files="out/keys")
    return flow


def declare(shop: Shop, flow: Flow, **settings: str) -> None:
    given = {"path": "landing/sales/*", "format": "csv", "schema": EVENTS, "time_column": "ts", "settle": "renamed"}
    shop.warehouse.feed("sales_feed", **{**given, "period": "10s", **settings})
    shop.warehouse.sql(
        f"CREATE STREAMING TABLE sales TBLPROPERTIES ('flow'='{flow.name}') AS SELECT * FROM STREAM sales_feed"
    )
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, sum(tax) AS tax FROM sales GROUP BY 1")
    shop.warehouse.flow(flow)


def keyed(shop: Shop, table: str) -> Counter[str]:
    return Counter(row["k"] for row in shop.rows(table))


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
    assert keyed(shop, "sales") == {"a": 1, "c": 1, "d": 1, "f": 1}
    assert keyed(shop, "unpriced") == {"b": 1, "e": 1}
    assert len(shop.rows("sales__rejects")) == 1
    assert keyed(shop, "sales__late") == {"late": 1}
    assert shop.freshness("sales") == 80
    written = shop.warehouse.workbench.states().session.read.parquet(str(shop.root / "out" / "keys"))
    assert Counter(row["k"] for row in written.collect()) == {"a": 1, "c": 1, "d": 1, "f": 1}
    count = shop.counts()["sales"]
    assert (count.arrived, count.in_table, count.diverted, count.filtered) == (8, 4, 2, 0)
    shop.check()
