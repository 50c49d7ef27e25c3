"""Tables of an update group, as those see them who look on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.core.costs import CostModel
from freshtide.runs import beginning_of, reach_of
from freshtide.scheduling import ScheduledTable

from .shop import NOON, Shop, write_project

GROUPED = {
    "sums": "CREATE MATERIALIZED VIEW sums TBLPROPERTIES ('update_group' = 'reports', 'priority' = '2')"
    " AS SELECT date_trunc('hour', time) AS hour, sum(id) AS total FROM orders GROUP BY 1;",
    "copies": "CREATE MATERIALIZED VIEW copies TBLPROPERTIES ('update_group' = 'reports') AS SELECT * FROM orders;",
    "top": "CREATE MATERIALIZED VIEW top AS SELECT hour, total FROM sums WHERE total > 10;",
}


@pytest.fixture
def grouped(tmp_path: Path) -> Iterator[Shop]:
    root = write_project(tmp_path)
    for name, text in GROUPED.items():
        (root / "tables" / f"{name}.sql").write_text(text, encoding="utf-8")
    opened = Shop.open(root)
    yield opened
    opened.close()


def scheduled(shop: Shop) -> dict[str, ScheduledTable]:
    return {table.name: table for table in beginning_of(shop.project, shop.catalog).tables}


def test_a_group_is_scheduled_as_one_with_the_sum_of_priorities_and_the_least_freshness(grouped: Shop) -> None:
    grouped.is_fresh("sums", -60.0, safe=-70.0)
    assert scheduled(grouped)["reports"].freshness is None, "one of its tables has nothing yet"
    grouped.is_fresh("copies", -90.0)
    reports, top = scheduled(grouped)["reports"], scheduled(grouped)["top"]
    assert (reports.priority, reports.period, reports.sources) == (3.0, 300.0, ("orders",))
    assert (reports.freshness, reports.safe) == (NOON - 90.0, NOON - 90.0)
    assert top.sources == ("reports",)
    assert "sums" not in scheduled(grouped)
    assert reach_of(grouped.project)("reports", NOON) == NOON


def test_a_group_with_a_paused_or_failed_table_is_paused_or_failed(grouped: Shop) -> None:
    grouped.is_fresh("sums", -60.0, status="paused")
    assert scheduled(grouped)["reports"].paused
    grouped.is_fresh("copies", -60.0, status="failed")
    assert scheduled(grouped)["reports"].failed


def test_a_new_group_costs_what_its_tables_cost_until_it_is_known(grouped: Shop) -> None:
    grouped.is_fresh("sums", -60.0, cost=CostModel.given(1.0, 0.25))
    grouped.is_fresh("copies", -60.0, cost=CostModel.given(2.0, 0.5))
    assert scheduled(grouped)["reports"].cost.coefficients == (3.0, 0.75)
    grouped.catalog.groups.put("reports", ("sums", "copies"), CostModel.given(1.5, 0.25))
    assert scheduled(grouped)["reports"].cost.coefficients == (1.5, 0.25)


def test_a_table_of_a_group_waits_as_the_group_does(grouped: Shop) -> None:
    for name in grouped.project.graph:
        grouped.is_fresh(name, -600.0)
    grouped.is_fresh("orders", 0.0)
    grouped.runs("orders", since=-20.0, track=0)
    grouped.runs("clicks", since=-20.0, track=1)
    explained = grouped.explains("copies")
    assert "It is updated together with 'sums' as the group 'reports'." in explained.sentences
    assert explained.outlook["waits"] == "home tracks 0 ('orders') and 1 ('clicks') are busy"
    assert "reports" in [entry["table"] for entry in explained.queue]
    assert grouped.explains("top").outlook["waits"] == "source not fresh: 'reports' has not moved on"


def test_a_group_runs_while_one_of_its_tables_is_being_updated(grouped: Shop) -> None:
    for name in grouped.project.graph:
        grouped.is_fresh(name, -600.0)
    grouped.is_fresh("orders", 0.0)
    grouped.runs("sums", since=-20.0, track=1, upto=NOON)
    explained = grouped.explains("copies")
    assert (
        "It is updated together with 'sums' as the group 'reports', which is being updated on track 1."
        in explained.sentences
    )
    assert explained.outlook["waits"] is None


def test_the_status_of_a_table_names_its_group(grouped: Shop) -> None:
    groups = {table.name: table.as_json()["update_group"] for table in grouped.status().tables}
    assert (groups["sums"], groups["copies"], groups["top"]) == ("reports", "reports", None)
