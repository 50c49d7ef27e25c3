"""Views that join as of a time, maintained from changes: only rows between two versions are others when one comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from freshtide.spark import SparkSession
from freshtide.storage import Snapshot
from tests.commands import answer, freshtide, leaving_spark_to_others
from tests.warehouse.shop import Shop, stamp

BY_LATERAL = (
    "SELECT s.ts, s.k, s.v, l.price FROM sales s LEFT JOIN LATERAL "
    "(SELECT p.v AS price FROM prices p WHERE p.k = s.k AND p.ts <= s.ts ORDER BY p.ts DESC LIMIT 1) l"
)
BY_NUMBER = (
    "SELECT ts, k, v, price FROM (SELECT s.ts, s.k, s.v, p.v AS price, "
    "row_number() OVER (PARTITION BY s.ts, s.k, s.v ORDER BY p.ts DESC) AS rn "
    "FROM sales s LEFT JOIN prices p ON p.k = s.k AND p.ts <= s.ts) WHERE rn = 1"
)
VIEWS = {"by_lateral": BY_LATERAL, "by_number": BY_NUMBER}


def declare(shop: Shop) -> None:
    shop.events("sales")
    # Whoever joins as of a time does not wait for a price that never changes again.
    shop.events("prices", properties="TBLPROPERTIES ('reference'='true')")
    for name, query in VIEWS.items():
        shop.view(name, query, maintain="incremental")


def by_duckdb(shop: Shop) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as engine:
        for name in ("sales", "prices"):
            csv = f"read_csv('{shop.root}/landing/{name}/*', types = {{'ts': 'TIMESTAMP'}})"
            engine.execute(f"CREATE VIEW {name} AS SELECT * FROM {csv}")
        found = engine.execute(
            "SELECT s.ts, s.k, s.v, p.v FROM sales s ASOF LEFT JOIN prices p ON s.k = p.k AND s.ts >= p.ts"
        ).fetchall()
    return Counter((ts.replace(tzinfo=UTC), *others) for ts, *others in found if isinstance(ts, datetime))


def snapshot_of(shop: Shop, table: str) -> Snapshot:
    snapshot = shop.warehouse.workbench.store.table(table).snapshot
    assert snapshot is not None
    return snapshot


def test_new_facts_look_up_their_key_and_a_late_price_concerns_the_facts_up_to_the_next_one(shop: Shop) -> None:
    declare(shop)
    shop.drop_events("prices", "1.csv", [(0, "x", 10), (100, "x", 11), (0, "y", 20)])
    shop.drop_events("sales", "1.csv", [(10, "x", 1), (20, "y", 2), (30, "z", 3)])
    shop.load()
    shop.drop_events("sales", "2.csv", [(110, "x", 4), (120, "y", 5)])
    shop.load()
    shop.drop_events("sales", "3.csv", [(210, "x", 6), (220, "y", 7)])
    shop.load()
    before = {view: {file.path for file in snapshot_of(shop, view).files} for view in VIEWS}
    # It is late, and the next one comes at 200: of the sales only that of x at 110 is concerned.
    shop.drop_events("prices", "2.csv", [(105, "x", 12), (200, "x", 13)])
    shop.load()
    shop.drop_events("prices", "3.csv", [(106, "x", 14)])
    shop.load()
    for view in VIEWS:
        assert shop.bag(view) == by_duckdb(shop), view
        record = snapshot_of(shop, view).record
        assert record is not None
        assert record.from_changes
        # The file of the first sales has not been touched.
        assert before[view] & {file.path for file in snapshot_of(shop, view).files}, view
    shop.check()


def test_it_is_right_after_a_restart_and_a_backfill_of_either_side(shop: Shop) -> None:
    declare(shop)
    shop.drop_events("prices", "1.csv", [(0, "x", 10), (15, "x", 11)])
    shop.drop_events("sales", "1.csv", [(10, "x", 1), (20, "x", 2)])
    shop.load()
    again = shop.again()
    declare(again)
    again.drop_events("prices", "2.csv", [(12, "x", 12), (5, "x", 9)])
    again.drop_events("sales", "2.csv", [(7, "x", 3), (13, "x", 4), (14, "q", 5)])
    again.load()
    again.warehouse.backfill("prices")
    again.warehouse.backfill("sales")
    again.load()
    for view in VIEWS:
        assert again.bag(view) == by_duckdb(again), view
    again.check()
    again.warehouse.close()


@pytest.fixture
def project(tmp_path: Path, spark: SparkSession) -> Iterator[Path]:  # noqa: ARG001 - commands find it
    (tmp_path / "freshtide.yml").write_text("name: priced\n", encoding="utf-8")
    for folder in ("feeds", "tables"):
        (tmp_path / folder).mkdir()
    feeds = [
        f"  - {{name: {name}_feed, path: '{name}/*.csv', format: csv, schema: {{ts: timestamp, k: string, v: int}}, "
        "time_column: ts}\n"
        for name in ("sales", "prices")
    ]
    (tmp_path / "feeds" / "all.yml").write_text("feeds:\n" + "".join(feeds), encoding="utf-8")
    tables = [f"CREATE STREAMING TABLE {name} AS SELECT * FROM STREAM {name}_feed;\n" for name in ("sales", "prices")]
    tables += [f"CREATE MATERIALIZED VIEW {name} AS {query};\n" for name, query in VIEWS.items()]
    (tmp_path / "tables" / "all.sql").write_text("".join(tables), encoding="utf-8")
    for name in ("sales", "prices"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.csv").write_text(f"ts,k,v\n{stamp(1)},x,1\n", encoding="utf-8")
    with leaving_spark_to_others():
        yield tmp_path


def test_validate_says_that_the_join_is_recognised(project: Path) -> None:
    tables = {table["name"]: table for table in answer("validate", at=project)["tables"]}
    assert {tables[view]["as_of_joins"][0] for view in VIEWS} == {"of each k the latest ts up to ts"}
    assert tables["sales"]["as_of_joins"] == []
    done = freshtide("validate", at=project)
    assert "'by_number' joins as of a time: of each k the latest ts up to ts. From changes it is followed by key." in (
        done.stdout
    )
