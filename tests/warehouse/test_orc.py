"""ORC files in, tables out; what goes in is written by pyarrow, and so is what should come out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import orc

from freshtide.core.arrivals import Arrival, ArrivalState
from tests.warehouse.shop import Shop

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(second: int) -> datetime:
    return NOON.replace(second=second)


def table(
    rows: list[tuple[int | None, str | None, Any]], *, v: pa.DataType | None = None, **more: pa.Array
) -> pa.Table:
    times = [None if second is None else at(second) for second, _, _ in rows]
    columns = {
        "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        "k": pa.array([key for _, key, _ in rows], pa.string()),
        "v": pa.array([value for _, _, value in rows], v or pa.int32()),
    }
    return pa.table(columns | more)


def as_orc(rows: pa.Table, **how: Any) -> bytes:
    sink = pa.BufferOutputStream()
    orc.write_table(rows, sink, **how)
    return bytes(sink.getvalue().to_pybytes())


def quarantined(shop: Shop) -> list[Arrival]:
    return shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.QUARANTINED)


def test_orc_files_become_rows_whatever_they_are_packed_with(shop: Shop) -> None:
    shop.events("a", format="orc")
    rows = [(1, "x", 1), (2, None, 2), (3, "y", None)]
    for number, packing in enumerate(("uncompressed", "snappy", "zstd", "zlib")):
        shop.drop(
            "a",
            f"{number}.orc",
            as_orc(table([(second + 10 * number, k, v) for second, k, v in rows]), compression=packing),
        )
    shop.load()
    expected = {(at(second + 10 * number), k, v) for number in range(4) for second, k, v in rows}
    assert set(shop.bag("a")) == expected
    assert shop.freshness("a") == 12 * 3600 + 33
    shop.check()


def test_rows_that_do_not_fit_are_rejected_with_the_column_named(shop: Shop) -> None:
    shop.events("a", format="orc", schema={"ts": "timestamp", "k": "string not null", "v": "int"})
    texts = [(1, "x", "1"), (2, None, "2"), (3, "y", "many"), (None, "z", "4")]
    shop.drop("a", "texts.orc", as_orc(table(texts, v=pa.string())))
    shop.drop("a", "large.orc", as_orc(table([(4, "x", 2**31), (5, "x", 5)], v=pa.int64())))
    shop.drop("a", "halves.orc", as_orc(table([(6, "x", 0.5), (7, "x", 7.0)], v=pa.float64())))
    shop.load()
    assert {row["v"] for row in shop.rows("a")} == {1, 5, 7}
    assert shop.counts()["a"].in_rejects == 5
    assert sorted(row["reason"] for row in shop.rows("a__rejects")) == [
        "column 'k' is empty",
        "column 'ts' is empty",
        "column 'v': '0.5' is not a int",
        "column 'v': '2147483648' is not a int",
        "column 'v': 'many' is not a int",
    ]
    shop.check()


def test_what_comes_too_late_is_kept_aside(shop: Shop) -> None:
    shop.events("a", format="orc", lateness="5s")
    shop.drop("a", "1.orc", as_orc(table([(30, "x", 1)])))
    shop.load()
    shop.drop("a", "2.orc", as_orc(table([(10, "late", 2), (40, "y", 3)])))
    shop.load()
    assert {row["k"] for row in shop.rows("a")} == {"x", "y"}
    assert [row["k"] for row in shop.rows("a__late")] == ["late"]
    shop.check()


def test_columns_that_files_gain_come_into_the_table_with_their_types(shop: Shop) -> None:
    shop.events("a", format="orc", on_schema_change="evolve")
    shop.drop("a", "1.orc", as_orc(table([(1, "x", 1)])))
    shop.load()
    gained = {
        "price": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
        "day": pa.array([date(2026, 1, 2)]),
        "local": pa.array([datetime(2026, 3, 29, 2, 30)], pa.timestamp("us")),
        "tags": pa.array([["a", None]], pa.list_(pa.string())),
    }
    shop.drop("a", "2.orc", as_orc(table([(2, "y", 2)], **gained)))
    shop.drop("a", "3.orc", as_orc(table([(3, "z", 3)]).drop_columns("v")))
    shop.load()
    found = {row["k"]: row for row in shop.rows("a")}
    assert (found["x"]["price"], found["z"]["v"]) == (None, None)
    assert (found["y"]["price"], found["y"]["day"]) == (Decimal("1.50"), date(2026, 1, 2))
    assert found["y"]["local"] == datetime(2026, 3, 29, 2, 30, tzinfo=UTC), "a time without a zone is UTC"
    assert found["y"]["tags"] == ["a", None]
    shop.check()


def test_values_inside_of_values_come_through(shop: Shop) -> None:
    schema = {"ts": "timestamp", "s": "struct<n: bigint, at: timestamp>", "m": "map<string, double>"}
    shop.events("a", format="orc", schema=schema)
    rows = pa.table(
        {
            "ts": pa.array([at(1)], pa.timestamp("us", tz="UTC")),
            "s": pa.array(
                [{"n": 7, "at": datetime(2026, 1, 1)}], pa.struct([("n", pa.int32()), ("at", pa.timestamp("us"))])
            ),
            "m": pa.array([[("a", 0.5)]], pa.map_(pa.string(), pa.float32())),
        }
    )
    shop.drop("a", "1.orc", as_orc(rows))
    shop.load()
    (row,) = shop.rows("a")
    assert row["s"] == {"n": 7, "at": datetime(2026, 1, 1, tzinfo=UTC)}
    assert row["m"] == {"a": 0.5}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"ts,k,v\n", "does not start with ORC"),
        (as_orc(table([(1, "x", 1)]))[:-10], "footer is missing"),
        (as_orc(table([(1, "x", 1)])).replace(b"ORC", b"ORC\0", 1)[:-20] + b"ORC\x19", "not readable as ORC"),
    ],
)
def test_a_file_that_is_no_whole_orc_file_is_quarantined_and_the_others_load(
    shop: Shop, content: bytes, words: str
) -> None:
    shop.events("a", format="orc")
    shop.drop("a", "bad.orc", content)
    shop.drop("a", "good.orc", as_orc(table([(1, "x", 1)])))
    shop.load()
    (held,) = quarantined(shop)
    assert held.position.endswith("bad.orc")
    assert words in (held.reason or "")
    assert len(shop.rows("a")) == 1


def test_a_column_that_could_never_fit_keeps_its_file_out(shop: Shop) -> None:
    shop.events("a", format="orc")
    shop.drop("a", "1.orc", as_orc(table([(1, "x", [1])], v=pa.list_(pa.int32()))))
    shop.drop("a", "2.orc", as_orc(table([(2, "y", 2)])))
    shop.load()
    (held,) = quarantined(shop)
    assert (held.reason or "").startswith(
        "Column 'v' is of type array<int> in the file, and feed 'a_feed' declares int."
    )
    assert [row["k"] for row in shop.rows("a")] == ["y"]


def test_what_spark_reads_is_what_polars_reads(shop: Shop) -> None:
    shop.events("a", format="orc", time_format="epoch_millis", schema={"ts": "bigint", "k": "string", "v": "int"})
    moments = [1_767_268_800_000 + 1_000 * number for number in range(5_000)]
    rows = pa.table(
        {"ts": moments, "k": [f"k{n % 7}" for n in moments], "v": pa.array([n % 997 for n in moments], pa.int32())}
    )
    shop.drop("a", "1.orc", as_orc(rows, stripe_size=16_384))
    shop.load()
    written = pl.from_arrow(rows)
    assert isinstance(written, pl.DataFrame)
    loaded = pl.DataFrame(shop.rows("a"))
    assert loaded["v"].sum() == written["v"].sum()
    assert loaded["ts"].dt.epoch("ms").sort().to_list() == moments
    shop.check()
