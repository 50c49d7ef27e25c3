"""Views from changes: only what has changed is read, what is kept lands with the view, and all is as the query says."""

from __future__ import annotations

import pytest

from freshtide.core.errors import ProjectError
from freshtide.storage import Snapshot
from tests.warehouse.shop import Shop


def snapshot_of(shop: Shop, table: str) -> Snapshot:
    snapshot = shop.warehouse.workbench.store.table(table).snapshot
    assert snapshot is not None
    return snapshot


def states_of(shop: Shop, table: str) -> dict[str, int]:
    """What the last commit of a view says about what is kept for it: empty where all of it was computed."""
    record = snapshot_of(shop, table).record
    assert record is not None
    return dict(record.states)


def was_from_changes(shop: Shop, table: str) -> bool:
    record = snapshot_of(shop, table).record
    assert record is not None
    return record.from_changes


def drop_in_turns(shop: Shop, feed: str, turns: int) -> None:
    """Load so many files one by one; keys come again, and so do equal rows."""
    for turn in range(turns):
        rows = [(turn * 10 + at, "xyz"[(turn + at) % 3], (turn * at) % 4) for at in range(4)]
        shop.drop_events(feed, f"{turn}.csv", rows)
        shop.load()


PER_KEY = "SELECT k, count(*) AS n, sum(v) AS total, avg(v) AS mean, max(ts) AS latest FROM a GROUP BY k"


@pytest.fixture
def per_key(shop: Shop) -> Shop:
    shop.events("a")
    shop.view("per_key", PER_KEY, maintain="incremental")
    drop_in_turns(shop, "a", 3)
    return shop


def test_groups_without_time_are_brought_forward_from_what_is_kept_of_them(per_key: Shop) -> None:
    assert states_of(per_key, "per_key") == {"per_key__0__state": 3}
    files = {file.path for file in snapshot_of(per_key, "per_key__0__state").files}
    per_key.drop_events("a", "more.csv", [(100, "new", 7)])
    per_key.load()
    # The groups of before have not changed: what is kept of them lies where it lay.
    assert files < {file.path for file in snapshot_of(per_key, "per_key__0__state").files}
    assert ("new", 1, 7) in {row[:3] for row in per_key.bag("per_key")}
    per_key.check()


def test_a_view_is_brought_forward_after_a_restart(per_key: Shop) -> None:
    again = per_key.again()
    again.events("a")
    again.view("per_key", PER_KEY, maintain="incremental")
    again.drop_events("a", "more.csv", [(100, "x", 7)])
    again.load()
    assert states_of(again, "per_key") == {"per_key__0__state": 4}
    again.check()


def test_what_was_kept_is_made_anew_when_it_is_lost(per_key: Shop) -> None:
    again = per_key.again()
    for file in (again.root / "warehouse" / "per_key__0__state").glob("*.parquet"):
        file.unlink()
    again.events("a")
    again.view("per_key", PER_KEY, maintain="incremental")
    for turn in (100, 200):
        again.drop_events("a", f"{turn}.csv", [(turn, "x", 7)])
        again.load()
        again.check()
    assert states_of(again, "per_key")


def test_what_an_interrupted_refresh_kept_is_taken_back(per_key: Shop) -> None:
    per_key.drop_events("a", "more.csv", [(100, "x", 7)])
    per_key.load()
    # The process died between the commit of what is kept and that of the view.
    per_key.warehouse.close()
    per_key.last_commit("per_key").unlink()
    again = per_key.again()
    again.events("a")
    again.view("per_key", PER_KEY, maintain="incremental")
    again.load()
    again.drop_events("a", "next.csv", [(110, "x", 1)])
    again.load()
    again.check()


def test_rows_that_come_out_of_order_are_followed(per_key: Shop) -> None:
    per_key.drop_events("a", "old.csv", [(1.5, "x", 100), (2.5, "old", 1)])
    per_key.load()
    assert states_of(per_key, "per_key") == {"per_key__0__state": 4}
    per_key.check()


def test_the_largest_of_a_group_that_loses_it_is_looked_for_again(shop: Shop) -> None:
    shop.events("a", properties="TBLPROPERTIES ('update_key' = 'k')")
    shop.view("tops", "SELECT v % 2 AS odd, max(v) AS top, count(*) AS n FROM a GROUP BY 1", maintain="incremental")
    for turn, rows in enumerate([[(1, "x", 9), (2, "y", 5)], [(3, "z", 2)], [(4, "u", 7)], [(5, "x", 3)]]):
        shop.drop_events("a", f"{turn}.csv", rows)
        shop.load()
    # The row of x with the largest number has been superseded.
    assert was_from_changes(shop, "tops")
    assert shop.bag("tops") == {(0, 2, 1): 1, (1, 7, 3): 1}
    shop.check()


def test_a_rebuilt_source_is_followed_by_what_differs(per_key: Shop) -> None:
    per_key.warehouse.backfill("a")
    per_key.load()
    per_key.drop_events("a", "more.csv", [(100, "x", 7)])
    per_key.load()
    per_key.check()


VIEWS = {
    "joined": "SELECT a.ts, a.k, a.v, b.v AS w FROM a LEFT JOIN b ON a.k = b.k",
    "matched": "SELECT a.k, count(*) AS n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k) GROUP BY a.k",
    "unmatched": "SELECT k, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.v = a.v)",
    "steps": "SELECT ts, k, v - lag(v) OVER (PARTITION BY k ORDER BY ts, v) AS step FROM a",
    "newest": "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY ts DESC, v) AS place FROM a) "
    "WHERE place <= 2",
    "largest": "SELECT k, sum(v) AS total FROM a GROUP BY k ORDER BY total DESC, k LIMIT 2",
    "local_days": "SELECT to_date(from_utc_timestamp(ts, 'America/New_York')) AS day, count(DISTINCT k) AS keys "
    "FROM a GROUP BY 1",
    "sliding": "SELECT window.start AS start, k, count(*) AS n FROM "
    "(SELECT window(ts, '20 seconds', '10 seconds') AS window, k FROM a) GROUP BY window, k",
    "cubed": "SELECT k, v, count(*) AS n FROM a GROUP BY CUBE (k, v)",
}


@pytest.mark.slow
def test_operators_are_followed_while_both_sources_move_and_revise(shop: Shop) -> None:
    shop.events("a")
    shop.events("b")
    for name, query in VIEWS.items():
        shop.view(name, query, maintain="incremental")
    of_views = "SELECT m.k, m.n, l.total FROM matched m FULL JOIN largest l ON m.k = l.k"
    shop.view("of_views", of_views, maintain="incremental")
    for turn in range(4):
        shop.drop_events("a", f"{turn}.csv", [(turn * 10 + at, "xyzu"[(turn + at) % 4], at % 3) for at in range(5)])
        shop.drop_events("b", f"{turn}.csv", [(turn * 10 + 4, "zux"[turn % 3], turn % 2)])
        if turn == 2:
            shop.drop_events("a", "late.csv", [(0.5, "x", 2), (11.5, "u", 0)])
        shop.load()
        shop.check()
    assert {name for name in (*VIEWS, "of_views") if not was_from_changes(shop, name)} == set()


def test_a_changed_dimension_is_followed_by_the_rows_of_its_keys(shop: Shop) -> None:
    shop.events("a")
    dimension = {"path": "landing/d/*", "format": "csv", "schema": {"k": "string", "name": "string"}}
    shop.warehouse.feed("d_feed", **dimension, content="newest", settle="renamed")
    shop.warehouse.sql("CREATE STREAMING TABLE d AS SELECT * FROM STREAM d_feed")
    shop.view("named", "SELECT a.ts, a.v, d.name FROM a LEFT JOIN d ON a.k = d.k", maintain="incremental")
    shop.view("by_name", "SELECT name, sum(v) AS total FROM named GROUP BY name", maintain="incremental")
    shop.drop("d", "1.csv", "k,name\nx,Xaver\ny,Yves\n")
    drop_in_turns(shop, "a", 3)
    before = {file.path for file in snapshot_of(shop, "named").files}
    shop.drop("d", "2.csv", "k,name\nx,Xenia\ny,Yves\nz,Zoe\n")
    shop.load()
    assert was_from_changes(shop, "named")
    assert was_from_changes(shop, "by_name")
    assert before != {file.path for file in snapshot_of(shop, "named").files}
    assert {row["name"] for row in shop.rows("by_name")} == {"Xenia", "Yves", "Zoe"}
    shop.check()


def test_a_query_without_a_rule_is_refused_by_the_operator_that_lacks_it(shop: Shop) -> None:
    shop.events("a")
    shop.view("some", "SELECT ts, v FROM a LIMIT 3", maintain="incremental")
    shop.drop_events("a", "1.csv", [(1, "x", 1)])
    with pytest.raises(ProjectError, match="'some' cannot be maintained from changes: LIMIT without ORDER BY"):
        shop.load()


def test_what_is_kept_for_a_view_is_no_table_of_the_project(shop: Shop) -> None:
    shop.events("b__0__state")
    with pytest.raises(ProjectError, match="__state"):
        shop.load()


def test_rows_of_composed_values_go_from_views_in_partitions(shop: Shop) -> None:
    shop.events("a")
    query = (
        "SELECT k, named_struct('n', count(*), 'latest', max(ts)) AS both, sort_array(collect_set(v)) AS listed, "
        "CAST(encode(k, 'UTF-8') AS BINARY) AS raw "
        "FROM a GROUP BY k"
    )
    shop.warehouse.sql(
        f"CREATE MATERIALIZED VIEW composed PARTITIONED BY (k) TBLPROPERTIES ('maintain'='incremental') AS {query}"
    )
    for turn in range(4):
        shop.drop_events("a", f"{turn}.csv", [(turn * 10 + at, "x z=/"[(turn + at) % 5], at % 3) for at in range(3)])
        shop.load()
        shop.check()
    assert was_from_changes(shop, "composed")
