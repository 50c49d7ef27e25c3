"""Reference tables: views are as fresh as what has a time, over the newest content of what has none."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from tests.warehouse.shop import Shop

NAMES = {"k": "string", "name": "string"}
REFERENCE = "TBLPROPERTIES ('reference' = 'true')"
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


def updates(shop: Shop, table: str) -> int:
    return shop.warehouse.workbench.catalog.tables.get(table).number


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
