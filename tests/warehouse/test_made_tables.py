"""Tables that flows make are tables: views and questions read them, and follow when they change."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest

from freshtide import Flow
from freshtide.core.errors import FreshtideError, ProjectError, RunFailedError
from freshtide.observe import TableReport, explain
from freshtide.storage import UpdateRecord
from tests.warehouse.shop import EVENTS, Shop, stamp

PLANES = {"ts": "timestamp", "tail": "string", "model": "string", "seats": "int"}
OWNERS = "SELECT f.ts, f.k, f.v, p.model FROM flights f LEFT JOIN dim_planes p ON f.k = p.tail AND p.is_current"
AS_OF = (
    "SELECT f.ts, f.k, p.model, p.seats FROM flights f JOIN dim_planes p ON f.k = p.tail "
    "AND f.ts >= p.valid_from AND (p.valid_to IS NULL OR f.ts < p.valid_to)"
)
SEATS = "SELECT model, sum(seats) AS seats FROM dim_planes WHERE is_current GROUP BY model"


def planes_flow() -> Flow:
    """What arrives of planes is loaded as it is, and brings a dimension with history and one without up to date."""
    flow = Flow("planes_flow")
    arrived = flow.read(feed="planes_feed")
    keyed = arrived.expression(tail_text="tail").surrogate_key("tail_text", column="plane_id", lookup="plane_keys")
    keyed.write(table="planes")
    arrived.slowly_changing(table="dim_planes", key="tail", type=2, as_of="ts")
    arrived.slowly_changing(table="dim_models", key="tail", type=1)
    return flow


def declare(shop: Shop, **views: str) -> None:
    given = {"path": "landing/planes/*", "format": "csv", "schema": PLANES, "time_column": "ts", "settle": "renamed"}
    shop.warehouse.feed("planes_feed", **given)
    shop.warehouse.sql(
        "CREATE STREAMING TABLE planes TBLPROPERTIES ('flow'='planes_flow') AS SELECT * FROM STREAM planes_feed"
    )
    shop.events("flights")
    shop.warehouse.flow(planes_flow())
    for name, query in views.items():
        shop.view(name, query, maintain="full" if name == "seats" else "append")


def drop_planes(shop: Shop, file: str, *rows: tuple[int, str, str, int]) -> None:
    lines = [f"{stamp(second)},{tail},{model},{seats}" for second, tail, model, seats in rows]
    shop.drop("planes", file, "\n".join(["ts,tail,model,seats", *lines]) + "\n")


def by_duckdb(shop: Shop, query: str) -> Counter[tuple[Any, ...]]:
    """What a query gives over the raw files, with the dimension made of them by a window function."""
    with duckdb.connect() as engine:
        for name, columns in (("flights", "k, v"), ("planes", "tail, model, seats")):
            landed = shop.root / "landing" / name
            if landed.exists():
                csv = f"read_csv('{landed}/*', types = {{'ts': 'TIMESTAMP'}})"
                engine.execute(f"CREATE VIEW {name} AS SELECT ts, {columns} FROM {csv}")
        engine.execute(
            "CREATE VIEW dim_planes AS SELECT tail, model, seats, ts AS valid_from, "
            "lead(ts) OVER w AS valid_to, lead(ts) OVER w IS NULL AS is_current FROM planes "
            "WINDOW w AS (PARTITION BY tail ORDER BY ts)"
        )
        found = engine.execute(query).fetchall()
    return Counter(tuple(v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in row) for row in found)


def record_of(shop: Shop, table: str) -> UpdateRecord:
    snapshot = shop.warehouse.workbench.store.table(table).snapshot
    assert snapshot is not None
    assert snapshot.record is not None
    return snapshot.record


def report_of(shop: Shop, table: str) -> TableReport:
    return next(report for report in shop.warehouse.status().tables if report.name == table)


def test_views_join_facts_with_a_dimension_that_a_flow_keeps_and_follow_it(shop: Shop) -> None:
    declare(shop, owners=OWNERS, as_of=AS_OF, seats=SEATS)
    drop_planes(shop, "1.csv", (0, "a", "A320", 180), (0, "b", "B737", 160))
    shop.drop_events("flights", "1.csv", [(10, "a", 1), (20, "b", 2), (30, "c", 3)])
    shop.load()
    views = {"owners": OWNERS, "as_of": AS_OF, "seats": SEATS}
    for name, query in views.items():
        assert shop.bag(name) == by_duckdb(shop, query), name

    # Facts alone move the views on; then a late change of a plane, which is put in its place in the history.
    shop.drop_events("flights", "2.csv", [(40, "a", 4)])
    shop.load()
    drop_planes(shop, "2.csv", (35, "a", "A321", 220), (36, "c", "C919", 158))
    shop.load()
    drop_planes(shop, "3.csv", (5, "a", "A319", 140))
    shop.load()
    for name, query in views.items():
        assert shop.bag(name) == by_duckdb(shop, query), name
        assert record_of(shop, name).contents == {"dim_planes": 3}
    assert shop.freshness("as_of") == 40
    shop.check()


@pytest.mark.slow
def test_a_view_that_reads_the_table_and_what_its_flow_makes_is_computed_once_for_both(shop: Shop) -> None:
    declare(shop, joined="SELECT p.ts, p.plane_id, d.model FROM planes p JOIN dim_models d ON p.model = d.model")
    drop_planes(shop, "1.csv", (0, "a", "A320", 180))
    shop.load()
    drop_planes(shop, "2.csv", (10, "b", "B737", 160))
    shop.load()
    assert Counter(row["model"] for row in shop.rows("joined")) == {"A320": 1, "B737": 1}
    assert report_of(shop, "joined").updates == 2
    shop.check()


@pytest.mark.slow
def test_what_a_flow_writes_without_a_change_computes_nothing_anew(shop: Shop) -> None:
    declare(shop, seats=SEATS)
    drop_planes(shop, "1.csv", (0, "a", "A320", 180), (0, "b", "B737", 160))
    shop.load()
    changed, updates = report_of(shop, "dim_planes").freshness, report_of(shop, "seats").updates
    drop_planes(shop, "2.csv", (50, "a", "A320", 180))
    shop.load()
    assert (report_of(shop, "dim_planes").freshness, report_of(shop, "seats").updates) == (changed, updates)
    drop_planes(shop, "3.csv", (60, "a", "A320", 181))
    shop.load()
    assert report_of(shop, "seats").updates == updates + 1
    assert shop.bag("seats") == {("A320", 181): 1, ("B737", 160): 1}


def test_status_tells_rows_the_last_change_and_the_flow_and_nothing_is_asked_of_it(shop: Shop) -> None:
    declare(shop, seats=SEATS)
    before = time.time()
    empty = report_of(shop, "dim_planes")
    assert (empty.kind, empty.freshness, empty.made_by) == ("made", None, "planes_flow")
    told = explain(shop.warehouse.project, shop.warehouse.workbench.catalog, "seats", before, run_going_on=False)
    assert "It waits for the first run of the flow 'planes_flow', which makes its reference table 'dim_planes'" in (
        " ".join(told.sentences)
    )
    drop_planes(shop, "1.csv", (0, "a", "A320", 180), (1, "a", "A321", 220))
    shop.load()
    drop_planes(shop, "2.csv", (2, "b", "B737", 160))
    shop.load()
    for table, rows in (("dim_planes", 3), ("dim_models", 2), ("plane_keys", 2)):
        report = report_of(shop, table)
        assert (report.rows, report.made_by, report.staleness, report.pending) == (rows, "planes_flow", None, 0)
        assert report.freshness is not None
        assert before <= report.freshness <= time.time()
    with pytest.raises(RunFailedError, match="'dim_planes' is made by the flow 'planes_flow'") as refused:
        shop.warehouse.backfill("dim_planes")
    assert "`freshtide backfill planes`" in str(refused.value.way_out)
    found = shop.warehouse.query("SELECT k.plane_id, d.model FROM DIM_PLANES d JOIN plane_keys k ON k.tail_text = tail")
    assert Counter(map(tuple, found.collect())) == {(1, "A320"): 1, (1, "A321"): 1, (2, "B737"): 1}


@pytest.mark.slow
def test_after_a_restart_without_a_catalog_views_follow_what_was_written_last(shop: Shop) -> None:
    declare(shop, seats=SEATS, as_of=AS_OF)
    drop_planes(shop, "1.csv", (0, "a", "A320", 180))
    shop.drop_events("flights", "1.csv", [(10, "a", 1)])
    shop.load()
    # The views had not seen the second update of the dimension when the process died.
    drop_planes(shop, "2.csv", (5, "a", "A321", 220))
    stale = {
        view: sorted((shop.root / "warehouse" / view / "_delta_log").glob("*.json")) for view in ("seats", "as_of")
    }
    shop.load()
    for view, before in stale.items():
        for entry in set((shop.root / "warehouse" / view / "_delta_log").glob("*.json")) - set(before):
            entry.unlink()
    again = shop.again()
    again.lose_catalog()
    declare(again, seats=SEATS, as_of=AS_OF)
    again.load()
    assert again.bag("seats") == by_duckdb(again, SEATS)
    assert again.bag("as_of") == by_duckdb(again, AS_OF)
    assert report_of(again, "dim_planes").rows == 2
    again.check()
    again.warehouse.close()


@pytest.mark.slow
def test_a_backfill_makes_the_dimension_anew_and_views_follow(shop: Shop) -> None:
    declare(shop, seats=SEATS)
    drop_planes(shop, "1.csv", (0, "a", "A320", 180))
    shop.load()
    drop_planes(shop, "2.csv", (5, "b", "B737", 160))
    shop.load()
    shop.warehouse.backfill("planes")
    shop.load()
    assert shop.bag("seats") == by_duckdb(shop, SEATS)
    assert record_of(shop, "seats").contents["dim_planes"] <= record_of(shop, "dim_planes").number
    assert report_of(shop, "dim_planes").rows == 2
    shop.check()


def test_what_a_flow_writes_by_hand_is_read_by_views_from_the_next_run_on(shop: Shop) -> None:
    def declared(shop: Shop) -> Shop:
        shop.events("a")
        flow = Flow("names")
        flow.read(files="names/*.csv", format="csv", schema={"k": "string", "name": "string"}).write(table="dim")
        shop.warehouse.flow(flow)
        shop.view("named", "SELECT a.ts, a.v, d.name FROM a JOIN dim d ON a.k = d.k")
        return shop

    (shop.root / "names").mkdir(parents=True)
    (shop.root / "names" / "1.csv").write_text("x,first\n")
    declared(shop)
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    shop.load()
    assert shop.rows("named") == []
    shop.warehouse.run_flow("names")
    assert report_of(shop, "dim").rows == 1
    shop.load()
    assert [(row["v"], row["name"]) for row in shop.rows("named")] == [(1, "first")]
    (shop.root / "names" / "1.csv").write_text("x,second\n")
    shop.warehouse.run_flow("names")
    shop.load()
    assert [(row["v"], row["name"]) for row in shop.rows("named")] == [(1, "second")]
    shop.check()
    again = declared(shop.again())
    (shop.root / "names" / "1.csv").write_text("x,third\n")
    again.warehouse.run_flow("names")
    again.load()
    assert [(row["v"], row["name"]) for row in again.rows("named")] == [(1, "third")]
    again.warehouse.close()


def test_columns_of_what_a_flow_makes_are_checked_before_it_has_run(shop: Shop) -> None:
    declare(shop, wrong="SELECT f.ts, p.wings FROM flights f JOIN dim_planes p ON f.k = p.tail")
    with pytest.raises(ProjectError, match="wings"):
        _ = shop.warehouse.workbench


def test_a_name_that_no_flow_writes_is_told_with_those_that_they_do(shop: Shop) -> None:
    declare(shop, wrong="SELECT f.ts, p.model FROM flights f JOIN dim_plane p ON f.k = p.tail")
    with pytest.raises(FreshtideError, match=r"There is no table 'dim_plane'.*dim_planes"):
        _ = shop.warehouse.project


def test_a_view_from_changes_follows_a_dimension_that_a_flow_keeps(shop: Shop) -> None:
    declare(shop)
    query = "SELECT f.k, p.model, count(*) AS n FROM flights f LEFT JOIN dim_models p ON f.k = p.tail GROUP BY 1, 2"
    shop.view("per_plane", query, maintain="incremental")
    drop_planes(shop, "1.csv", (0, "a", "A320", 180))
    shop.drop_events("flights", "1.csv", [(10, "a", 1), (11, "b", 1)])
    shop.load()
    shop.drop_events("flights", "2.csv", [(12, "a", 1)])
    shop.load()
    drop_planes(shop, "2.csv", (5, "b", "B737", 160), (6, "a", "A321", 200))
    shop.load()
    shop.drop_events("flights", "3.csv", [(13, "b", 1)])
    shop.load()
    assert shop.bag("per_plane") == {("a", "A321", 2): 1, ("b", "B737", 2): 1}
    assert record_of(shop, "per_plane").from_changes
    shop.check()


def test_several_flows_look_up_in_what_one_makes_and_their_columns_are_known_before_it_has_run(shop: Shop) -> None:
    declare(shop)
    for name in ("starts", "landings"):
        given = {"path": f"landing/{name}/*", "format": "csv", "schema": EVENTS, "time_column": "ts"}
        shop.warehouse.feed(f"{name}_feed", **given, settle="renamed")
        shop.warehouse.sql(
            f"CREATE STREAMING TABLE {name} TBLPROPERTIES ('flow'='{name}_flow') AS SELECT * FROM STREAM {name}_feed"
        )
        flow = Flow(f"{name}_flow")
        keys = flow.read(table="plane_keys").only(k="tail_text", plane_id="plane_id")
        flow.read(feed=f"{name}_feed").join(keys, on="k", how="left").write(table=name)
        shop.warehouse.flow(flow)
    shop.view("movements", "SELECT s.plane_id, s.ts FROM starts s UNION ALL SELECT plane_id, ts FROM landings")
    assert shop.warehouse.workbench.computer.columns("movements") is not None
    shop.drop_events("starts", "1.csv", [(10, "b", 1), (20, "q", 1)])
    shop.drop_events("landings", "1.csv", [(20, "b", 1)])
    drop_planes(shop, "1.csv", (0, "a", "A320", 180), (1, "b", "B737", 160))
    shop.load()
    assert Counter(row["plane_id"] for row in shop.rows("movements")) == {2: 2, None: 1}
    shop.check()
