"""Times of any year, in any unit and place, and texts that are no time: what is stored never hangs on the clock."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshtide.spark import SparkSession
from tests.examples import slow_except
from tests.warehouse.shop import START, Shop, stamp

YEARS = ["0001-01-01T00:00:00Z", "1600-02-29T00:00:00.000001Z", "2300-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"]


def feed(shop: Shop, name: str, schema: dict[str, str], **given: Any) -> None:
    said = {"path": f"landing/{name}/*", "format": "csv", "schema": schema, "time_column": "ts", "settle": "renamed"}
    shop.warehouse.feed(name, **{**said, **given})


def reasons(shop: Shop, table: str = "t") -> list[str]:
    return sorted(row["reason"] for row in shop.rows(f"{table}__rejects"))


def test_times_of_all_years_work_in_every_kind_of_table(shop: Shop) -> None:
    feed(shop, "f", {"ts": "timestamp", "at": "timestamp", "d": "date", "v": "int"}, future_limit="none")
    kinds = {"appended": "", "by_time": "TBLPROPERTIES ('update_key'='at')", "by_v": "TBLPROPERTIES ('update_key'='v')"}
    for table, said in kinds.items():
        shop.warehouse.sql(f"CREATE STREAMING TABLE {table} {said} AS SELECT * FROM STREAM f")
    shop.view("daily", "SELECT date_trunc('DAY', ts) AS day, count(*) AS n FROM appended GROUP BY 1")
    for file, times in enumerate((YEARS[:2], YEARS[2:])):
        lines = [f"{time},{time},{time[:10]},{2 * file + place}" for place, time in enumerate(times)]
        shop.drop("f", f"{file}.csv", "\n".join(["ts,at,d,v", *lines]) + "\n")
        shop.load()
    moments = [datetime.fromisoformat(time) for time in YEARS]
    for table in kinds:
        rows = sorted(shop.rows(table), key=lambda row: row["v"])
        assert [(row["ts"], row["at"], row["d"]) for row in rows] == [(at, at, at.date()) for at in moments], table
        assert reasons(shop, table) == []
    assert sum(row["n"] for row in shop.rows("daily")) == 4
    shop.check()
    shop.warehouse.status().as_json()


@pytest.mark.parametrize("large", slow_except([False, True], False))
@pytest.mark.parametrize("time_column", ["ts", "at"])
def test_times_without_a_zone_that_no_table_can_hold_are_rejected(
    tmp_path: Path, spark: SparkSession, large: bool, time_column: str
) -> None:
    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 1}, **({"large_update": "10B"} if large else {}))
    schema = {"ts": "timestamp", "at": "timestamp_ntz", "v": "int"}
    feed(shop, "f", schema, time_column=time_column, future_limit="none")
    query = "SELECT ts, CAST(at AS timestamp) AS at, v FROM STREAM f"
    for table, said in (("t", ""), ("u", ", 'update_key'='v'")):
        shop.warehouse.sql(
            f"CREATE STREAMING TABLE {table} TBLPROPERTIES ('time_column'='{time_column}'{said}) AS {query}"
        )
    odd = ["+10000-01-01T00:00:00", "0000-12-31T23:59:59", "9999-12-31T23:59:59.999999", "0001-01-01T00:00:00"]
    lines = [f"{stamp(place)},{time},{place}" for place, time in enumerate(odd)]
    shop.drop("f", "1.csv", "\n".join(["ts,at,v", *lines]) + "\n")
    shop.load()
    for table in ("t", "u"):
        assert {row["v"] for row in shop.rows(table)} == {2, 3}
        assert len(reasons(shop, table)) == 2
        assert all("column 'at'" in reason and "outside of the years" in reason for reason in reasons(shop, table))
    shop.check()
    shop.warehouse.close()


@pytest.mark.parametrize("large", slow_except([False, True], False))
def test_rows_for_which_a_query_computes_what_no_table_can_hold_are_rejected(
    tmp_path: Path, spark: SparkSession, large: bool
) -> None:
    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 1}, **({"large_update": "10B"} if large else {}))
    feed(shop, "f", {"ts": "timestamp", "text": "string", "d": "date", "v": "int"}, lateness="10s")
    query = "SELECT ts, try_cast(text AS timestamp) AS at, date_add(d, 366) AS d, v FROM STREAM f WHERE v < 9"
    shop.warehouse.sql(f"CREATE STREAMING TABLE t AS {query}")
    shop.warehouse.sql(f"CREATE STREAMING TABLE g TBLPROPERTIES ('update_group'='both') AS {query}")
    shop.warehouse.sql("CREATE STREAMING TABLE h TBLPROPERTIES ('update_group'='both') AS SELECT * FROM STREAM f")
    lines = [
        f"{stamp(100)},10000-01-01,2026-05-01,0",
        f"{stamp(101)},2026-05-01,9999-12-31,1",
        f"{stamp(102)},2026-05-01,2026-05-01,2",
        f"{stamp(103)},10000-01-01,2026-05-01,9",
        "soon,10000-01-01,2026-05-01,4",
    ]
    shop.drop("f", "a b+é.csv", "\n".join(["ts,text,d,v", *lines]) + "\n")
    shop.load()
    shop.drop("f", "late.csv", f"ts,text,d,v\n{stamp(1)},10000-01-01,2026-05-01,5\n{stamp(1)},,,6\n{stamp(200)},,,7\n")
    shop.load()
    for table in ("t", "g"):
        assert {row["v"] for row in shop.rows(table)} == {2, 7}
        assert [row["v"] for row in shop.rows(f"{table}__late")] == [6]
        rejects = shop.rows(f"{table}__rejects")
        assert sum("of what the query gives, column 'at': '+10000-01-01" in row["reason"] for row in rejects) == 2
        assert sum("of what the query gives, column 'd': '+10000" in row["reason"] for row in rejects) == 1
        assert len(rejects) == 4
        assert {Path(row["file"]).name for row in rejects} == {"a b+é.csv", "late.csv"}
    shop.check()
    shop.warehouse.close()


@pytest.mark.parametrize("large", slow_except([False, True], False))
def test_what_no_table_can_hold_is_looked_for_only_in_rows_that_the_query_keeps(
    tmp_path: Path, spark: SparkSession, large: bool
) -> None:
    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 1}, **({"large_update": "10B"} if large else {}))
    feed(shop, "f", {"ts": "timestamp", "k": "string"})
    later = "ts + make_interval(CAST(k AS int)) AS later"
    shop.warehouse.sql(f"CREATE STREAMING TABLE t AS SELECT ts, k, {later} FROM STREAM f WHERE k RLIKE '^[0-9]+$'")
    shop.warehouse.sql(
        f"CREATE STREAMING TABLE u AS SELECT * FROM (SELECT ts, k, {later} FROM STREAM f WHERE k RLIKE '^[0-9]+$') "
        "WHERE later > TIMESTAMP'2026-06-01T00:00:00Z'"
    )
    shop.drop("f", "1.csv", "ts,k\n" + "".join(f"{stamp(1)},{k}\n" for k in ("1", "abc", "2026-01-01", "0", "7974")))
    shop.load()
    assert {row["k"] for row in shop.rows("t")} == {"1", "0"}
    assert {row["k"] for row in shop.rows("u")} == {"1"}
    for table, left_out in (("t", 2), ("u", 3)):
        (reason,) = reasons(shop, table)
        assert "of what the query gives, column 'later': '+10000" in reason
        assert shop.counts()[table].filtered == left_out
    shop.check()
    shop.warehouse.close()


@pytest.mark.parametrize("said", ["STREAMING TABLE t TBLPROPERTIES ('update_key'='v')", "MATERIALIZED VIEW t"])
def test_where_a_result_is_of_no_single_row_the_way_out_is_told(shop: Shop, said: str) -> None:
    feed(shop, "f", {"ts": "timestamp", "text": "string", "v": "int"})
    shop.warehouse.sql("CREATE STREAMING TABLE base AS SELECT * FROM STREAM f")
    source = "STREAM f" if "update_key" in said else "base"
    shop.warehouse.sql(f"CREATE {said} AS SELECT ts, try_cast(text AS timestamp) AS at, v FROM {source}")
    shop.drop("f", "1.csv", f"ts,text,v\n{stamp(1)},10000-01-01,1\n")
    told = shop.warehouse.run_once().failed["t"]
    assert "A time in column 'at' lies outside of the years 1 to 9999. Let the query leave such rows out" in told


@pytest.mark.parametrize("said", ["", "TBLPROPERTIES ('update_key'='v')"])
def test_nanoseconds_are_loaded_wherever_they_are(shop: Shop, said: str) -> None:
    nanos, micros = pa.timestamp("ns"), pa.timestamp("us")
    feed(
        shop,
        "f",
        {
            "ts": "timestamp",
            "v": "int",
            "s": "struct<At: timestamp, n: bigint>",
            "a": "array<struct<x: timestamp>>",
            "m": "map<string, array<timestamp>>",
            "z": "timestamp_ntz",
        },
        format="parquet",
    )
    shop.warehouse.sql(
        f"CREATE STREAMING TABLE t {said} AS SELECT * EXCEPT (z), CAST(z AS timestamp) AS z FROM STREAM f"
    )
    for number, unit in enumerate((nanos, micros)):
        scale = 1_000 if unit == nanos else 1
        at = START * 10**6 * scale + (1_001 if unit == nanos else 1)
        rows = pa.table(
            {
                "ts": pa.array([START * 10**6], pa.timestamp("us", "UTC")),
                "v": pa.array([number], pa.int32()),
                "s": pa.array([{"At": at, "n": 5}], pa.struct([("At", unit), ("n", pa.int64())])),
                "a": pa.array([[{"x": at}, None, {"x": None}]], pa.list_(pa.struct([("x", unit)]))),
                "m": pa.array([[("k", [at, None])]], pa.map_(pa.string(), pa.list_(unit))),
                "z": pa.array([at], unit),
            }
        )
        sink = io.BytesIO()
        pq.write_table(rows, sink)
        shop.drop("f", f"{number}.parquet", sink.getvalue())
    shop.load()
    moment = datetime.fromtimestamp(START, UTC) + timedelta(microseconds=1)
    rows_found = shop.rows("t")
    assert len(rows_found) == 2
    for row in rows_found:
        assert row["s"] == {"At": moment, "n": 5}
        assert row["a"] == [{"x": moment}, None, {"x": None}]
        assert row["m"] == {"k": [moment, None]}
        assert row["z"] == moment
    shop.check()


def test_a_file_whose_inner_types_are_others_is_put_aside_and_not_its_table(shop: Shop) -> None:
    feed(shop, "f", {"ts": "timestamp", "s": "struct<x: timestamp>"}, format="parquet")
    shop.warehouse.sql("CREATE STREAMING TABLE t AS SELECT * FROM STREAM f")
    inners = {"bad": pa.array([{"x": "soon"}]), "good": pa.array([None], pa.struct([("x", pa.timestamp("us"))]))}
    for name, inner in inners.items():
        sink = io.BytesIO()
        pq.write_table(pa.table({"ts": pa.array([START * 10**6], pa.timestamp("us", "UTC")), "s": inner}), sink)
        shop.drop("f", f"{name}.parquet", sink.getvalue())
    shop.load()
    assert len(shop.rows("t")) == 1


NO_TIMES = ["12:00:00", "T11:00:00", " 1:2", "T7", "now", "today", "yesterday", "Z", "+02:00", "UTC"]


@pytest.mark.parametrize("large", slow_except([False, True], False))
@pytest.mark.parametrize("format_", ["csv", "json"])
def test_a_time_of_day_is_no_timestamp(tmp_path: Path, spark: SparkSession, format_: str, large: bool) -> None:
    """Spark would make it one of today: what is stored would hang on the day of the load."""
    shop = Shop(tmp_path / "shop", spark, retry={"attempts": 1}, **({"large_update": "10B"} if large else {}))
    schema = {"ts": "timestamp", "at": "timestamp", "clock": "string", "v": "int"}
    feed(shop, "f", schema, format=format_, future_limit="none")
    shop.warehouse.sql("CREATE STREAMING TABLE t AS SELECT * FROM STREAM f")
    shop.warehouse.sql("CREATE STREAMING TABLE u TBLPROPERTIES ('update_key'='v') AS SELECT * FROM STREAM f")
    odd = [*([stamp(1), text] for text in NO_TIMES), *([text, ""] for text in NO_TIMES)]
    good = [[stamp(2), "2026"], [stamp(3), "2026-05"], [stamp(4), stamp(4)], [stamp(5), ""]]
    rows = [{"ts": ts, "at": at or None, "clock": "12:30", "v": place} for place, (ts, at) in enumerate([*odd, *good])]
    if format_ == "csv":
        lines = [",".join("" if value is None else str(value) for value in row.values()) for row in rows]
        content = "\n".join(["ts,at,clock,v", *lines]) + "\n"
    else:
        content = "\n".join(map(json.dumps, rows))
    shop.drop("f", "1", content)
    shop.load()
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for table in ("t", "u"):
        found = {row["v"] - len(odd): row for row in shop.rows(table)}
        assert [found[place]["at"] for place in sorted(found)] == [
            start,
            datetime(2026, 5, 1, tzinfo=UTC),
            start + timedelta(seconds=4),
            None,
        ]
        assert {row["clock"] for row in found.values()} == {"12:30"}
        expected = [f"column '{name}': '{text}' is not a timestamp" for text in NO_TIMES for name in ("ts", "at")]
        assert reasons(shop, table) == sorted(expected)
    shop.check()
    shop.warehouse.close()


def test_a_time_of_day_within_a_record_is_no_timestamp(shop: Shop) -> None:
    schema = {"ts": "timestamp", "s": "struct<at: timestamp, clock: string>", "m": "map<string, array<timestamp>>"}
    feed(shop, "f", {**schema, "k": "string"}, format="json")
    shop.warehouse.sql("CREATE STREAMING TABLE t AS SELECT * FROM STREAM f")
    rows = [
        {"ts": stamp(1), "s": {"at": stamp(1), "clock": "12:30"}, "m": {"12:30": [stamp(1)]}, "k": "é"},
        {"ts": stamp(1), "s": {"at": "12:30"}, "k": "in a struct"},
        {"ts": stamp(1), "m": {"a": [stamp(1), "T12:30"]}, "k": "in a map"},
    ]
    escaped = json.dumps({"ts": stamp(1), "s": {"at": "12:30"}, "k": "escaped"}).replace("12:30", "\\u00312:30")
    lines = [*(json.dumps(row, ensure_ascii=False) for row in rows), escaped]
    shop.drop("f", "1.json", "\n".join(lines))
    shop.load()
    assert [row["k"] for row in shop.rows("t")] == ["é"]
    assert {json.loads(row["content"])["k"] for row in shop.rows("t__rejects")} == {
        "in a struct",
        "in a map",
        "escaped",
    }
    shop.check()
