"""`freshtide status`: how stale tables got, beside what was promised to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.core.costs import CostModel
from tests.observe.shop import Shop, write_project

from .scenarios import Terminal


@pytest.fixture
def paced(tmp_path: Path) -> Iterator[Shop]:
    """The shop under the adaptive scheduler after a run with two files, of which the second took long to load."""
    root = write_project(tmp_path / "shop", "adaptive")
    for feed in (root / "feeds").iterdir():
        feed.write_text(feed.read_text(encoding="utf-8") + "jitter: 0s\ntimestamp_jitter: 5s\n", encoding="utf-8")
    opened = Shop.open(root)
    for name in opened.project.graph:
        opened.is_fresh(name, -600.0, cost=CostModel.learnt_from([(300.0, 2.0)] * 3))
    opened.begins(0.0)
    opened.loads(1)
    opened.loads(6, took=1800.0)
    yield opened
    opened.close()


def test_a_broken_bound_is_told_with_what_it_rested_on(terminal: Terminal, paced: Shop) -> None:
    told = terminal.type("status", "-p", str(paced.project.root)).out
    assert "35m of 15m" in told
    assert "'orders' got 35m stale, and 15m" in told
    assert "An update of 'orders' took 30m, and 2s were reserved." in told


def test_programs_get_the_bound_of_each_table_that_has_one(terminal: Terminal, paced: Shop) -> None:
    found = terminal.type("status", "-p", str(paced.project.root), "--json").json
    promised = {table["name"]: table["promise"] for table in found["tables"]}
    assert promised["orders"]["observed"] == pytest.approx(5 * 60.0 + 1800.0)
    assert promised["orders"]["broken"]
    assert promised["orders"]["since"] == "2026-05-01T12:01:02Z"
    assert (promised["clicks"]["observed"], promised["clicks"]["broken"]) == (None, False)


def test_without_promises_there_is_no_column_for_them(terminal: Terminal, tmp_path: Path) -> None:
    shop = Shop.open(write_project(tmp_path / "shop"))
    shop.is_fresh("orders", 0.0)
    shop.begins(0.0)
    shop.loads(1)
    shop.close()
    assert "bound" not in terminal.type("status", "-p", str(tmp_path / "shop")).out
    found = terminal.type("status", "-p", str(tmp_path / "shop"), "--json").json
    assert {table["promise"] for table in found["tables"]} == {None}


def test_counts_that_cannot_be_end_with_1_and_are_told(terminal: Terminal, paced: Shop) -> None:
    file = paced.arrives("clicks", "/in/1", 0.0, rows=3)
    paced.catalog.arrivals.mark_loaded("clicks", [file.id], 1)
    paced.is_fresh("clicks", 0.0, counts={"read": 3, "loaded": 1})
    paced.stores("clicks", 1)
    told = terminal.type("status", "-p", str(paced.project.root), "--counts", "-s", "clicks")
    assert told.code == 1
    assert "clicks: 2 rows were left out, and the query leaves none out" in told.err


def test_of_a_table_that_is_behind_the_expected_and_the_guaranteed_end_are_told(
    terminal: Terminal, paced: Shop
) -> None:
    for number in range(20):
        paced.arrives("orders", f"/in/late{number}", 3600.0 + 300.0 * number, at=7200.0)
    root = str(paced.project.root)
    found = terminal.type("status", "-p", root, "--json").json
    recovery = {table["name"]: table["recovery"] for table in found["tables"]}["orders"]
    assert recovery["files"] >= 20
    assert 0.0 < recovery["expected"] < recovery["guaranteed"]
    assert recovery["words"] in terminal.type("status", "-p", root).out.replace("\n", " ")
    planned = json.loads(terminal.type("plan", "-p", root, "--json").out)
    assert {table["name"]: table["recovery"] for table in planned["tables"]}["orders"] == recovery
    assert "files wait for 'orders'" in terminal.type("plan", "-p", root).out


def test_the_eager_bound_is_told_where_the_scheduler_is_eager(terminal: Terminal, tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop")
    (root / "freshtide.yml").write_text(
        "name: shop\nscheduler: {ordering: fifo, allocation: global, chopping: none}\ntracks: 2\n", encoding="utf-8"
    )
    for name in ("sales", "large_sales", "hourly"):
        (root / "tables" / f"{name}.sql").unlink()
    for feed in (root / "feeds").iterdir():
        feed.write_text(feed.read_text(encoding="utf-8") + "jitter: 0s\ntimestamp_jitter: 5s\n", encoding="utf-8")
    shop = Shop.open(root)
    for name in shop.project.graph:
        shop.is_fresh(name, 0.0, cost=CostModel.learnt_from([(300.0, 2.0)] * 3))
    shop.close()
    found = terminal.type("status", "-p", str(root), "--json").json["eager"]
    assert found["is_eager"]
    assert found["factor"] > 1.0
    for command in ("status", "plan"):
        assert "This scheduler is eager" in terminal.type(command, "-p", str(root)).out
