"""Times that are computed from several columns: files in, instants out, and what has none is put aside."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from freshtide.core.errors import ProjectError
from tests.feeds.clocks import instant_of
from tests.warehouse.shop import Shop

SCHEMA = {"day": "string", "hhmm": "string", "v": "int"}
TIME = "to_timestamp(concat(day, ' ', lpad(hhmm, 4, '0')), 'yyyy-MM-dd HHmm')"
STAMPED = {"name": "%Y%m%dT%H%M.csv"}


def declare(shop: Shop, name: str, *, columns: str = "*", **more: Any) -> None:
    given = {"schema": SCHEMA, "time": TIME, "timestamp": STAMPED, "future_limit": "none", "format": "csv"}
    given |= {"path": f"landing/{name}/*", "settle": "renamed", "period": "10s"}
    shop.warehouse.feed(f"{name}_feed", **{**given, **more})
    shop.warehouse.sql(f"CREATE STREAMING TABLE {name} AS SELECT {columns} FROM STREAM {name}_feed")


def problems(shop: Shop) -> list[str]:
    with pytest.raises(ProjectError) as refused:
        shop.load()
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kolkata"])
@pytest.mark.parametrize("function", ["to_timestamp", "to_timestamp_ntz"])
def test_the_time_of_a_row_is_computed_from_its_columns_by_the_clocks_of_the_zone(
    shop: Shop, zone: str, function: str
) -> None:
    declare(shop, "a", time_zone=zone, time=TIME.replace("to_timestamp", function))
    written = [("2026-05-01", "930"), ("2026-03-29", "0230"), ("2025-10-26", "230"), ("1950-07-01", "0000")]
    lines = [f"{day},{clock},{place}" for place, (day, clock) in enumerate(written)]
    shop.drop("a", "20260501T1200.csv", "\n".join(["day,hhmm,v", *lines]))
    shop.load()
    local = [datetime.strptime(f"{day} {clock:0>4}", "%Y-%m-%d %H%M") for day, clock in written]
    assert {row["v"]: row["event_time"] for row in shop.rows("a")} == {
        place: time.replace(tzinfo=UTC) if zone == "UTC" else instant_of(time, zone) for place, time in enumerate(local)
    }
    assert shop.rows("a")[0].keys() == {"day", "hhmm", "v", "event_time"}
    shop.check()


def test_a_row_whose_time_fails_or_is_missing_is_rejected_and_the_reason_names_the_expression(shop: Shop) -> None:
    declare(shop, "a", time_column="at")
    shop.drop("a", "20260501T1200.csv", "day,hhmm,v\n2026-05-01,930,1\nsoon,930,2\n,930,3\n2026-05-01,930,x\n")
    # What occurs twice in an expression is computed beforehand: that must not fail the load either.
    twice = "make_timestamp(CAST(day AS INT), CAST(day AS INT) - 2020, CAST(hhmm AS INT), 1, 1, 1)"
    declare(shop, "b", time=twice)
    shop.drop("b", "20260501T1200.csv", "day,hhmm,v\n2026,5,1\nsoon,5,2\n2026,99,3\n")
    shop.load()
    assert [(row["at"], row["v"]) for row in shop.rows("a")] == [(datetime(2026, 5, 1, 9, 30, tzinfo=UTC), 1)]
    told = {row["reason"]: row["content"] for row in shop.rows("a__rejects")}
    assert told.keys() == {f"its time cannot be computed: {TIME}", "column 'v': 'x' is not a int"}
    assert sum("cannot be computed" in row["reason"] for row in shop.rows("a__rejects")) == 2
    assert [row["v"] for row in shop.rows("b")] == [1]
    assert {row["reason"] for row in shop.rows("b__rejects")} == {f"its time cannot be computed: {twice}"}
    shop.check()


def test_a_computed_time_is_late_or_of_the_future_like_any_other(shop: Shop) -> None:
    declare(shop, "a", lateness="5m", future_limit="1h")
    shop.drop("a", "20260501T1200.csv", "day,hhmm,v\n2026-05-01,1155,1\n")
    shop.load()
    shop.drop("a", "20260501T1300.csv", "day,hhmm,v\n2026-05-01,1130,2\n2999-05-01,1130,3\n2026-05-01,1258,4\n")
    shop.load()
    assert {row["v"] for row in shop.rows("a")} == {1, 4}
    assert {row["v"] for row in shop.rows("a__late")} == {2}
    (reject,) = shop.rows("a__rejects")
    assert "is more than 1h after its file came" in reject["reason"]
    shop.check()


def test_views_and_update_tables_take_a_computed_time_for_what_it_is(shop: Shop) -> None:
    declare(shop, "a")
    shop.view("per_hour", "SELECT window.start AS hour, sum(v) AS v FROM a GROUP BY window(event_time, '1 hour')")
    shop.warehouse.sql(
        "CREATE STREAMING TABLE newest TBLPROPERTIES ('update_key'='day') AS SELECT * FROM STREAM a_feed"
    )
    shop.drop("a", "20260501T1200.csv", "day,hhmm,v\n2026-05-01,900,1\n2026-05-01,930,2\n2026-05-01,1000,4\n")
    shop.drop("a", "20260501T1400.csv", "day,hhmm,v\n2026-05-01,1300,8\n")
    shop.load()
    per_hour = {row["hour"].hour: row["v"] for row in shop.rows("per_hour")}
    assert (per_hour[9], per_hour[10]) == (3, 4)
    assert [row["v"] for row in shop.rows("newest")] == [8]
    shop.check()


def test_a_file_that_brings_the_computed_column_itself_is_put_aside(shop: Shop) -> None:
    declare(shop, "a", on_schema_change="evolve")
    shop.drop("a", "20260501T1200.csv", "day,hhmm,v,more\n2026-05-01,930,1,x\n")
    shop.drop("a", "20260501T1300.csv", "day,hhmm,v,Event_Time\n2026-05-01,930,2,x\n")
    shop.load()
    assert [(row["v"], row["more"]) for row in shop.rows("a")] == [(1, "x")]
    counts = shop.warehouse.workbench.catalog.arrivals.counts()["a_feed"]
    assert counts["quarantined"] == 1


@pytest.mark.parametrize(
    ("time", "told"),
    [
        ("to_timestamp(day, 'yyyy')\n -- of a year", None),
        ("day", "it gives a string, not a timestamp."),
        ("CAST(day AS DATE)", "it gives a date, not a timestamp."),
        ("no_such_function(day)", "no_such_function"),
        ("to_timestamp(day, 1, 2, 3, 4)", "to_timestamp"),
        ("timestamp_seconds(bit_length(CAST(java_method('java.lang.System', 'nanoTime') AS STRING)))", "Java virtual"),
    ],
)
def test_what_spark_finds_wrong_with_an_expression_is_told_without_a_traceback(
    shop: Shop, time: str, told: str | None
) -> None:
    declare(shop, "a", time=time)
    if told is None:
        shop.load()
        return
    (problem,) = problems(shop)
    assert told in problem
    assert "'time'" in problem
    assert "Traceback" not in problem
