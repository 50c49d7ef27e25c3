"""A file with a column that no table can have is put aside with its name, and the files beside it load."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from freshtide.core.arrivals import ArrivalState
from tests.examples import slow_except
from tests.warehouse.shop import START, Shop

ALIKE = pa.struct([("a", pa.int32()), ("A", pa.int32())])
NAMELESS = pa.struct([("", pa.int32())])
OF_NO_TABLE = {
    "time": (pa.array([1], pa.time64("us")), "is of type time, which Spark has no type for"),
    "times": (pa.array([[1]], pa.list_(pa.time32("ms"))), "is of type time, which Spark has no type for"),
    "half": (pa.array([None], pa.float16()), "is of type float16, which Spark has no type for"),
    "long": (pa.array([None], pa.decimal256(60, 2)), "is of type decimal(60,2), which Spark has no type for"),
    "alike": (pa.array([{"a": 1, "A": 2}], ALIKE), "has fields that differ by case alone: 'a', 'A'"),
    "inside": (pa.array([[{"a": 1, "A": 2}]], pa.list_(ALIKE)), "has fields that differ by case alone: 'a', 'A'"),
    "nameless": (pa.array([{"": 1}], NAMELESS), "has a field without a name"),
    "nothing": (pa.array([{}], pa.struct([])), "has a struct without fields"),
}
WRITERS = {"parquet": pq.write_table, "orc": orc.write_table}
# What a format has no types for at all.
WITHOUT = {"parquet": {"nothing"}, "orc": {"time", "times", "half", "long"}}


def drop(shop: Shop, feed: str, format_: str, number: int, **more: pa.Array) -> None:
    columns = {"ts": pa.array([START * 10**6], pa.timestamp("us", "UTC")), "v": pa.array([number], pa.int32())}
    sink = io.BytesIO()
    WRITERS[format_](pa.table({**columns, **more}), sink)
    shop.drop(feed, f"{number}.{format_}", sink.getvalue())


def declare(shop: Shop, name: str, format_: str, **more: str) -> None:
    place = {"path": f"landing/{name}/*", "format": format_, "settle": "renamed", "on_schema_change": "evolve"}
    schema = {"ts": "timestamp", "v": "int", **more}
    shop.warehouse.feed(f"{name}_feed", schema=schema, time_column="ts", **place)
    shop.warehouse.sql(f"CREATE STREAMING TABLE {name} AS SELECT * FROM STREAM {name}_feed")


def put_aside(shop: Shop, name: str) -> list[str]:
    files = shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.QUARANTINED, feed=f"{name}_feed")
    return [file.reason or "" for file in files]


@pytest.mark.parametrize("format_", slow_except(WRITERS, "parquet"))
def test_a_new_column_that_no_table_can_have_puts_its_file_aside(shop: Shop, format_: str) -> None:
    tried = {name: odd for name, odd in OF_NO_TABLE.items() if name not in WITHOUT[format_]}
    for name, (values, _) in tried.items():
        declare(shop, name, format_)
        drop(shop, name, format_, 0)
        drop(shop, name, format_, 1, x=values)
        drop(shop, name, format_, 2, y=pa.array([1], pa.int32()))
    shop.load()
    for name, (_, reason) in tried.items():
        assert sorted((row["v"], row["y"]) for row in shop.rows(name)) == [(0, None), (2, 1)], name
        (told,) = put_aside(shop, name)
        assert told.startswith(f"Column 'x' {reason}"), told
    shop.check()


@pytest.mark.parametrize("format_", slow_except(WRITERS, "parquet"))
def test_a_declared_column_that_is_of_another_type_in_a_file_puts_it_aside(shop: Shop, format_: str) -> None:
    tried = {name: odd for name, odd in OF_NO_TABLE.items() if name not in WITHOUT[format_]}
    for name, (values, _) in tried.items():
        declare(shop, name, format_, x="string")
        drop(shop, name, format_, 0, x=pa.array(["text"]))
        drop(shop, name, format_, 1, x=values)
    shop.load()
    for name in tried:
        assert [(row["v"], row["x"]) for row in shop.rows(name)] == [(0, "text")], name
        assert len(put_aside(shop, name)) == 1
    shop.check()


@pytest.mark.parametrize("format_", slow_except(WRITERS, "parquet"))
def test_fields_may_have_any_names_that_differ(shop: Shop, format_: str) -> None:
    declare(shop, "t", format_)
    odd = pa.struct([("first name", pa.string()), ("a-b", pa.list_(pa.struct([("1:2", pa.int32())])))])
    value = {"first name": "Zoe", "a-b": [{"1:2": 3}]}
    drop(shop, "t", format_, 0, x=pa.array([value], odd))
    shop.load()
    again = shop.again()
    declare(again, "t", format_)
    again.view("w", "SELECT ts, v, x FROM t")
    drop(again, "t", format_, 1)
    again.load()
    for table in ("t", "w"):
        assert [row["x"] for row in sorted(again.rows(table), key=lambda row: row["v"])] == [value, None]
    again.check()
    again.warehouse.close()


def test_a_column_without_a_name_puts_its_file_aside(shop: Shop) -> None:
    declare(shop, "t", "parquet")
    drop(shop, "t", "parquet", 0, **{"": pa.array([1])})
    drop(shop, "t", "parquet", 1)
    shop.load()
    assert [row["v"] for row in shop.rows("t")] == [1]
    assert put_aside(shop, "t") == [
        "The file has a column without a name. Mend the file, then `freshtide feeds retry`."
    ]
