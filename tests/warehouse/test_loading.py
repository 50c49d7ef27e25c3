"""Files in, tables out: formats, order, duplicates, rejects, late rows, schema changes."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshtide.core.arrivals import ArrivalState
from freshtide.core.errors import FreshtideError
from freshtide.spark import SparkSession
from tests.warehouse.shop import EVENTS, Shop, stamp


def moment(second: int) -> datetime:
    return datetime(2026, 1, 1, second // 3600, second // 60 % 60, second % 60, tzinfo=UTC)


def test_csv_files_become_rows_of_a_delta_table(shop: Shop) -> None:
    shop.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 10), (2, "y", 20)])
    shop.drop_events("a", "2.csv", [(3, "x", 30)])
    shop.load()
    assert shop.bag("a") == {(moment(1), "x", 10): 1, (moment(2), "y", 20): 1, (moment(3), "x", 30): 1}
    assert shop.freshness("a") == 3


def test_gzipped_json_lines_become_rows(shop: Shop) -> None:
    shop.events("a", format="json")
    lines = [json.dumps({"ts": stamp(1), "k": "x", "v": 1}), json.dumps({"v": 2, "ts": stamp(2)})]
    shop.drop("a", "1.json.gz", gzip.compress("\n".join(lines).encode()))
    shop.load()
    assert shop.bag("a") == {(moment(1), "x", 1): 1, (moment(2), None, 2): 1}


def test_parquet_files_become_rows(shop: Shop) -> None:
    shop.events("a", format="parquet")
    rows = pa.table({"ts": [moment(5)], "k": ["x"], "v": pa.array([7], pa.int32())})
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    shop.drop("a", "1.parquet", sink.getvalue().to_pybytes())
    shop.load()
    assert shop.bag("a") == {(moment(5), "x", 7): 1}


def test_columns_are_found_by_name_whatever_their_order_in_the_file(shop: Shop) -> None:
    shop.events("a")
    shop.drop("a", "1.csv", f"v,ts,k\n1,{stamp(1)},x\n")
    shop.drop("a", "2.csv", f"k,v,ts\ny,2,{stamp(2)}\n")
    shop.load()
    assert shop.bag("a") == {(moment(1), "x", 1): 1, (moment(2), "y", 2): 1}


@pytest.mark.parametrize(("encoding", "multiline"), [("iso-8859-1", False), ("utf-16", True)])
def test_files_in_other_encodings_become_rows(shop: Shop, encoding: str, multiline: bool) -> None:
    shop.events("a", encoding=encoding, multiline=multiline)
    shop.drop("a", "1.csv", f"ts,k,v\r\n{stamp(1)},Zürich,1\r\n".encode(encoding))
    shop.load()
    assert shop.bag("a") == {(moment(1), "Zürich", 1): 1}


def test_a_query_can_ask_for_the_file_of_a_row(shop: Shop) -> None:
    shop.events("a")
    query = "SELECT ts, reverse(split(input_file_name(), '/'))[0] AS file FROM STREAM a_feed"
    shop.warehouse.sql(f"CREATE STREAMING TABLE named AS {query}")
    shop.drop_events("a", "1.csv", [(1, "x", 10)])
    shop.drop_events("a", "2.csv", [(2, "y", 20)])
    shop.load()
    assert shop.bag("named") == {(moment(1), "1.csv"): 1, (moment(2), "2.csv"): 1}


@pytest.mark.parametrize(
    ("time_format", "written"),
    [
        ("epoch_seconds", "1767225661.5"),
        ("epoch_millis", "1767225661500"),
        ("dd.MM.yyyy HH:mm:ss.SSS", "01.01.2026 00:01:01.500"),
    ],
)
def test_times_in_other_formats_become_timestamps(shop: Shop, time_format: str, written: str) -> None:
    schema = {"at": "string", "v": "int"}
    shop.warehouse.feed(
        "t_feed", path="landing/t/*", format="csv", schema=schema, time_column="at", time_format=time_format, settle=0
    )
    shop.warehouse.sql("CREATE STREAMING TABLE t AS SELECT at AS ts, v FROM STREAM t_feed")
    shop.drop("t", "1.csv", f"at,v\n{written},1\n")
    shop.load()
    assert shop.rows("t") == [{"ts": datetime(2026, 1, 1, 0, 1, 1, 500_000, tzinfo=UTC), "v": 1}]
    assert shop.freshness("t") == 61.5


def test_a_file_loads_once_however_often_the_warehouse_runs(shop: Shop) -> None:
    shop.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 10)])
    shop.load()
    shop.load()
    later = shop.again()
    later.events("a")
    later.load()
    assert later.bag("a") == {(moment(1), "x", 10): 1}


def test_the_same_content_under_another_name_is_skipped_unless_the_feed_may_repeat_itself(shop: Shop) -> None:
    shop.events("a")
    shop.events("b", duplicates="load")
    for name in ("a", "b"):
        shop.drop_events(name, "1.csv", [(1, "x", 10)])
        shop.drop_events(name, "again.csv", [(1, "x", 10)])
    shop.load()
    assert shop.bag("a") == {(moment(1), "x", 10): 1}
    assert shop.bag("b") == {(moment(1), "x", 10): 2}
    assert shop.counts()["a"].unaccounted == 0


def test_a_known_name_with_other_content_is_refused_and_the_table_untouched(shop: Shop) -> None:
    shop.events("a")
    shop.drop_events("a", "1.csv", [(1, "x", 10)])
    shop.load()
    shop.drop_events("a", "1.csv", [(1, "x", 10), (2, "y", 20)])
    shop.load()
    assert shop.bag("a") == {(moment(1), "x", 10): 1}
    (refused,) = shop.warehouse.status().feeds[0].troubled
    assert refused.state is ArrivalState.REFUSED
    assert "1.csv" in refused.position


def test_a_file_with_a_header_and_no_rows_is_progress(shop: Shop) -> None:
    shop.events("a", timestamp={"name": "%Y%m%d%H%M%S.csv"})
    shop.drop_events("a", "20260101000010.csv", [(10, "x", 1)])
    shop.load()
    shop.drop("a", "20260101000020.csv", "ts,k,v\n")
    shop.drop("a", "20260101000030.csv", "ts,k,v\n")
    shop.load()
    assert shop.freshness("a") == 30
    assert shop.bag("a") == {(moment(10), "x", 1): 1}


def test_rows_that_do_not_fit_are_rejected_with_file_line_and_reason(shop: Shop) -> None:
    shop.events("a", schema={**EVENTS, "k": "string not null"})
    content = f"ts,k,v\n{stamp(1)},x,1\n{stamp(2)},y,many\nnever,z,3\n{stamp(4)},,4\n{stamp(5)},x,5,6\n"
    path = shop.drop("a", "1.csv", content)
    shop.load()
    assert shop.bag("a") == {(moment(1), "x", 1): 1}
    rejects = {row["content"]: row for row in shop.rows("a__rejects")}
    assert rejects[f"{stamp(2)},y,many"]["reason"] == "column 'v': 'many' is not a int"
    assert rejects["never,z,3"]["reason"] == "column 'ts': 'never' is not a timestamp"
    assert "columns" in rejects[f"{stamp(5)},x,5,6"]["reason"]
    (empty,) = [row for row in rejects.values() if "empty" in row["reason"]]
    assert empty["reason"] == "column 'k' is empty"
    assert {row["file"] for row in rejects.values()} == {str(path)}
    assert shop.counts()["a"].in_rejects == 4
    shop.check()


def test_a_line_that_is_no_json_is_rejected(shop: Shop) -> None:
    shop.events("a", format="json")
    good = json.dumps({"ts": stamp(1), "k": "x", "v": 1})
    wrong = json.dumps({"ts": stamp(2), "k": "x", "v": "many"})
    shop.drop("a", "1.json", f"{good}\n{{torn\n{wrong}\n")
    shop.load()
    assert shop.bag("a") == {(moment(1), "x", 1): 1}
    assert {row["content"]: row["reason"] for row in shop.rows("a__rejects")} == {
        "{torn": "it is not valid JSON",
        wrong: "column 'v': 'many' is not a int",
    }
    shop.check()


def test_an_error_in_a_column_that_the_table_does_not_use_still_rejects_the_row(shop: Shop) -> None:
    shop.events("unused")
    schema = {"ts": "timestamp", "k": "string", "v": "int"}
    shop.warehouse.feed("n_feed", path="landing/n/*", format="csv", schema=schema, time_column="ts", settle="renamed")
    shop.warehouse.sql("CREATE STREAMING TABLE narrow AS SELECT ts, k FROM STREAM n_feed")
    shop.drop("n", "1.csv", f"ts,k,v\n{stamp(1)},x,1\n{stamp(2)},y,many\n")
    shop.load()
    assert shop.bag("narrow") == {(moment(1), "x"): 1}
    assert shop.counts()["narrow"].in_rejects == 1


def test_rows_later_than_the_lateness_are_kept_aside(shop: Shop) -> None:
    shop.events("a", lateness="10s")
    shop.drop_events("a", "1.csv", [(100, "x", 1)])
    shop.load()
    shop.drop_events("a", "2.csv", [(95, "in time", 2), (90, "too late", 3), (120, "new", 4)])
    shop.load()
    assert {row["k"] for row in shop.rows("a")} == {"x", "in time", "new"}
    assert [row["k"] for row in shop.rows("a__late")] == ["too late"]
    shop.check()


def test_lateness_does_not_hang_on_how_files_are_batched(shop: Shop) -> None:
    shop.events("a", lateness="0s")
    shop.events("b", lateness="0s")
    first, second = [(100, "x", 1)], [(90, "late", 2), (110, "new", 3)]
    shop.drop_events("a", "1.csv", first)
    shop.drop_events("a", "2.csv", second)
    shop.drop_events("b", "1.csv", first)
    shop.load()
    shop.drop_events("b", "2.csv", second)
    shop.load()
    assert shop.bag("a") == shop.bag("b")
    assert shop.bag("a__late") == shop.bag("b__late") == {(moment(90), "late", 2): 1}


def test_without_declared_lateness_rows_out_of_order_are_taken_in_and_views_are_revised(shop: Shop) -> None:
    shop.events("a")
    shop.view("copy", "SELECT ts, k, v FROM a WHERE v > 0")
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM a GROUP BY 1")
    shop.view("busiest", "SELECT max(n) AS n FROM minutes")
    shop.drop_events("a", "1.csv", [(10, "x", 1), (70, "x", 1), (130, "x", 1)])
    shop.load()
    shop.drop_events("a", "2.csv", [(130, "tie", 1), (20, "old", 1), (30, "old", 1)])
    shop.load()
    assert shop.rows("a__late") == []
    assert len(shop.rows("a")) == len(shop.rows("copy")) == 6
    assert {row["minute"]: row["n"] for row in shop.rows("minutes")} == {moment(0): 3, moment(60): 1, moment(120): 2}
    assert shop.rows("busiest") == [{"n": 3}]
    shop.check()


def test_rows_left_out_by_the_query_are_counted(shop: Shop) -> None:
    shop.events("a")
    shop.warehouse.feed("f_feed", path="landing/a/*", format="csv", schema=EVENTS, time_column="ts", settle="renamed")
    shop.warehouse.sql("CREATE STREAMING TABLE positive AS SELECT ts, k, v FROM STREAM f_feed WHERE v > 0")
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "x", -1), (3, "x", -2)])
    shop.load()
    count = shop.counts()["positive"]
    assert (count.arrived, count.in_table, count.filtered) == (3, 1, 2)
    shop.check()


def test_punctuation_makes_views_final_up_to_its_time(shop: Shop) -> None:
    shop.events("a", path="landing/a/*.csv", punctuation="landing/a/*.mark")
    shop.view("copy", "SELECT ts, k, v FROM a")
    shop.drop_events("a", "1.csv", [(10, "x", 1), (20, "y", 2)])
    shop.load()
    assert shop.freshness("copy") is None
    shop.drop("a", "1.mark", stamp(15))
    shop.load()
    assert shop.freshness("copy") == 15
    assert shop.bag("copy") == {(moment(10), "x", 1): 1}
    shop.drop_events("a", "2.csv", [(12, "late", 3), (25, "z", 4)])
    shop.load()
    assert [row["k"] for row in shop.rows("a__late")] == ["late"]
    shop.check()


def test_a_torn_gzip_file_is_quarantined_and_taken_up_again_once_mended(shop: Shop) -> None:
    shop.events("a")
    whole = gzip.compress(f"ts,k,v\n{stamp(1)},x,1\n".encode())
    path = shop.drop("a", "1.csv.gz", whole[:-5])
    shop.drop_events("a", "2.csv", [(2, "y", 2)])
    shop.load()
    assert shop.bag("a") == {(moment(2), "y", 2): 1}
    (held,) = shop.warehouse.status().feeds[0].troubled
    assert held.state is ArrivalState.QUARANTINED
    assert held.reason
    path.write_bytes(whole)
    assert "ready" in shop.warehouse.retry_file(str(path))
    shop.load()
    assert shop.bag("a") == {(moment(1), "x", 1): 1, (moment(2), "y", 2): 1}
    assert shop.warehouse.status().feeds[0].troubled == ()
    shop.check()


def test_a_file_that_two_feeds_hold_back_is_taken_up_again_in_both(shop: Shop) -> None:
    shop.events("a")
    shop.events("b", path="landing/a/*")
    path = shop.drop("a", "1.csv", b"ts,k,v\n\xff\n")
    shop.load()
    assert [len(feed.troubled) for feed in shop.warehouse.status().feeds] == [1, 1]
    path.write_text(f"ts,k,v\n{stamp(1)},x,1\n")
    shop.warehouse.retry_file(str(path))
    shop.load()
    assert shop.bag("a") == shop.bag("b") == {(moment(1), "x", 1): 1}
    with pytest.raises(FreshtideError, match="not quarantined"):
        shop.warehouse.retry_file(str(path))


def test_a_parquet_file_with_broken_pages_is_quarantined_and_the_others_load(shop: Shop) -> None:
    shop.events("a", format="parquet", timestamp="modified")
    rows = pa.table({"ts": [moment(5)], "k": ["x" * 1000], "v": pa.array([7], pa.int32())})
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, use_dictionary=False, compression="none")
    whole = sink.getvalue().to_pybytes()
    shop.drop("a", "good.parquet", whole)
    shop.drop("a", "bad.parquet", whole[:4] + bytes(200) + whole[204:])
    shop.load()
    assert shop.bag("a") == {(moment(5), "x" * 1000, 7): 1}
    (held,) = shop.warehouse.status().feeds[0].troubled
    assert held.position.endswith("bad.parquet")


def test_an_added_column_is_an_error_by_default_and_a_new_column_with_evolve(shop: Shop) -> None:
    shop.events("strict")
    shop.events("open", on_schema_change="evolve")
    shop.view("copy", "SELECT * FROM open")
    for name in ("strict", "open"):
        shop.drop_events(name, "1.csv", [(1, "x", 1)])
    shop.load()
    for name in ("strict", "open"):
        shop.drop(name, "2.csv", f"ts,k,v,extra\n{stamp(2)},y,2,new\n")
        shop.drop(name, "3.csv", f"ts,v\n{stamp(3)},3\n")
    shop.load()
    assert len(shop.rows("strict")) == 1
    reasons = " ".join(file.reason or "" for file in shop.warehouse.status().feeds[0].troubled)
    assert "extra" in reasons
    assert "'k'" in reasons or " k" in reasons
    expected = [
        {"ts": moment(1), "k": "x", "v": 1, "extra": None},
        {"ts": moment(2), "k": "y", "v": 2, "extra": "new"},
        {"ts": moment(3), "k": None, "v": 3, "extra": None},
    ]
    assert sorted(shop.rows("open"), key=lambda row: row["ts"]) == expected
    assert sorted(shop.rows("copy"), key=lambda row: row["ts"]) == expected
    shop.check()


def test_odd_file_names_are_just_names(shop: Shop) -> None:
    shop.events("a", lateness="0s")
    for number, name in enumerate(["a b.csv", "a[1].csv", "ü{x}.csv", "a%20b.csv", "a+b,c.csv", "q?*.csv"]):
        shop.drop_events("a", name, [(number, "x", number)])
    shop.load()
    shop.drop_events("a", "late one.csv", [(2, "late", 0), (10, "new", 0)])
    shop.load()
    assert len(shop.rows("a")) == 7
    assert [row["k"] for row in shop.rows("a__late")] == ["late"]
    shop.check()


def test_many_small_files_are_loaded_without_a_job(shop: Shop, spark: SparkSession) -> None:
    """A job takes longer for each file that it opens, also where all of them together are larger than one would be."""
    shop.events("a")
    shop.load()
    rows = [(second, "some text that is long enough to make files of some kilobytes", second) for second in range(130)]
    for number in range(60):
        shop.drop_events("a", f"{number}.csv", [(number * 130 + second, key, v) for second, key, v in rows])
    jobs = spark._jsc.sc().dagScheduler().numTotalJobs
    before = jobs()
    shop.load()
    assert jobs() == before
    assert sum(shop.bag("a").values()) == 60 * 130


@pytest.mark.slow
def test_large_updates_take_the_other_way_to_the_same_table(shop: Shop) -> None:
    shop.warehouse.close()
    large = Shop(shop.root, shop._spark, large_update="1kB")
    large.events("a", lateness="5s")
    large.warehouse.sql(
        "CREATE STREAMING TABLE days PARTITIONED BY (day) AS "
        "SELECT ts, k, v, CAST(ts AS DATE) AS day FROM STREAM a_feed"
    )
    large.view("minutes", "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM a GROUP BY 1")
    large.view("copy", "SELECT ts, k FROM a WHERE v >= 0")
    for batch in range(3):
        rows = [(batch * 1000 + i, f"k{i % 7}", i) for i in range(1000)]
        large.drop_events("a", f"{batch}.csv", rows)
        large.drop("a", f"bad{batch}.csv", f"ts,k,v\nnever,x,1\n{stamp(1)},first,1\n")
        large.load()
    large.check()
    assert len(large.rows("a")) == len(large.rows("days"))
    assert (large.root / "warehouse" / "days" / "day=2026-01-01").is_dir()
    assert len(large.rows("minutes")) == 50
    large.warehouse.close()
