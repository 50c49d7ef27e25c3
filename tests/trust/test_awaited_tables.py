"""A flow that reads a table which has no data yet waits for it, and is not given up."""

from __future__ import annotations

from typing import Any

from freshtide import Flow
from freshtide.observe import explain
from tests.warehouse.shop import EVENTS, Shop


def declare(shop: Shop) -> None:
    """`a_sales` joins what the load of `prices` leaves beside it; it comes first by name, and by its target lag."""
    given: dict[str, Any] = {"format": "csv", "schema": EVENTS, "time_column": "ts", "settle": "renamed"}
    for name in ("a_sales", "prices"):
        shop.warehouse.feed(f"{name}_feed", path=f"landing/{name}/*", **given)
        shop.warehouse.sql(
            f"CREATE STREAMING TABLE {name} TBLPROPERTIES ('flow'='{name}_flow') AS SELECT * FROM STREAM {name}_feed"
        )
    prices = Flow("prices_flow")
    arrived = prices.read(feed="prices_feed")
    arrived.write(table="prices")
    arrived.only("k", price="v").write(table="price_list")
    shop.warehouse.flow(prices)
    sales = Flow("a_sales_flow")
    listed = sales.read(table="price_list")
    sales.read(feed="a_sales_feed").join(listed, on="k").write(table="a_sales")
    shop.warehouse.flow(sales)


def test_a_flow_waits_for_the_table_of_another_and_goes_on_when_that_is_there(shop: Shop) -> None:
    declare(shop)
    shop.drop_events("a_sales", "1.csv", [(1, "a", 1), (2, "a", 2)])
    shop.load()
    assert shop.rows("a_sales") == []
    bench = shop.warehouse.workbench
    told = " ".join(explain(shop.warehouse.project, bench.catalog, "a_sales", bench.clock.now()).sentences)
    assert "its flow 'a_sales_flow' reads the table 'price_list', which has no data yet" in told
    assert bench.catalog.tables.get("a_sales").failures == 0

    shop.drop_events("prices", "1.csv", [(0, "a", 7)])
    shop.drop_events("a_sales", "2.csv", [(3, "a", 3)])
    shop.load()
    assert sorted((row["v"], row["price"]) for row in shop.rows("a_sales")) == [(1, 7), (2, 7), (3, 7)]
    shop.check()


def test_the_first_start_loads_both_whoever_comes_first(shop: Shop) -> None:
    declare(shop)
    shop.drop_events("a_sales", "1.csv", [(1, "a", 1)])
    shop.drop_events("prices", "1.csv", [(0, "a", 7)])
    shop.load()
    assert [(row["v"], row["price"]) for row in shop.rows("a_sales")] == [(1, 7)]
    assert len(shop.rows("prices")) == 1
    shop.check()
