"""Avro files in, tables out; what goes in is written by fastavro, and what comes out read by polars."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import polars as pl
import pytest

from freshtide.core.arrivals import Arrival, ArrivalState
from tests.warehouse.shop import Shop

fastavro = pytest.importorskip("fastavro")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
INSTANT = {"type": "long", "logicalType": "timestamp-micros"}


def at(second: int) -> datetime:
    return NOON.replace(second=second)


def as_avro(rows: list[dict[str, Any]], codec: str = "null", interval: int = 16_000, **types: Any) -> bytes:
    """Rows of the given types, any of which may be missing."""
    named = {"ts": INSTANT, "k": "string", "v": "int"} | types
    fields = [
        {"name": name, "type": type_ if isinstance(type_, list) else ["null", type_]} for name, type_ in named.items()
    ]
    sink = BytesIO()
    schema = {"type": "record", "name": "row", "fields": [field for field in fields if field["type"] != ["null", None]]}
    fastavro.writer(sink, schema, rows, codec=codec, sync_interval=interval)
    return sink.getvalue()


def row(second: int | None, key: str | None = "x", value: Any = 1, **more: Any) -> dict[str, Any]:
    return {"ts": None if second is None else at(second), "k": key, "v": value, **more}


def quarantined(shop: Shop) -> list[Arrival]:
    return shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.QUARANTINED)


def test_avro_files_become_rows_whatever_they_are_packed_with(shop: Shop) -> None:
    shop.events("a", format="avro")
    for number, codec in enumerate(("null", "deflate", "bzip2", "xz")):
        shop.drop("a", f"{number}.avro", as_avro([row(10 * number, "x", 1), row(10 * number + 3, None, None)], codec))
    shop.load()
    expected = {
        (at(10 * number + second), key, value)
        for number in range(4)
        for second, key, value in ((0, "x", 1), (3, None, None))
    }
    assert set(shop.bag("a")) == expected
    assert shop.freshness("a") == 12 * 3600 + 33
    shop.check()


def test_what_polars_packs_with_snappy_is_read(shop: Shop) -> None:
    shop.events("a", format="avro")
    rows = pl.DataFrame({"ts": [at(second % 60) for second in range(9_000)], "k": ["x"] * 9_000, "v": range(9_000)})
    sink = BytesIO()
    local = pl.col("ts").dt.replace_time_zone(None)
    rows.with_columns(local, pl.col("v").cast(pl.Int32)).write_avro(sink, compression="snappy")
    shop.drop("a", "1.avro", sink.getvalue())
    shop.load()
    loaded = pl.DataFrame(shop.rows("a"))
    assert loaded.sort("v").rows() == rows.sort("v").rows()
    shop.check()


def test_rows_that_do_not_fit_are_rejected_with_the_column_named(shop: Shop) -> None:
    shop.events("a", format="avro", schema={"ts": "timestamp", "k": "string not null", "v": "int"})
    texts = [row(1, "x", "1"), row(2, None, "2"), row(3, "y", "many"), row(None, "z", "4")]
    shop.drop("a", "texts.avro", as_avro(texts, v="string"))
    shop.drop("a", "large.avro", as_avro([row(4, "x", 2**31), row(5, "x", 5)], v="long"))
    shop.drop(
        "a",
        "either.avro",
        as_avro([row(6, "x", "six"), row(7, "x", 7), row(8, "x", None)], v=["null", "string", "long"]),
    )
    shop.load()
    assert {found["v"] for found in shop.rows("a")} == {1, 5, 7, None}
    assert shop.counts()["a"].in_rejects == 5
    assert sorted(found["reason"] for found in shop.rows("a__rejects")) == [
        "column 'k' is empty",
        "column 'ts' is empty",
        "column 'v': '2147483648' is not a int",
        "column 'v': 'many' is not a int",
        "column 'v': 'six' is not a int",
    ]
    shop.check()


def test_what_comes_too_late_is_kept_aside(shop: Shop) -> None:
    shop.events("a", format="avro", lateness="5s")
    shop.drop("a", "1.avro", as_avro([row(30)]))
    shop.load()
    shop.drop("a", "2.avro", as_avro([row(10, "late"), row(40, "y")]))
    shop.drop("a", "3.avro", as_avro([row(12, "later"), row(59, "z")]))
    shop.load()
    assert {found["k"] for found in shop.rows("a")} == {"x", "y", "z"}
    assert {found["k"] for found in shop.rows("a__late")} == {"late", "later"}
    shop.check()


def test_columns_that_files_gain_come_into_the_table_with_their_types(shop: Shop) -> None:
    shop.events("a", format="avro", on_schema_change="evolve")
    shop.drop("a", "1.avro", as_avro([row(1, "x")]))
    shop.load()
    types: dict[str, Any] = {
        "price": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        "day": {"type": "int", "logicalType": "date"},
        "millis": {"type": "long", "logicalType": "timestamp-millis"},
        "local": {"type": "long", "logicalType": "local-timestamp-micros"},
        "kind": {"type": "enum", "name": "kind", "symbols": ["A", "B"]},
        "inside": {
            "type": "record",
            "name": "inside",
            "fields": [{"name": "n", "type": "int"}, {"name": "at", "type": INSTANT}],
        },
        "tags": {"type": "array", "items": ["null", "string"]},
        "named": {"type": "map", "values": "double"},
    }
    values = {
        "price": Decimal("1.50"),
        "day": date(2026, 1, 2),
        "millis": at(9),
        "local": datetime(2026, 3, 29, 2, 30),
        "kind": "B",
        "inside": {"n": 7, "at": at(8)},
        "tags": ["a", None],
        "named": {"a": 0.5},
    }
    shop.drop("a", "2.avro", as_avro([row(2, "y", 2, **values)], **types))
    shop.drop("a", "3.avro", as_avro([{"ts": at(3), "k": "z"}], v=None))
    shop.load()
    found = {loaded["k"]: loaded for loaded in shop.rows("a")}
    assert (found["x"]["price"], found["z"]["v"]) == (None, None)
    assert {name: found["y"][name] for name in values} == values | {"local": datetime(2026, 3, 29, 2, 30, tzinfo=UTC)}
    shop.check()


WHOLE = as_avro([row(second) for second in range(50)], interval=200)
BOMB = as_avro([row(1, "x" * 1_000_000)], "deflate")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"ts,k,v\n", "does not start as Avro files do"),
        (WHOLE[:-10], "it ends too early"),
        (WHOLE[: len(WHOLE) // 2], "it ends too early"),
        (WHOLE[:-17] + b"\xff" + WHOLE[-16:], "broken"),
        (WHOLE.replace(b'"record"', b'"recard"'), "its schema cannot be understood"),
    ],
)
def test_a_file_that_is_no_whole_avro_file_is_quarantined_and_the_others_load(
    shop: Shop, content: bytes, words: str
) -> None:
    shop.events("a", format="avro")
    shop.drop("a", "bad.avro", content)
    shop.drop("a", "good.avro", as_avro([row(1)]))
    shop.load()
    (held,) = quarantined(shop)
    assert held.position.endswith("bad.avro")
    assert words in (held.reason or "")
    assert len(shop.rows("a")) == 1


def test_a_file_that_unpacks_to_more_than_the_feed_takes_is_quarantined(shop: Shop) -> None:
    shop.events("a", format="avro", max_size="100KB")
    shop.drop("a", "bomb.avro", BOMB)
    shop.load()
    (held,) = quarantined(shop)
    assert len(BOMB) < 5_000
    assert "max_size" in (held.reason or "")


def test_a_column_that_could_never_fit_keeps_its_file_out(shop: Shop) -> None:
    shop.events("a", format="avro")
    shop.drop("a", "1.avro", as_avro([row(1, "x", [1])], v={"type": "array", "items": "int"}))
    shop.drop("a", "2.avro", as_avro([row(2, "y")]))
    shop.load()
    (held,) = quarantined(shop)
    assert (held.reason or "").startswith(
        "Column 'v' is of type array<int> in the file, and feed 'a_feed' declares int."
    )
    assert [found["k"] for found in shop.rows("a")] == ["y"]


def test_a_large_file_is_read_in_stretches_and_each_row_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freshtide.spark.formats.avro._STRETCH", 700)
    shop.events("a", format="avro")
    shop.drop("a", "1.avro", as_avro([row(number % 60, f"k{number}", number) for number in range(3_000)], interval=300))
    shop.load()
    assert sorted(found["v"] for found in shop.rows("a")) == list(range(3_000))
    shop.check()


def test_of_rows_of_the_same_time_the_last_in_the_file_stays_whatever_the_stretches(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("freshtide.spark.formats.avro._STRETCH", 700)
    shop.events("a", format="avro", properties="TBLPROPERTIES ('update_key' = 'k')")
    shop.drop("a", "1.avro", as_avro([row(1, f"k{number % 10}", number) for number in range(500)], interval=300))
    shop.load()
    assert {found["k"]: found["v"] for found in shop.rows("a")} == {f"k{key}": 490 + key for key in range(10)}
