"""Derived tables: maintenance, cuts, changed definitions, failures, requests."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from freshtide.core.errors import ProjectError
from freshtide.spark import DataFrame
from tests.examples import slow_except
from tests.warehouse.shop import Shop


def moment(second: int) -> datetime:
    return datetime(2026, 1, 1, second // 3600, second // 60 % 60, second % 60, tzinfo=UTC)


def files_of(shop: Shop, table: str) -> set[str]:
    snapshot = shop.warehouse.workbench.store.table(table).snapshot
    assert snapshot is not None
    return {file.path for file in snapshot.files}


def test_an_append_view_keeps_its_files_and_adds_to_them(shop: Shop) -> None:
    shop.events("a")
    shop.view("copy", "SELECT ts, k FROM a")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    before = files_of(shop, "copy")
    shop.drop_events("a", "2.csv", [(2, "y", 1)])
    shop.load()
    assert shop.maintenance("copy") == "append"
    assert before < files_of(shop, "copy")
    assert len(shop.rows("copy")) == 2


def test_a_bucketed_view_replaces_open_buckets_and_leaves_closed_ones_alone(shop: Shop) -> None:
    shop.events("a")
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM a GROUP BY 1")
    shop.drop_events("a", "1.csv", [(10, "x", 1), (70, "x", 1)])
    shop.load()
    first = files_of(shop, "minutes")
    shop.drop_events("a", "2.csv", [(80, "x", 1)])
    shop.load()
    assert shop.maintenance("minutes") == "partitions"
    kept = first & files_of(shop, "minutes")
    assert len(kept) == 1
    assert {row["minute"]: row["n"] for row in shop.rows("minutes")} == {moment(0): 1, moment(60): 2}
    shop.check()


def test_a_view_in_full_writes_only_the_rows_that_differ(shop: Shop) -> None:
    shop.events("a")
    shop.view("totals", "SELECT k, sum(v) AS total FROM a GROUP BY k", maintain="full")
    shop.view("order_of_keys", "SELECT k, rank() OVER (ORDER BY k) AS place FROM totals", maintain="full")
    shop.drop_events("a", "1.csv", [(at, f"k{at}", 1) for at in range(20)])
    shop.load()
    first = files_of(shop, "totals"), files_of(shop, "order_of_keys")
    shop.drop_events("a", "2.csv", [(30, "new", 1)])
    shop.load()
    # One row has come, and none has gone.
    assert first[0] < files_of(shop, "totals")
    shop.drop_events("a", "3.csv", [(40, "k3", 0), (41, "new", 0)])
    shop.load()
    # Equal totals: nothing differs, and nothing is written.
    assert first[0] < files_of(shop, "totals")
    assert first[1] < files_of(shop, "order_of_keys")
    shop.drop_events("a", "4.csv", [(50, "k3", 5)])
    shop.load()
    assert first[0].isdisjoint(files_of(shop, "totals"))
    assert len(shop.rows("totals")) == 21
    shop.check()


def test_a_view_that_emits_closed_buckets_waits_until_a_bucket_is_over(shop: Shop) -> None:
    shop.events("a")
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM a GROUP BY 1", emit="closed")
    shop.drop_events("a", "1.csv", [(10, "x", 1), (59, "x", 1)])
    shop.load()
    assert shop.rows("minutes") == []
    shop.drop_events("a", "2.csv", [(60, "x", 1)])
    shop.load()
    assert shop.bag("minutes") == {(moment(0), 2): 1}
    assert shop.freshness("minutes") == pytest.approx(60 - 1e-6, abs=1e-7)
    shop.check()


def test_a_view_over_two_sources_goes_as_far_as_the_slower_one(shop: Shop) -> None:
    shop.events("a")
    shop.events("b", lateness="30s")
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM a GROUP BY 1")
    shop.view(
        "compared",
        "SELECT m.minute, m.n, b.v FROM minutes m JOIN (SELECT date_trunc('minute', ts) AS minute, sum(v) AS v FROM b "
        "GROUP BY 1) b ON m.minute = b.minute",
    )
    shop.drop_events("a", "1.csv", [(10, "x", 1), (40, "x", 1), (50, "x", 1), (70, "x", 1)])
    shop.drop_events("b", "1.csv", [(20, "x", 5), (75, "x", 6)])
    shop.load()
    assert shop.freshness("minutes") == 70
    assert shop.freshness("compared") == 45
    # The stored minute has three rows by now; as of second 45 it had two.
    assert shop.bag("compared") == {(moment(0), 2, 5): 1}
    shop.check()


def test_python_tables_are_tables_like_others(shop: Shop) -> None:
    shop.events("a")

    @shop.warehouse.materialized_view(time_column="ts", maintain="append")
    def doubled(a: DataFrame) -> DataFrame:
        return a.selectExpr("ts", "v * 2 AS twice")

    @shop.warehouse.materialized_view(sources={"rows": "doubled"})
    def total(rows: DataFrame) -> DataFrame:
        return rows.groupBy().sum("twice").withColumnRenamed("sum(twice)", "total")

    for second in (1, 2, 3):
        shop.drop_events("a", f"{second}.csv", [(second, "x", second)])
        shop.load()
    assert sorted(row["twice"] for row in shop.rows("doubled")) == [2, 4, 6]
    assert shop.rows("total") == [{"total": 12}]
    shop.check()


def test_a_changed_definition_rebuilds_the_view_and_what_depends_on_it(shop: Shop) -> None:
    def declare(made: Shop, factor: str) -> None:
        made.events("a")
        made.view("scaled", f"SELECT ts, v {factor} AS v FROM a")
        made.view("largest", "SELECT max(v) AS v FROM scaled")

    declare(shop, "* 2")
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "x", 5)])
    shop.load()
    later = shop.again()
    declare(later, "* 100.5")
    later.load()
    assert sorted(float(row["v"]) for row in later.rows("scaled")) == [100.5, 502.5]
    assert float(later.rows("largest")[0]["v"]) == 502.5
    later.check()


def test_a_failing_table_is_given_up_and_the_others_go_on(tmp_path: Path, shop: Shop) -> None:
    shop.warehouse.close()
    made = Shop(tmp_path / "other", shop._spark, retry={"attempts": 2, "backoff": "10ms"})
    made.events("a")
    made.view("ratio", "SELECT ts, 100 / v AS share FROM a")
    made.view("downstream", "SELECT ts FROM ratio")
    made.view("copy", "SELECT ts, v FROM a")
    made.drop_events("a", "1.csv", [(1, "x", 1)])
    made.load()
    made.drop_events("a", "2.csv", [(2, "x", 0)])
    report = made.warehouse.run_once()
    assert list(report.failed) == ["ratio"]
    assert "zero" in report.failed["ratio"]
    assert len(made.rows("copy")) == 2
    assert made.freshness("ratio") == made.freshness("downstream") == 1
    status = {table.name: table.status for table in made.warehouse.status().tables}
    assert status == {"a": "active", "ratio": "failed", "downstream": "active", "copy": "active"}
    later = made.again()
    later.events("a")
    later.view("ratio", "SELECT ts, try_divide(100, v) AS share FROM a")
    later.view("downstream", "SELECT ts FROM ratio")
    later.view("copy", "SELECT ts, v FROM a")
    later.load()
    assert len(later.rows("ratio")) == 1, "a failed table waits until it is resumed"
    later.warehouse.resume("ratio")
    later.load()
    assert len(later.rows("ratio")) == len(later.rows("downstream")) == 2
    later.check()
    later.warehouse.close()


def test_a_paused_table_waits_and_its_dependents_with_it(shop: Shop) -> None:
    shop.events("a")
    shop.view("first", "SELECT ts, v FROM a")
    shop.view("second", "SELECT ts, v FROM first")
    shop.warehouse.pause("first")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    assert shop.freshness("a") == 1
    assert shop.freshness("first") is None
    assert shop.freshness("second") is None
    shop.warehouse.resume("first")
    shop.load()
    assert shop.freshness("second") == 1


def test_backfill_mends_a_table_that_was_tampered_with_and_what_was_built_on_it(shop: Shop) -> None:
    shop.events("a")
    shop.view("copy", "SELECT ts, k, v FROM a")
    shop.view("sums", "SELECT date_trunc('minute', ts) AS minute, sum(v) AS v FROM copy GROUP BY 1")
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "y", 2)])
    shop.load()
    bench = shop.warehouse.workbench
    snapshot = bench.store.table("copy").snapshot
    assert snapshot is not None
    with bench.leased():
        bench.store.table("copy").rewrite(add=(), remove=snapshot.files, at=bench.clock.now())
    (broken, *_) = list(shop.warehouse.audit("copy"))
    assert (broken.missing, broken.unexpected) == (2, 0)
    assert "rebuilt" in shop.warehouse.backfill("copy")
    assert len(shop.rows("copy")) == 2
    shop.check()


def test_backfill_of_a_base_table_takes_late_rows_in(shop: Shop) -> None:
    shop.events("a", lateness="0s")
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM a GROUP BY 1")
    shop.drop_events("a", "1.csv", [(61, "x", 1)])
    shop.load()
    shop.drop_events("a", "2.csv", [(59, "late", 1)])
    shop.load()
    assert len(shop.rows("a__late")) == 1
    shop.warehouse.backfill("a")
    shop.load()
    assert shop.rows("a__late") == []
    assert shop.bag("minutes") == {(moment(0), 1): 1, (moment(60), 1): 1}
    shop.check()


def test_a_stable_query_sees_all_tables_at_their_common_trailing_edge(shop: Shop) -> None:
    shop.events("a")
    shop.events("b")
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM a GROUP BY 1")
    shop.drop_events("a", "1.csv", [(5, "x", 1), (50, "x", 1)])
    shop.drop_events("b", "1.csv", [(10, "x", 1)])
    shop.load()
    query = "SELECT (SELECT sum(n) FROM minutes) AS n, (SELECT count(*) FROM b) AS m"
    assert shop.warehouse.query(query).collect() == [(2, 1)]
    assert shop.warehouse.query(query, stable=True).collect() == [(1, 1)]


def test_a_column_that_spark_cannot_resolve_is_a_problem_with_its_line(shop: Shop) -> None:
    shop.events("a")
    shop.view("typo", "SELECT ts,\n       vee AS w\nFROM a")
    with pytest.raises(ProjectError) as caught:
        shop.warehouse.run_once()
    (problem,) = caught.value.problems
    assert "`vee`" in problem.message
    assert problem.origin is not None
    assert problem.origin.line == 2


@pytest.mark.parametrize("updates", slow_except([20, 40], 20))
def test_many_updates_leave_few_files(shop: Shop, updates: int) -> None:
    shop.events("a")
    shop.view("copy", "SELECT ts, v FROM a")
    for second in range(updates):
        shop.drop_events("a", f"{second:03d}.csv", [(second, "x", second)])
        shop.load()
    assert len(shop.rows("a")) == len(shop.rows("copy")) == updates
    assert len(files_of(shop, "a")) < updates / 2
    shop.check()
