"""What asks for the time, or draws at random, is the same in all targets of a flow that are committed together."""

from __future__ import annotations

import pytest

from freshtide import Flow
from freshtide.spark.flows.moments import Moment
from tests.examples import slow_except
from tests.spark.flows.conftest import bench
from tests.spark.flows.flowbench import FlowBench
from tests.warehouse.shop import Shop

__all__ = ["bench"]


@pytest.mark.parametrize("policy", slow_except(["mixed", "round-robin"], "mixed"))
def test_all_targets_and_packs_of_a_flow_bear_one_moment(bench: FlowBench, policy: str) -> None:
    flow = Flow("flow")
    rows = flow.read(files="rows.parquet")
    rows.expression(at="current_timestamp()", day="current_date").write(table="first")
    sorted_ = rows.sort("n").expression(at="now()", day="curdate()", drawn="uuid()")
    sorted_.write(table="second")
    sorted_.filter("at <= CURRENT_TIMESTAMP").aggregate(by=["n", "drawn"], at="max(current_timestamp)").write(
        table="third"
    )
    bench.put("rows", {"n": list(range(40))})
    bench.run(flow.graph(), policy=policy, pack_rows=10)
    tables = {name: bench.frame(name) for name in ("first", "second", "third")}
    assert {at for frame in tables.values() for at in frame["at"]} == {tables["first"]["at"][0]}
    assert {day for name in ("first", "second") for day in tables[name]["day"]} == {tables["first"]["at"][0].date()}
    assert dict(tables["second"].select("n", "drawn").rows()) == dict(tables["third"].select("n", "drawn").rows())


def test_a_table_that_asks_for_the_time_gives_its_flow_one(shop: Shop) -> None:
    flow = Flow("stamped")
    arrived = flow.read(feed="sales_feed")
    arrived.write(table="sales")
    arrived.apply(lambda rows: rows.selectExpr("*", "current_timestamp() AS later")).write(table="copies")
    arrived.write(table="others")
    shop.warehouse.feed(
        "sales_feed",
        path="landing/sales/*",
        format="csv",
        schema={"ts": "timestamp", "k": "string", "v": "int"},
        time_column="ts",
        settle="renamed",
    )
    shop.warehouse.sql(
        "CREATE STREAMING TABLE sales TBLPROPERTIES ('flow'='stamped') "
        "AS SELECT *, current_timestamp() AS at, uuid() AS id FROM STREAM sales_feed"
    )
    shop.warehouse.flow(flow)
    shop.drop_events("sales", "1.csv", [(second, "a", second) for second in range(20)])
    shop.load()
    stamped = {name: {(row["ts"], row["at"], row["id"]) for row in shop.rows(name)} for name in ("sales", "copies")}
    assert stamped["sales"] == stamped["copies"]
    assert len({at for _, at, _ in stamped["sales"]}) == 1
    assert stamped["sales"] == {(row["ts"], row["at"], row["id"]) for row in shop.rows("others")}


def test_only_what_asks_for_the_time_is_replaced() -> None:
    moment = Moment(1.5)
    now = "timestamp_micros(1500000L)"
    assert (
        moment.in_text("CURRENT_TIMESTAMP( ) > t.now AND x = 'now()' -- now()")
        == f"{now} > t.now AND x = 'now()' -- now()"
    )
    assert moment.in_text("now + `current_date`") == "now + `current_date`"
    assert moment.in_text("current_date + 1", columns={"current_date"}) == "current_date + 1"
    assert moment.in_text("current_date() + 1", columns={"current_date"}) == f"CAST({now} AS DATE) + 1"
    assert moment.in_text("unix_timestamp(ts) - unix_timestamp()") == f"unix_timestamp(ts) - unix_timestamp({now})"
    assert moment.in_text("my_now() + now()") == f"my_now() + {now}"
