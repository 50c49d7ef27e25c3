"""Every row of a file is in the table, among the rejects or left out by the query, by whatever way it was read."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshtide import Flow
from freshtide.spark import DataFrame, SparkSession
from tests.examples import slow_except
from tests.warehouse.shop import Shop, stamp

ORDERS = {
    "order_id": "bigint not null",
    "ordered_at": "timestamp",
    "customer": "string",
    "amount": "decimal(10,2)",
}
HEADER = ",".join(ORDERS)
WAYS = ["lines", "files", "large", "group", "flow", "update table"]
_PADDING = 9_000
"""Rows that make a file too large to be handed over as lines."""


def is_good(line: str) -> bool:
    """What a parser of its own says about a line of the feed."""
    fields = next(csv.reader(io.StringIO(line)))
    if len(fields) != len(ORDERS):
        return False
    order_id, ordered_at, _, amount = fields
    try:
        int(order_id)
        datetime.fromisoformat(ordered_at)
        Decimal(amount or "0")
    except (ValueError, InvalidOperation):
        return False
    return True


BAD = [
    f"2001,{stamp(60)},Zoe,12 EUR",
    f"2003,{stamp(120)},Xi,5.00,oops",
    f"2004,{stamp(120)},Xi",
    f",{stamp(130)},Yu,1.00",
    "2006,never,Yu,1.00",
    f"twenty,{stamp(140)},Yu,1.00",
]
GOOD = [f"2002,{stamp(70)},Yan,7.50", f"2007,{stamp(150)},,", f'2008,{stamp(160)},"a, ""b""",1']


class Orders:
    """A warehouse into which orders come by one of the ways."""

    def __init__(self, shop: Shop, way: str, columns: str) -> None:
        self.shop = shop
        self._way = way
        shop.warehouse.feed(
            "orders_feed",
            path="landing/orders/*",
            format="csv",
            schema=ORDERS,
            time_column="ordered_at",
            settle="renamed",
            period="1h",
        )
        said = {
            "group": "TBLPROPERTIES ('update_group'='both')",
            "flow": "TBLPROPERTIES ('flow'='through')",
            "update table": "TBLPROPERTIES ('update_key'='order_id')",
        }
        query = f"SELECT {columns} FROM STREAM orders_feed"
        shop.warehouse.sql(f"CREATE STREAMING TABLE orders {said.get(way, '')} AS {query}")
        if way == "group":
            shop.warehouse.sql(f"CREATE STREAMING TABLE beside {said[way]} AS SELECT * FROM STREAM orders_feed")
        if way == "flow":
            flow = Flow("through")
            flow.read(feed="orders_feed").write(table="orders")
            shop.warehouse.flow(flow)

    def arrive(self, name: str, lines: list[str]) -> None:
        padding = [f"{n},{stamp(200)},somebody,1.00" for n in range(_PADDING if self._way == "files" else 0)]
        self.shop.drop("orders", name, "\n".join([HEADER, *lines, *padding]) + "\n")

    @property
    def padding(self) -> int:
        return _PADDING if self._way == "files" else 0


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def warehouse(tmp_path: Path, spark: SparkSession, way: str) -> Iterator[Shop]:
    made = Shop(tmp_path / "shop", spark, **({"large_update": "1kB"} if way == "large" else {}))
    yield made
    made.warehouse.close()


def test_what_does_not_fit_is_rejected_whatever_a_query_selects(warehouse: Shop, way: str) -> None:
    orders = Orders(warehouse, way, "ordered_at, order_id" if way != "group" else "order_id, ordered_at, amount")
    arrived = expected = 0
    # At first only columns that may be empty are wrong: Spark finds nothing unless it is made to look at them.
    for name, bad in (("1.csv", BAD[:2]), ("2.csv", BAD)):
        lines = [*bad, *GOOD] * (20 if way == "large" else 1)
        orders.arrive(name, lines)
        warehouse.load()
        arrived += len(lines) + orders.padding
        expected += sum(not is_good(line) for line in lines)
        count = warehouse.counts()["orders"]
        assert (count.arrived, count.in_rejects, count.filtered, count.faults) == (arrived, expected, 0, ())
    rejects = {row["content"] for row in warehouse.rows("orders__rejects")}
    # Of a row that could be parsed and lacks a value, only the values are known.
    assert {line for line in BAD if line not in rejects} == {line for line in BAD if line.startswith(",")}
    warehouse.check()


def test_a_row_meets_the_same_end_however_files_are_batched(shop: Shop) -> None:
    orders = Orders(shop, "lines", "*")
    lines = [*BAD, *GOOD]
    for number, line in enumerate(lines):
        orders.arrive(f"together-{number}.csv", [line])
    shop.load()
    together = shop.bag("orders"), Counter(row["content"] for row in shop.rows("orders__rejects"))
    assert (together[0].total(), together[1].total()) == (len(GOOD), len(BAD))
    apart = shop.again()
    orders = Orders(apart, "lines", "*")
    for number, line in enumerate(lines):
        orders.arrive(f"apart-{number}.csv", [line, f"{3000 + number},{stamp(300)},again,1.00"])
        apart.load()
    own = Counter({row: count for row, count in apart.bag("orders").items() if row[0] < 3000})
    assert own == Counter({row: 2 * count for row, count in together[0].items()})
    rejects = Counter(row["content"] for row in apart.rows("orders__rejects"))
    assert rejects == Counter({line: 2 * count for line, count in together[1].items()})
    apart.check()
    apart.warehouse.close()


def events_in_json(shop: Shop, query: str = "SELECT * FROM STREAM f") -> None:
    schema = {"ts": "timestamp", "k": "string", "v": "int"}
    shop.warehouse.feed(
        "f", path="landing/f/*", format="json", schema=schema, time_column="ts", settle="renamed", period="10s"
    )
    shop.warehouse.sql(f"CREATE STREAMING TABLE t AS {query}")


def line(second: int, **values: Any) -> str:
    return json.dumps({"ts": stamp(second), **values})


ARRAY = f"[{line(2, v=2)}, {line(3, v=3)}]"
JSON_REJECTS = {
    line(1, v="many"): "column 'v': 'many' is not a int",
    "{torn": "it is not valid JSON",
    ARRAY: "it is an array, and a line is one object",
    f"[{line(4, v=4)}]": "it is an array, and a line is one object",
    "[]": "it is an array, and a line is one object",
    "5": "it is not an object with a value for each column",
    "null": "it is not an object with a value for each column",
    f"{line(5, v=5)}{line(6, v=6)}": "it is more than one object",
    f"{line(5, v=5)}, {line(6, v=6)}": "it is more than one object",
    f"{line(7, v=7)} trailing": "it is more than one object",
    f"{line(5, v=5)} , {line(6, v=6)}": "it is more than one object",
    f"{line(5, v=[1])},{line(6, v=6)}": "column 'v': '[1]' is not a int",
    f"{line(5, k=[1])},{line(6, v=6)}": "it is more than one object",
    f"{line(5, v=5)}}}": "it is more than one object",
    f"{line(5, v=5)}]": "it is more than one object",
    f"{line(5, v=5)},{line(6, v=6)}]": "it is more than one object",
    f"{line(5, v=5)},42": "it is more than one object",
    """{'k': '"'} , {"k": '"'}""": "it is not valid JSON",
    line(5, k="\ud800"): "it has half of a character",
    line(5, k="\udc00 and \ud83d"): "it has half of a character",
    '{"ts": "never", "v": 8}': "column 'ts': 'never' is not a timestamp",
}


@pytest.mark.parametrize("query", ["SELECT * FROM STREAM f", "SELECT ts FROM STREAM f"])
@pytest.mark.parametrize("large", slow_except([False, True], False))
def test_a_line_of_json_is_one_record_or_rejected(tmp_path: Path, spark: SparkSession, large: bool, query: str) -> None:
    shop = Shop(tmp_path / "shop", spark, **({"large_update": "1kB"} if large else {}))
    events_in_json(shop, query)
    good = [line(9, k="x", v=9), "", line(10, k="in } a text {, and [", v=None), "  ", line(11) + " "]
    good += [line(12, k="\U0001f600 it's {\\ud800}"), line(13, k={"a": [1, {"b": 2}]}), line(14) + ","]
    shop.drop("f", "1.json", "\n".join([*JSON_REJECTS, *good] * (8 if large else 1)) + "\n")
    shop.load()
    times = 8 if large else 1
    assert Counter(row["ts"].second for row in shop.rows("t")) == dict.fromkeys(range(9, 15), times)
    told = {row["content"]: row["reason"] for row in shop.rows("t__rejects")}
    assert told == JSON_REJECTS
    count = shop.counts()["t"]
    assert (count.arrived, count.in_rejects, count.filtered) == (
        times * (len(JSON_REJECTS) + 6),
        times * len(JSON_REJECTS),
        0,
    )
    shop.check()
    shop.warehouse.close()


def test_files_that_are_read_line_by_line_load_beside_files_that_are_not(shop: Shop) -> None:
    events_in_json(shop, "SELECT * FROM STREAM f")
    shop.drop("f", "1.json", line(1, v=1) + "\n" + '{"ts": ' + "\n")
    shop.drop("f", "2.json", line(2, v=2) + "\n")
    shop.load()
    assert sorted(row["v"] for row in shop.rows("t")) == [1, 2]
    assert [row["content"] for row in shop.rows("t__rejects")] == ['{"ts": ']
    shop.check()


@pytest.mark.parametrize(
    "bad",
    [
        line(1, v="many"),
        ARRAY,
        "[]",
        f"{line(5, v=5)} , {line(6, v=6)}",
        f"{line(5, k=[1])},{line(6, v=6)}",
        f"{line(5, v=5)}}}",
        f"{line(5, v=5)},{line(6, v=6)}]",
        f"{line(5, v=5)},42",
        line(5, k="\ud800"),
    ],
)
def test_one_bad_line_of_json_is_found_among_good_ones(shop: Shop, bad: str) -> None:
    events_in_json(shop)
    shop.drop("f", "1.json", f"{line(1, v=1)}\n{bad}\n")
    shop.load()
    assert [row["v"] for row in shop.rows("t")] == [1]
    assert [row["content"] for row in shop.rows("t__rejects")] == [bad]
    shop.check()


def test_numbers_that_are_kept_as_text_stay_as_they_were_written(shop: Shop) -> None:
    events_in_json(shop)
    shop.drop("f", "1.json", f'{{"ts": "{stamp(1)}", "k": 1.10}}\n')
    shop.load()
    assert [row["k"] for row in shop.rows("t")] == ["1.10"]


def test_parquet_rows_without_a_value_that_is_needed_are_rejected(shop: Shop) -> None:
    schema = {"ts": "timestamp", "k": "string not null", "v": "int"}
    shop.warehouse.feed(
        "f", path="landing/f/*", format="parquet", schema=schema, time_column="ts", settle="renamed", period="10s"
    )
    shop.warehouse.sql("CREATE STREAMING TABLE t AS SELECT ts, v FROM STREAM f")
    moments = [datetime.fromisoformat(stamp(second)) for second in range(4)]
    rows = pa.table(
        {
            "ts": pa.array([moments[0], moments[1], None, moments[3]], pa.timestamp("us", "UTC")),
            "k": ["a", None, "c", "d"],
            "v": pa.array([1, 2, 3, None], pa.int32()),
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    shop.drop("f", "1.parquet", sink.getvalue().to_pybytes())
    shop.load()
    assert sorted(row["ts"].second for row in shop.rows("t")) == [0, 3]
    assert {row["reason"] for row in shop.rows("t__rejects")} == {"column 'k' is empty", "column 'ts' is empty"}
    shop.check()


def test_a_function_that_makes_two_rows_of_one_hides_no_reject(shop: Shop) -> None:
    shop.events("unused")
    shop.warehouse.feed(
        "f",
        path="landing/f/*",
        format="csv",
        schema={"ts": "timestamp", "k": "string", "v": "int"},
        time_column="ts",
        settle="renamed",
    )

    @shop.warehouse.table(feed="f", name="t")
    def t(f: DataFrame) -> DataFrame:
        return f.selectExpr("ts", "explode(split(k, ';')) AS k", "v")

    shop.drop("f", "1.csv", f"ts,k,v\n{stamp(1)},a;b,1\n{stamp(2)},c,not a number\n")
    shop.load()
    assert sorted(row["k"] for row in shop.rows("t")) == ["a", "b"]
    assert [row["reason"] for row in shop.rows("t__rejects")] == ["column 'v': 'not a number' is not a int"]
    count = shop.counts()["t"]
    assert (count.arrived, count.read, count.in_table, count.in_rejects) == (2, 2, 2, 1)
    assert (count.filtered, count.multiplied, count.faults) == (0, 1, ())
    shop.check()


def test_a_function_that_looks_at_few_rows_only_does_not_spoil_the_counts(shop: Shop) -> None:
    shop.events("unused")
    schema = {"ts": "timestamp", "k": "string", "v": "int"}
    shop.warehouse.feed("f", path="landing/f/*", format="csv", schema=schema, time_column="ts", settle="renamed")

    @shop.warehouse.table(feed="f", name="t")
    def t(f: DataFrame) -> DataFrame:
        f.limit(1).collect()
        return f.limit(2)

    shop.drop("f", "1.csv", "ts,k,v\n" + "".join(f"{stamp(n)},x,{n if n % 3 else 'bad'}\n" for n in range(30)))
    shop.load()
    count = shop.counts()["t"]
    assert (count.read, count.in_table, count.in_rejects, count.filtered) == (30, 2, 10, 18)
    assert count.faults == ()
