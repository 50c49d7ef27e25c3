"""Tables that are updated together: one update, one scan, each table committed once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from freshtide.observe import explain
from freshtide.runs import Places, replay_trace
from freshtide.spark import DataFrame, SparkSession
from tests.warehouse.shop import Shop

MINUTES = "SELECT date_trunc('minute', ts) AS minute, count(*) AS n FROM a GROUP BY 1"
KEYS = "SELECT date_trunc('minute', ts) AS minute, k, sum(v) AS v FROM a GROUP BY 1, 2"
LARGE = "SELECT ts, v FROM a WHERE v > 1"


def declare(shop: Shop) -> None:
    """Three views of every kind of maintenance over one table, in a group, and one on top of two of them."""
    shop.events("a")
    shop.view("minutes", MINUTES, update_group="per_minute")
    shop.view("keys", KEYS, update_group="per_minute", priority="4")
    shop.view("large", LARGE, update_group="per_minute")
    shop.view("busiest", "SELECT m.minute, k.k, m.n FROM minutes m JOIN keys k ON m.minute = k.minute")


def rounds(shop: Shop, count: int = 3) -> Iterator[None]:
    for number in range(count):
        rows = [(40 * number + second, key, second % 4) for second in range(0, 40, 7) for key in ("x", "y")]
        shop.drop_events("a", f"{number}.csv", rows)
        yield


def updates(shop: Shop, table: str) -> int:
    return shop.warehouse.workbench.catalog.tables.get(table).updates


def bytes_read(spark: SparkSession) -> int:
    """What Spark has read from files so far, but for what it reads of Parquet files through vectors."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return int(jvm.org.apache.hadoop.fs.FileSystem.getGlobalStorageStatistics().get("file").getLong("bytesRead"))


@contextmanager
def reading(spark: SparkSession, read: list[int]) -> Iterator[None]:
    before = bytes_read(spark)
    yield
    read.append(bytes_read(spark) - before)


def test_the_tables_of_a_group_are_updated_together_and_so_is_what_depends_on_them(shop: Shop) -> None:
    declare(shop)
    for _ in rounds(shop):
        shop.load()
        shop.check()
    assert shop.freshness("minutes") == shop.freshness("keys") == shop.freshness("large") == 115
    assert shop.freshness("busiest") == 115
    assert updates(shop, "minutes") == updates(shop, "keys") == updates(shop, "large") == 3
    trace = Places(shop.warehouse.project).trace
    assert '"StartUpdate","table":"per_minute"' in trace.read_text()
    assert '"StartUpdate","table":"minutes"' not in trace.read_text()
    assert replay_trace(trace).difference is None


def test_what_a_group_costs_is_learnt_for_the_group_and_remembered(shop: Shop) -> None:
    declare(shop)
    for _ in rounds(shop):
        shop.load()
    tables = ("large", "keys", "minutes")
    learnt = shop.warehouse.workbench.catalog.groups.get("per_minute", tables)
    assert learnt is not None
    assert learnt.weight > 1.0
    assert shop.warehouse.workbench.catalog.groups.get("per_minute", tables[:2]) is None, "another group"


def declare_readers(shop: Shop, count: int, **properties: str) -> list[str]:
    """Views that each read all columns of a table."""
    shop.events("a")
    names = [f"view_{number}" for number in range(count)]
    for name in names:
        columns = f"max(concat(k, '{name}')) AS k, sum(v) AS v"
        shop.view(name, f"SELECT date_trunc('minute', ts) AS minute, {columns} FROM a GROUP BY 1", **properties)
    return names


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False], ids=["everything", "what is new"])
def test_a_group_scans_its_source_once(tmp_path: Path, spark: SparkSession, first: bool) -> None:
    read: list[int] = []
    for name, count, properties in (("one", 1, {}), ("group", 4, {"update_group": "readers"}), ("apart", 4, {})):
        # On a slow machine what is new would be cut into two updates, with a scan each.
        shop = Shop(tmp_path / name, spark, tracks=1, scheduler={"chopping": None})
        views = declare_readers(shop, count, **properties)
        if not first:
            shop.drop_events("a", "0.csv", [(1, "x", 1)])
            shop.load()
        for view in views:
            shop.warehouse.pause(view)
        shop.drop_events("a", "1.csv", [(60 + i % 60, f"{i * 7919 % 100_003:0>30}", i) for i in range(20_000)])
        shop.load()
        with reading(spark, read):
            for view in views:
                shop.warehouse.resume(view)
            shop.load()
        assert {updates(shop, view) for view in views} == {1 if first else 2}
        shop.check()
        shop.warehouse.close()
    # Of a Parquet file these are the footers, once for each time that it is scanned.
    one, group_of_four, apart = read
    assert one > 500
    assert group_of_four == one
    assert apart == 4 * one


@pytest.mark.slow
def test_base_tables_of_one_feed_are_loaded_from_one_read_of_the_files(tmp_path: Path, spark: SparkSession) -> None:
    read: list[int] = []
    for name, count, group in (("one", 1, False), ("group", 4, True), ("apart", 4, False)):
        shop = Shop(tmp_path / name, spark, tracks=1)
        settings = {"path": "landing/a/*", "format": "csv", "time_column": "ts", "settle": "renamed", "period": "10s"}
        shop.warehouse.feed("a_feed", schema={"ts": "timestamp", "k": "string", "v": "int"}, **settings)
        together = "TBLPROPERTIES ('update_group' = 'parts')" if group else ""
        for number in range(count):
            # Most rows are left out, so each table also has to account for them.
            query = f"SELECT ts, v FROM STREAM a_feed WHERE v % 10 = {number}"
            shop.warehouse.sql(f"CREATE STREAMING TABLE part_{number} {together} AS {query}")
        shop.drop_events("a", "1.csv", [(i % 60, "x" * 40, i) for i in range(20_000)])
        _ = shop.warehouse.workbench
        with reading(spark, read):
            shop.load()
        assert [len(shop.rows(f"part_{number}")) for number in range(count)] == [2_000] * count
        shop.check()
        shop.warehouse.close()
    one, group_of_four, apart = read
    assert one > 1_000_000
    assert group_of_four <= 1.1 * one
    assert apart > 3 * one


def test_rows_that_do_not_fit_are_set_aside_by_every_table_of_a_group(shop: Shop) -> None:
    shop.events("a", schema={"ts": "timestamp", "k": "string", "v": "int"}, lateness="5s")
    for key in ("x", "y"):
        query = f"SELECT * FROM STREAM a_feed WHERE k = '{key}'"
        shop.warehouse.sql(f"CREATE STREAMING TABLE {key}s TBLPROPERTIES ('update_group' = 'both') AS {query}")
    shop.drop("a", "1.csv", "ts,k,v\n2026-01-01T00:01:00Z,x,1\n2026-01-01T00:01:01Z,y,many\n")
    shop.load()
    shop.drop("a", "2.csv", "ts,k,v\n2026-01-01T00:00:01Z,x,1\n2026-01-01T00:01:09Z,y,3\n")
    shop.load()
    assert (len(shop.rows("xs")), len(shop.rows("ys"))) == (1, 1)
    assert len(shop.rows("xs__rejects")) == len(shop.rows("ys__rejects")) == 1
    assert len(shop.rows("xs__late")) == 1
    shop.check()


def failing(tmp_path: Path, spark: SparkSession) -> Shop:
    made = Shop(tmp_path / "failing", spark, retry={"attempts": 2, "backoff": "10ms"})
    made.events("a")
    made.view("copy", "SELECT ts, v FROM a", update_group="shares")
    made.view("ratio", "SELECT ts, 100 / v AS share FROM a", update_group="shares")
    made.view("downstream", "SELECT ts FROM copy")
    return made


def test_when_a_table_fails_the_others_stay_committed_and_the_culprit_is_named(
    tmp_path: Path, spark: SparkSession
) -> None:
    shop = failing(tmp_path, spark)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    shop.drop_events("a", "2.csv", [(2, "x", 0)])
    report = shop.warehouse.run_once()
    assert sorted(report.failed) == ["copy", "ratio"], "the group has failed as a whole"
    assert all(reason.startswith("'ratio': ") and "zero" in reason for reason in report.failed.values())
    assert len(shop.rows("copy")) == 2
    assert updates(shop, "copy") == 2, "it was not updated again when the group was tried again"
    assert shop.freshness("downstream") == 1, "the group is as fresh as its least fresh table"
    status = {table.name: (table.status, table.update_group) for table in shop.warehouse.status().tables}
    assert status["copy"] == status["ratio"] == ("failed", "shares")
    later = shop.again()
    later.events("a")
    later.view("copy", "SELECT ts, v FROM a", update_group="shares")
    later.view("ratio", "SELECT ts, try_divide(100, v) AS share FROM a", update_group="shares")
    later.view("downstream", "SELECT ts FROM copy")
    assert "together with 'copy'" in later.warehouse.resume("ratio")
    later.load()
    assert later.freshness("ratio") == later.freshness("downstream") == 2
    assert updates(later, "copy") == 2
    later.check()
    later.warehouse.close()


def test_a_crash_between_the_commits_of_two_tables_is_mended(shop: Shop) -> None:
    declare(shop)
    arrivals = rounds(shop, 2)
    next(arrivals)
    shop.load()
    next(arrivals)
    shop.load()
    later = shop.again()
    # As if the process had died after the commit of the first table of the group and before those of the others.
    for table in ("keys", "large", "busiest"):
        shop.last_commit(table).unlink()
    declare(later)
    later.load()
    assert later.freshness("keys") == later.freshness("large") == later.freshness("busiest") == 75
    numbers = {name: later.warehouse.workbench.store.table(name).snapshot for name in ("minutes", "keys", "large")}
    assert {snapshot.number for snapshot in numbers.values() if snapshot} == {2}, "each was updated once"
    later.check()


@pytest.mark.slow
def test_revisions_reach_the_tables_of_a_group_and_what_depends_on_them(shop: Shop) -> None:
    declare(shop)
    for _ in rounds(shop):
        shop.load()
    shop.drop_events("a", "late.csv", [(3, "x", 50), (65, "y", 50)])
    shop.load()
    shop.check()
    assert shop.freshness("busiest") == 115


def test_a_group_that_failed_after_a_revision_tells_the_dependents_of_those_that_had_it(
    tmp_path: Path, spark: SparkSession
) -> None:
    shop = failing(tmp_path, spark)
    shop.drop_events("a", "1.csv", [(10, "x", 1)])
    shop.load()
    shop.drop_events("a", "2.csv", [(5, "x", 0)])
    assert sorted(shop.warehouse.run_once().failed) == ["copy", "ratio"]
    later = shop.again()
    later.events("a")
    later.view("copy", "SELECT ts, v FROM a", update_group="shares")
    later.view("ratio", "SELECT ts, try_divide(100, v) AS share FROM a", update_group="shares")
    later.view("downstream", "SELECT ts FROM copy")
    later.warehouse.resume("copy")
    later.load()
    assert len(later.rows("downstream")) == 2
    later.check()
    later.warehouse.close()


def test_a_table_that_joins_a_group_catches_up_while_the_others_stay(shop: Shop) -> None:
    def declare_apart(made: Shop, *views: str) -> None:
        made.events("a")
        for name in views:
            made.view(name, {"minutes": MINUTES, "keys": KEYS, "large": LARGE}[name], update_group="per_minute")

    declare_apart(shop, "minutes", "keys")
    for _ in rounds(shop, 2):
        shop.load()
    later = shop.again()
    declare_apart(later, "minutes", "keys", "large")
    later.load()
    assert later.freshness("large") == later.freshness("minutes") == 75
    assert (updates(later, "minutes"), updates(later, "large")) == (2, 1)
    later.check()


def test_a_changed_definition_rebuilds_just_that_table_of_the_group(shop: Shop) -> None:
    declare(shop)
    for _ in rounds(shop, 2):
        shop.load()
    later = shop.again()
    later.events("a")
    later.view("minutes", MINUTES.replace("count(*)", "count(*) + 1"), update_group="per_minute")
    later.view("keys", KEYS, update_group="per_minute", priority="4")
    later.load()
    assert (updates(later, "minutes"), updates(later, "keys")) == (3, 2)
    later.check()


@pytest.mark.slow
def test_backfill_computes_all_tables_of_the_group_anew(shop: Shop) -> None:
    declare(shop)
    for _ in rounds(shop, 2):
        shop.load()
    assert "rebuilt" in shop.warehouse.backfill("keys")
    assert [updates(shop, name) for name in ("minutes", "keys", "large", "busiest")] == [3, 3, 3, 3]
    shop.check()


def test_a_group_is_paused_and_resumed_as_a_whole(shop: Shop) -> None:
    declare(shop)
    assert shop.warehouse.pause("keys") == ("'keys' is paused, together with 'minutes', 'large' of its update group.")
    next(rounds(shop, 1))
    shop.load()
    assert shop.freshness("a") == 35
    assert shop.freshness("minutes") is None
    told = explain(shop.warehouse.project, shop.warehouse.workbench.catalog, "minutes", 0.0)
    assert told.outlook["updated_as"] == "per_minute"
    assert told.outlook["waits"] == "it is paused"
    assert any("together with 'keys' and 'large' as the group 'per_minute'" in said for said in told.sentences)
    assert told.outlook["priority"]["own"] == 6.0, "the sum of its tables'"
    shop.warehouse.resume("large")
    shop.load()
    assert shop.freshness("minutes") == 35


def test_python_tables_can_be_in_a_group(shop: Shop) -> None:
    shop.events("a")

    @shop.warehouse.materialized_view(time_column="ts", maintain="append", update_group="both")
    def doubled(a: DataFrame) -> DataFrame:
        return a.selectExpr("ts", "v * 2 AS twice")

    shop.view("large", LARGE, update_group="both")
    for _ in rounds(shop, 2):
        shop.load()
    assert updates(shop, "doubled") == updates(shop, "large") == 2
    shop.check()
