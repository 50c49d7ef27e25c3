"""Reference tables: views are as fresh as what has a time, over the newest content of what has none."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshtide.core.errors import FreshtideError
from freshtide.observe import explain
from tests.waiting import or_too_late
from tests.warehouse.shop import Shop

NAMES = {"k": "string", "name": "string"}
REFERENCE = "TBLPROPERTIES ('reference' = 'true')"
NEWEST_ROWS = "TBLPROPERTIES ('reference' = 'true', 'update_key' = 'k')"
JOINED = "SELECT a.ts, a.k, a.v, d.name FROM a JOIN dim d ON a.k = d.k"
KEPT = "SELECT a.ts, a.k, a.v, d.name FROM a LEFT JOIN dim d ON a.k = d.k"
COUNTED = (
    "SELECT date_trunc('minute', a.ts) AS minute, d.name, count(*) AS n, sum(a.v) AS v "
    "FROM a JOIN dim d ON a.k = d.k GROUP BY 1, 2"
)


def dimension(shop: Shop, **settings: Any) -> None:
    """A feed of names of keys, without any time."""
    given = {"path": "landing/dim/*", "format": "csv", "schema": NAMES, "settle": "renamed", **settings}
    shop.warehouse.feed("dim_feed", **given)
    shop.warehouse.sql("CREATE STREAMING TABLE dim AS SELECT * FROM STREAM dim_feed")


def drop_names(shop: Shop, file: str, **names: str) -> Path:
    lines = [f"{key},{name}" for key, name in names.items()]
    return shop.drop("dim", file, "\n".join(["k,name", *lines]) + "\n")


def by_duckdb(shop: Shop, query: str, **tables: str) -> Counter[tuple[Any, ...]]:
    """What a query gives over files of the landing folders, by another engine."""
    with duckdb.connect() as engine:
        for name, pattern in tables.items():
            types = ", types = {'ts': 'TIMESTAMP'}" if name == "a" else ""
            files = str(shop.root / "landing" / pattern)
            engine.execute(f"CREATE VIEW {name} AS SELECT * FROM read_csv('{files}', header = true{types})")
        found = engine.execute(query).fetchall()
    return Counter(tuple(v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in row) for row in found)


def why(shop: Shop, table: str) -> str:
    told = explain(shop.warehouse.project, shop.warehouse.workbench.catalog, table, time.time(), run_going_on=False)
    return " ".join(told.sentences)


def test_facts_join_a_dimension_without_time_and_follow_it_when_it_changes(shop: Shop) -> None:
    shop.events("a")
    dimension(shop)
    shop.view("joined", JOINED)
    shop.view("kept", KEPT)
    shop.view("counted", COUNTED)
    drop_names(shop, "1.csv", x="Xaver", y="Yvonne")
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "y", 2), (3, "z", 3)])
    shop.load()
    assert {name: shop.maintenance(name) for name in ("joined", "kept", "counted")} == {
        "joined": "append",
        "kept": "append",
        "counted": "partitions",
    }
    # Facts alone: the rows that are there stay in their files.
    shop.drop_events("a", "2.csv", [(70, "x", 4), (71, "z", 5)])
    shop.load()
    assert shop.freshness("joined") == 71
    for name, query in (("joined", JOINED), ("kept", KEPT), ("counted", COUNTED)):
        assert shop.bag(name) == by_duckdb(shop, query, a="a/*.csv", dim="dim/*.csv"), name
    shop.check()
    # The dimension alone: what was joined before is joined anew.
    drop_names(shop, "2.csv", z="Zoe")
    shop.load()
    assert shop.freshness("joined") == 71
    for name, query in (("joined", JOINED), ("kept", KEPT), ("counted", COUNTED)):
        assert shop.bag(name) == by_duckdb(shop, query, a="a/*.csv", dim="dim/*.csv"), name
    shop.check()


def test_facts_alone_add_to_a_view_and_leave_its_files(shop: Shop) -> None:
    shop.events("a")
    dimension(shop)
    shop.view("joined", JOINED)
    drop_names(shop, "1.csv", x="Xaver")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    stored = shop.warehouse.workbench.store.table("joined")
    assert stored.snapshot is not None
    before = {file.path for file in stored.snapshot.files}
    shop.drop_events("a", "2.csv", [(2, "x", 2)])
    shop.load()
    assert stored.snapshot is not None
    assert before < {file.path for file in stored.snapshot.files}
    drop_names(shop, "2.csv", y="Yvonne")
    shop.load()
    assert stored.snapshot is not None
    assert before.isdisjoint(file.path for file in stored.snapshot.files)


def test_the_newest_file_of_a_feed_can_be_all_that_there_is(shop: Shop) -> None:
    shop.events("a")
    dimension(shop, content="newest", timestamp={"name": "%Y-%m-%d.csv"})
    shop.view("joined", JOINED)
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "y", 2)])
    drop_names(shop, "2026-01-01.csv", x="Xaver", y="Yvonne")
    shop.load()
    assert shop.bag("joined") == by_duckdb(shop, JOINED, a="a/*.csv", dim="dim/2026-01-01.csv")
    # Three at once, of which one counts; one of them is older than what is there.
    drop_names(shop, "2026-01-03.csv", x="Xenia")
    drop_names(shop, "2026-01-02.csv", x="Nobody", y="Nobody")
    drop_names(shop, "2025-12-31.csv", x="Nobody")
    shop.load()
    assert shop.bag("dim") == {("x", "Xenia"): 1}
    assert shop.bag("joined") == by_duckdb(shop, JOINED, a="a/*.csv", dim="dim/2026-01-03.csv")
    shop.check()
    # What was there before may come back, under another name.
    drop_names(shop, "2026-01-04.csv", x="Xaver", y="Yvonne")
    shop.load()
    assert shop.bag("joined") == by_duckdb(shop, JOINED, a="a/*.csv", dim="dim/2026-01-01.csv")
    shop.check()


def test_an_older_file_that_comes_later_changes_nothing(shop: Shop) -> None:
    shop.events("a")
    dimension(shop, content="newest", timestamp={"name": "%Y-%m-%d.csv"})
    shop.view("joined", JOINED)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    drop_names(shop, "2026-01-02.csv", x="Xaver")
    shop.load()
    drop_names(shop, "2026-01-01.csv", x="Nobody")
    shop.load()
    assert shop.bag("dim") == {("x", "Xaver"): 1}
    assert shop.bag("joined") == by_duckdb(shop, JOINED, a="a/*.csv", dim="dim/2026-01-02.csv")
    shop.check()


def test_a_view_waits_for_the_first_load_of_its_dimension_and_status_and_explain_say_so(shop: Shop) -> None:
    shop.events("a")
    dimension(shop)
    shop.view("joined", JOINED)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    assert shop.rows("joined") == []
    told = why(shop, "joined")
    assert "It waits for the first load of its reference table 'dim', whose files come to landing/dim/*" in told
    drop_names(shop, "1.csv", x="Xaver")
    shop.load()
    assert shop.bag("joined") == by_duckdb(shop, JOINED, a="a/*.csv", dim="dim/*.csv")
    told = why(shop, "joined")
    assert "It does not wait for 'dim'" in told
    report = next(table for table in shop.warehouse.status().tables if table.name == "dim")
    assert (report.is_reference, report.staleness, report.update_staleness) == (True, None, 0.0)


def test_a_table_whose_time_is_just_a_column_takes_rows_of_any_time_and_revises_its_views(shop: Shop) -> None:
    shop.events("a")
    shop.events("d", properties=REFERENCE, lateness="5s", period="7d")
    query = "SELECT a.ts, a.k, d.v FROM a JOIN d ON a.k = d.k"
    shop.view("joined", query)
    shop.drop_events("d", "1.csv", [(3600, "x", 1)])
    shop.drop_events("a", "1.csv", [(10, "x", 1), (20, "y", 1)])
    shop.load()
    shop.drop_events("d", "2.csv", [(1, "y", 2)])
    shop.drop_events("a", "2.csv", [(7200, "y", 1)])
    shop.load()
    assert shop.freshness("joined") == 7200
    assert shop.bag("joined") == by_duckdb(shop, query, a="a/*.csv", d="d/*.csv")
    shop.check()


def test_an_update_table_that_is_a_dimension_is_followed_by_facts_that_append(shop: Shop) -> None:
    shop.events("a")
    shop.events("d", properties=NEWEST_ROWS)
    query = "SELECT a.ts, a.k, d.v FROM a JOIN d ON a.k = d.k"
    shop.view("joined", query)
    shop.drop_events("d", "1.csv", [(1, "x", 1), (1, "y", 1)])
    shop.drop_events("a", "1.csv", [(10, "x", 1), (20, "y", 1)])
    shop.load()
    assert shop.maintenance("joined") == "append"
    shop.drop_events("a", "2.csv", [(30, "y", 1)])
    shop.load()
    assert Counter(row["v"] for row in shop.rows("joined")) == {1: 3}
    shop.check()
    shop.drop_events("d", "2.csv", [(2, "y", 7)])
    shop.load()
    assert Counter((row["k"], row["v"]) for row in shop.rows("joined")) == {("x", 1): 1, ("y", 7): 2}
    shop.check()


def declare_levels(shop: Shop) -> None:
    """A view of facts and a dimension, one over it, one that reads the dimension twice, by itself and through it."""
    shop.events("a")
    dimension(shop)
    shop.view("named", JOINED)
    shop.view("minutes", "SELECT date_trunc('minute', ts) AS minute, name, sum(v) AS v FROM named GROUP BY 1, 2")
    shop.view("sites", "SELECT name, count(*) AS n FROM dim GROUP BY name")
    shop.view(
        "twice",
        "SELECT n.ts, n.name, d.name AS same, s.n FROM named n JOIN dim d ON n.k = d.k JOIN sites s ON n.name = s.name",
    )


LEVELS = {
    "minutes": "SELECT date_trunc('minute', a.ts), d.name, sum(a.v)::BIGINT FROM a JOIN dim d ON a.k = d.k "
    "GROUP BY ALL",
    "twice": "SELECT a.ts, d.name, d.name, s.n FROM a JOIN dim d ON a.k = d.k "
    "JOIN (SELECT name, count(*) AS n FROM dim GROUP BY name) s ON s.name = d.name",
}


@pytest.mark.slow
def test_views_over_views_come_to_one_content_through_restarts_and_changes_in_between(shop: Shop) -> None:
    declare_levels(shop)
    drop_names(shop, "1.csv", x="Xaver", y="Yvonne")
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "y", 2), (3, "z", 3)])
    shop.load()
    shop.check()
    # The dimension lands, and the run ends before any view has followed.
    for view in ("named", "minutes", "twice", "sites"):
        shop.warehouse.pause(view)
    drop_names(shop, "2.csv", z="Zoe")
    shop.load()
    shop.check()
    again = shop.again()
    declare_levels(again)
    for view in ("minutes", "twice", "sites"):
        again.warehouse.resume(view)
    again.drop_events("a", "2.csv", [(70, "z", 4)])
    again.load()
    # What lags behind holds another content than what reads the dimension by itself: that computes it from its sources.
    again.check()
    again.warehouse.resume("named")
    again.load()
    again.check()
    for view, query in LEVELS.items():
        assert again.bag(view) == by_duckdb(again, query, a="a/*.csv", dim="dim/*.csv"), view
    again.warehouse.close()


def test_an_audit_finds_a_wrong_row_and_says_what_is_not_kept_any_more(shop: Shop) -> None:
    shop.events("a")
    dimension(shop)
    shop.view("joined", JOINED)
    drop_names(shop, "1.csv", x="Xaver")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    shop.warehouse.pause("joined")
    drop_names(shop, "2.csv", y="Yvonne")
    shop.load()
    (result,) = shop.warehouse.audit("joined")
    assert result.passed, "it is what its commit says, though the dimension has moved on"
    stored = shop.warehouse.workbench.store.table("joined")
    assert stored.snapshot is not None
    record = stored.snapshot.record
    assert record is not None
    assert record.contents == {"dim": 1}
    # Somebody changes a row behind the back of the commit.
    (file,) = (stored.folder / name.path for name in stored.snapshot.files)
    pl.read_parquet(file).with_columns(pl.lit("Nobody").alias("name")).write_parquet(file)
    (result,) = shop.warehouse.audit("joined")
    assert (result.missing, result.unexpected) == (1, 1)
    for path in (shop.root / "warehouse" / "dim").glob("*.parquet"):
        path.unlink()
    with pytest.raises(FreshtideError, match="What 'dim' held after its update 1 is not kept any more"):
        list(shop.warehouse.audit("joined"))


def test_a_view_that_is_declared_as_reference_holds_nothing_back(shop: Shop) -> None:
    shop.events("a")
    shop.events("b", period="1d")
    shop.view("newest", "SELECT ts, k, v FROM b", reference="true")
    query = "SELECT a.ts, a.k, b.v FROM a JOIN {} b ON a.k = b.k"
    shop.view("joined", query.format("newest"))
    shop.drop_events("b", "1.csv", [(1, "x", 1)])
    shop.drop_events("a", "1.csv", [(10, "x", 1)])
    shop.load()
    shop.drop_events("a", "2.csv", [(500, "x", 2)])
    shop.load()
    assert (shop.freshness("joined"), shop.freshness("newest")) == (500, 1)
    shop.drop_events("b", "2.csv", [(2, "x", 5)])
    shop.load()
    assert shop.bag("joined") == by_duckdb(shop, query.format("b"), a="a/*.csv", b="b/*.csv")
    shop.check()


def test_a_file_that_is_changed_in_place_takes_its_own_place_where_the_newest_counts(shop: Shop) -> None:
    shop.events("a")
    dimension(shop, content="newest")
    shop.view("joined", JOINED)
    shop.drop_events("a", "1.csv", [(1, "x", 1), (2, "y", 2)])
    drop_names(shop, "names.csv", x="Xaver", y="Yvonne")
    shop.load()
    drop_names(shop, "names.csv", x="Xenia")
    shop.load()
    assert shop.bag("joined") == by_duckdb(shop, JOINED, a="a/*.csv", dim="dim/*.csv")
    assert shop.bag("dim") == {("x", "Xenia"): 1}
    shop.check()
    again = shop.again()
    again.events("a")
    dimension(again, content="newest")
    again.view("joined", JOINED)
    drop_names(again, "names.csv", x="Xaver", y="Yvonne")
    again.load()
    assert again.bag("joined") == by_duckdb(again, JOINED, a="a/*.csv", dim="dim/*.csv")
    again.warehouse.backfill("dim")
    again.load()
    assert again.bag("dim") == {("x", "Xaver"): 1, ("y", "Yvonne"): 1}
    again.check()
    again.warehouse.close()


def test_a_dimension_that_changes_while_facts_come_is_followed_in_a_run_that_goes_on(shop: Shop) -> None:
    shop.events("a")
    dimension(shop, content="newest", timestamp={"name": "%Y-%m-%d.csv"})
    shop.view("joined", JOINED)
    shop.view("counted", COUNTED)
    drop_names(shop, "2026-01-01.csv", x="Xaver")
    shop.drop_events("a", "0.csv", [(0, "x", 0)])
    steps, last = iter(range(1, 6)), "dim/2026-01-06.csv"

    def is_all_there() -> bool:
        """Bring something whenever it is asked, until there is no more; then whether the views have followed."""
        step = next(steps, None)
        if step is None:
            return all(
                shop.bag(name) == by_duckdb(shop, query, a="a/*.csv", dim=last)
                for name, query in (("joined", JOINED), ("counted", COUNTED))
            )
        shop.drop_events("a", f"{step}.csv", [(40 * step, "x", step), (40 * step, "y", step)])
        if step % 2:
            drop_names(shop, f"2026-01-0{step + 1}.csv", x=f"X{step}", y=f"Y{step}")
        return False

    shop.warehouse.run(until=or_too_late(is_all_there))
    assert is_all_there()
    shop.check()


def test_rows_of_which_nothing_is_required_are_loaded_from_parquet(shop: Shop) -> None:
    folder = shop.root / "landing" / "parts"
    folder.mkdir(parents=True)
    schema = {"part": "bigint", "name": "string"}
    shop.warehouse.feed("parts_feed", path=f"{folder}/*.parquet", format="parquet", schema=schema, settle="renamed")
    shop.warehouse.sql("CREATE STREAMING TABLE parts AS SELECT * FROM STREAM parts_feed")
    pq.write_table(pa.table({"part": [1, None], "name": [None, "bolt"]}), folder / "1.parquet")
    shop.warehouse.run_once()
    rows = shop.warehouse.read("parts").collect()
    assert {(row.part, row.name) for row in rows} == {(1, None), (None, "bolt")}
