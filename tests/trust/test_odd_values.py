"""Values that no table can hold are rejected with the reason, and the table goes on."""

from __future__ import annotations

import io
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshtide.core.arrivals import ArrivalState
from freshtide.core.feeds import Column
from freshtide.spark import SparkSession
from tests.examples import slow_except
from tests.warehouse.shop import EVENTS, START, Shop, stamp, touch


def feed(
    shop: Shop, query: str = "SELECT * FROM STREAM f", *, table: str = "t", said: str = "", **settings: Any
) -> None:
    given = {"path": "landing/f/*", "format": "csv", "schema": EVENTS, "time_column": "ts", "settle": "renamed"}
    shop.warehouse.feed("f", **{**given, "period": "10s", **settings})
    shop.warehouse.sql(f"CREATE STREAMING TABLE {table} {said} AS {query}")


def reasons(shop: Shop, table: str = "t") -> list[str]:
    return sorted(row["reason"] for row in shop.rows(f"{table}__rejects"))


def troubled(shop: Shop) -> dict[str, str]:
    held = shop.warehouse.workbench.catalog.arrivals.in_state(ArrivalState.QUARANTINED)
    return {Path(file.position).name: file.reason or "" for file in held}


@pytest.mark.parametrize("said", ["", "TBLPROPERTIES ('update_key'='k')"])
def test_times_that_no_table_can_hold_are_rejected(shop: Shop, said: str) -> None:
    feed(shop, said=said, schema={**EVENTS, "d": "date"}, future_limit="none")
    lines = [
        f"{stamp(1)},good,1,9999-12-31",
        f"{stamp(2)},far,2,+12345-01-01",
        "+10000-01-01T00:00:00Z,far too,3,",
        "-0001-01-01T00:00:00Z,before,4,",
    ]
    shop.drop("f", "1.csv", "\n".join(["ts,k,v,d", *lines]) + "\n")
    shop.load()
    shop.drop("f", "2.csv", f"ts,k,v,d\n{stamp(5)},after,5,\n")
    shop.load()
    assert {row["k"] for row in shop.rows("t")} == {"good", "after"}
    assert len(reasons(shop)) == 3
    assert "column 'd': '+12345-01-01' lies outside of the years 1 to 9999" in reasons(shop)
    assert sum("column 'ts'" in reason and "outside of the years" in reason for reason in reasons(shop)) == 2
    shop.check()


def test_a_number_that_is_no_time_is_rejected_with_what_was_written(shop: Shop) -> None:
    feed(shop, time_format="epoch_seconds")
    numbers = ["99999999999999999999", "1e40", "soon", "253402300800"]
    shop.drop("f", "1.csv", "\n".join(["ts,k,v", f"{START + 1},x,1", *(f"{number},x,2" for number in numbers)]) + "\n")
    shop.load()
    assert [row["v"] for row in shop.rows("t")] == [1]
    assert {json.loads(row["content"])["ts"] for row in shop.rows("t__rejects")} == set(numbers)
    assert "column 'ts': 'soon' is not a timestamp" in reasons(shop)
    assert shop.freshness("t") == 1
    shop.check()


def test_a_time_in_a_format_of_its_own_is_rejected_with_its_text_and_reason(shop: Shop) -> None:
    feed(shop, time_format="dd.MM.yyyy HH:mm")
    shop.drop("f", "1.csv", "ts,k,v\n01.01.2026 00:01,x,1\n2026-01-01,y,2\n,z,3\n")
    shop.load()
    (text,) = [row for row in shop.rows("t__rejects") if "not a timestamp" in row["reason"]]
    assert text["reason"] == "column 'ts': '2026-01-01' is not a timestamp"
    assert json.loads(text["content"]) == {"ts": "2026-01-01", "k": "y", "v": 2}
    assert reasons(shop) == ["column 'ts' is empty", "column 'ts': '2026-01-01' is not a timestamp"]


@pytest.mark.parametrize("large", slow_except([False, True], False))
def test_a_partition_that_no_folder_can_be_named_after_is_rejected(
    tmp_path: Path, spark: SparkSession, large: bool
) -> None:
    shop = Shop(tmp_path / "shop", spark, **({"large_update": "10B"} if large else {}))
    feed(shop, "SELECT * FROM STREAM f", said="PARTITIONED BY (k)")
    names = {"x" * 300: False, "é" * 126: True, "é" * 127: False, "*" * 85: False, "~" * 253: True, "plain": True}
    lines = [f"{stamp(place)},{name},{place}" for place, name in enumerate(names)]
    shop.drop("f", "1.csv", "\n".join(["ts,k,v", *lines]) + "\n")
    shop.load()
    assert {row["k"] for row in shop.rows("t")} == {name for name, fits in names.items() if fits}
    assert all("too long for the name of a partition's folder" in reason for reason in reasons(shop))
    shop.check()
    shop.warehouse.close()


def in_hours(hours: float) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("said", ["", "TBLPROPERTIES ('update_key'='k')"])
@pytest.mark.parametrize("format_", slow_except(["csv", "json", "parquet"], "csv", "parquet"))
def test_a_row_of_the_future_is_rejected_and_moves_nothing(shop: Shop, format_: str, said: str) -> None:
    feed(shop, said=said, format=format_, **({} if said else {"lateness": "5s"}))

    def drop(name: str, rows: list[tuple[str, str, int]]) -> None:
        if format_ == "csv":
            shop.drop("f", name, "\n".join(["ts,k,v", *(",".join(map(str, row)) for row in rows)]) + "\n")
        elif format_ == "json":
            shop.drop("f", name, "\n".join(json.dumps(dict(zip(EVENTS, row, strict=True))) for row in rows))
        else:
            times = pa.array([datetime.fromisoformat(row[0]) for row in rows], pa.timestamp("us", "UTC"))
            table = pa.table(
                {"ts": times, "k": [row[1] for row in rows], "v": pa.array([row[2] for row in rows], pa.int32())}
            )
            sink = io.BytesIO()
            pq.write_table(table, sink)
            shop.drop("f", name, sink.getvalue())

    drop("1", [(stamp(1), "a", 1), ("9000-01-01T00:00:00Z", "b", 2), (in_hours(30), "c", 3)])
    shop.load()
    assert shop.freshness("t") == 1
    for number in (3, 4):
        drop(str(number), [(stamp(100 * number), f"later {number}", number)])
        shop.load()
    assert {row["v"] for row in shop.rows("t")} == {1, 3, 4}
    assert shop.rows("t__late") == []
    assert len(reasons(shop)) == 2
    assert all("is more than 1h after its file came" in reason for reason in reasons(shop))
    shop.check()


def test_how_far_ahead_a_time_may_be_is_said_by_the_feed(shop: Shop) -> None:
    feed(shop, future_limit="2d")
    shop.drop("f", "1.csv", f"ts,k,v\n{in_hours(30)},near,1\n{in_hours(60)},far,2\n")
    shop.load()
    assert [row["k"] for row in shop.rows("t")] == ["near"]
    assert "is more than 2d after its file came" in reasons(shop)[0]


def test_rows_of_the_future_can_be_allowed(shop: Shop) -> None:
    feed(shop, future_limit="none")
    shop.drop("f", "1.csv", "ts,k,v\n9000-01-01T00:00:00Z,x,1\n")
    shop.load()
    assert [row["k"] for row in shop.rows("t")] == ["x"]


def test_a_row_of_the_future_is_judged_by_its_own_file(shop: Shop) -> None:
    """Of files that are loaded together and that arrived at different moments."""
    feed(shop)
    shop.warehouse.run_once()
    shop.warehouse.pause("t")
    shop.drop("f", "1.csv", f"ts,k,v\n{stamp(1)},x,1\n{in_hours(2)},future,2\n")
    shop.load()
    shop.drop("f", "2.csv", f"ts,k,v\n{stamp(2)},x,3\n")
    shop.load()
    shop.warehouse.resume("t")
    shop.load()
    assert {row["v"] for row in shop.rows("t")} == {1, 3}
    assert len(reasons(shop)) == 1
    shop.check()


def test_a_file_whose_name_or_age_is_of_the_future_does_not_move_freshness(shop: Shop) -> None:
    shop.events("named", timestamp={"name": "%Y%m%d.csv"})
    shop.events("aged", timestamp="modified")
    for name in ("20260101.csv", "90000101.csv"):
        shop.drop_events("named", name, [(1, name, 1)])
    touch(shop.drop_events("aged", "1.csv", [(1, "x", 1)]), START + 5)
    hidden = shop.root / "landing" / "aged" / ".2.csv"
    hidden.write_text(f"ts,k,v\n{stamp(2)},y,2\n")
    touch(hidden, datetime.now(UTC).timestamp() + 86_400)
    hidden.rename(hidden.with_name("2.csv"))
    shop.load()
    assert (shop.freshness("named"), shop.freshness("aged")) == (0, 5)
    assert set(troubled(shop)) == {"90000101.csv", "2.csv"}
    assert all("more than 1h after it came" in reason for reason in troubled(shop).values())


def test_punctuation_of_the_future_does_not_move_freshness(shop: Shop) -> None:
    shop.events("a", path="landing/a/*.csv", punctuation="landing/a/*.mark")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.drop("a", "1.mark", in_hours(48))
    shop.load()
    assert shop.freshness("a") == 1
    assert "more than 1h after it came" in troubled(shop)["1.mark"]


def evolving(shop: Shop) -> None:
    feed(shop, format="json", on_schema_change="evolve")


def test_keys_that_differ_by_case_alone_are_told_and_never_kept(shop: Shop) -> None:
    evolving(shop)
    shop.drop("f", "1.json", json.dumps({"ts": stamp(1), "Extra": 1}) + "\n")
    shop.load()
    shop.drop("f", "both.json", json.dumps({"ts": stamp(2), "More": 1, "more": 2}) + "\n")
    shop.drop("f", "declared.json", json.dumps({"ts": stamp(2), "V": 2}) + "\n")
    shop.drop("f", "gained.json", json.dumps({"ts": stamp(2), "extra": 2}) + "\n")
    shop.drop("f", "half.json", '{"ts": "' + stamp(2) + '", "\\ud800": 1}\n')
    shop.drop("f", "good.json", json.dumps({"ts": stamp(3), "Extra": 3}) + "\n")
    shop.load()
    assert set(troubled(shop)) == {"both.json", "declared.json", "gained.json", "half.json"}
    assert "'extra' is 'Extra'" in troubled(shop)["gained.json"]
    later = shop.again()
    evolving(later)
    later.drop("f", "2.json", json.dumps({"ts": stamp(4), "Extra": 4}) + "\n")
    later.load()
    assert sorted(row["Extra"] for row in later.rows("t")) == ["1", "3", "4"]
    later.check()
    later.warehouse.close()


def test_a_catalog_with_columns_that_differ_by_case_alone_opens(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    evolving(shop)
    shop.drop("f", "1.json", json.dumps({"ts": stamp(1), "Extra": 1}) + "\n")
    shop.load()
    bad = [Column(name=name, type="string") for name in ("extra", "V", "")]
    shop.warehouse.workbench.catalog.arrivals.add_columns("f", bad)
    later = shop.again()
    evolving(later)
    later.drop("f", "2.json", json.dumps({"ts": stamp(2), "Extra": 2}) + "\n")
    later.load()
    assert sorted(row["Extra"] for row in later.rows("t")) == ["1", "2"]
    assert "has gained a column 'extra'" in caplog.text
    later.warehouse.close()


@pytest.mark.parametrize("on_schema_change", ["fail", "evolve"])
def test_a_delimiter_at_the_end_of_a_line_makes_no_column(shop: Shop, on_schema_change: str) -> None:
    feed(shop, on_schema_change=on_schema_change)
    shop.drop("f", "1.csv", f"ts,k,v,\n{stamp(1)},x,1,\n{stamp(2)},y,2,astray\n{stamp(3)},z,many,\n")
    shop.load()
    assert shop.rows("t") == [{"ts": datetime.fromisoformat(stamp(1)), "k": "x", "v": 1}]
    assert reasons(shop) == ["column 'v': 'many' is not a int", "it has 'astray' in a column without a name"]
    shop.drop("f", "2.csv", f"v,k,ts\n4,w,{stamp(4)}\nmany,w,{stamp(5)}\n")
    shop.load()
    assert Counter(reasons(shop))["column 'v': 'many' is not a int"] == 2
    shop.check()


def test_a_value_of_json_under_no_name_is_rejected(shop: Shop) -> None:
    feed(shop, format="json", on_schema_change="evolve")
    records = [
        {"ts": stamp(1), "v": 1},
        {"ts": stamp(2), "v": 2, "": "astray"},
        {"ts": stamp(3), "v": 3, "": None},
        {"ts": stamp(4), "v": 4, " ": {"a": 1}, "more": "m"},
    ]
    shop.drop("f", "1.json", "".join(json.dumps(record) + "\n" for record in records))
    shop.drop("f", "2.json", json.dumps({"ts": stamp(5), "v": 5}) + "\n")
    shop.load()
    assert sorted(row["v"] for row in shop.rows("t")) == [1, 3, 5]
    assert reasons(shop) == [
        "it has 'astray' in a column without a name",
        """it has '{"a":1}' in a column without a name""",
    ]
    shop.check()


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_in_nanoseconds_are_loaded(shop: Shop, zone: str | None) -> None:
    feed(shop, format="parquet", schema={"ts": "timestamp", "at": "timestamp", "v": "int"}, on_schema_change="evolve")
    for number, unit in enumerate(("ns", "us")):
        nanos = [(START + number) * 10**9 + 1_001, None]
        times = pa.array([START * 10**9 + 1_999, START * 10**9], pa.timestamp("ns", zone))
        rows = pa.table(
            {
                "ts": times.cast(pa.timestamp(unit, zone), safe=False),
                "at": pa.array(nanos, pa.timestamp("ns", zone)).cast(pa.timestamp(unit, zone), safe=False),
                "v": pa.array([number, number], pa.int32()),
                "gained": times.cast(pa.timestamp(unit, zone), safe=False),
            }
        )
        sink = io.BytesIO()
        pq.write_table(rows, sink)
        shop.drop("f", f"{number}.parquet", sink.getvalue())
    shop.load()
    start = datetime.fromtimestamp(START, UTC)
    for number in (0, 1):
        first, second = sorted((row for row in shop.rows("t") if row["v"] == number), key=lambda row: row["ts"])
        assert (first["ts"], first["at"], first["gained"]) == (start, None, start)
        moment = start + timedelta(microseconds=1)
        assert (second["ts"], second["gained"]) == (moment, moment)
        assert second["at"] == start + timedelta(seconds=number, microseconds=1)
    shop.check()


@pytest.mark.parametrize("large", [False, True])
def test_a_file_may_be_named_after_a_time(tmp_path: Path, spark: SparkSession, large: bool) -> None:
    shop = Shop(tmp_path / "shop", spark, **({"large_update": "10B"} if large else {}))
    feed(shop)
    shop.drop("f", "2026-01-01T00:00:00.csv", f"ts,k,v\n{stamp(1)},good,1\n{stamp(2)},bad,many\n")
    shop.load()
    assert [row["k"] for row in shop.rows("t")] == ["good"]
    assert reasons(shop) == ["column 'v': 'many' is not a int"]
    assert troubled(shop) == {}
    shop.check()
    shop.warehouse.close()
