"""What a project's tables ask for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.core.costs import CostModel
from freshtide.core.errors import UnknownTableError
from freshtide.planning import Demand, Demands, demands_of
from tests.observe.shop import Shop, write_project


def asked(shop: Shop) -> dict[str, Demand]:
    return {demand.unit: demand for demand in demands_of(shop.project, shop.catalog).units}


@pytest.fixture
def promising(tmp_path: Path) -> Iterator[Shop]:
    """The shop with orders that may be two minutes late, and clicks that are final when a punctuation says so."""
    write_project(tmp_path)
    more = {"orders": "lateness: 2m\njitter: 10s\ntimestamp_jitter: 5s\n", "clicks": "punctuation: '*.done'\n"}
    for name, text in more.items():
        path = tmp_path / "feeds" / f"{name}_feed.yml"
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    opened = Shop.open(tmp_path)
    yield opened
    opened.close()


def test_costs_are_learnt_or_assumed(shop: Shop) -> None:
    shop.is_fresh("orders", 0.0, cost=CostModel.learnt_from([(300.0, 7.0)] * 3))
    found = asked(shop)
    assert found["orders"].average == pytest.approx(7.0)
    assert (found["orders"].known_by, found["clicks"].known_by) == ("learnt", "assumed")
    assert found["orders"].target_lags == {"orders": 600.0}


def test_feeds_say_how_regular_they_are_and_what_they_hold_back(promising: Shop) -> None:
    found = asked(promising)
    assert (found["orders"].held_back, found["clicks"].held_back) == (120.0, math.inf)
    assert found["orders"].arrival_jitter >= 10.0
    assert found["clicks"].timestamp_jitter is None
    assert (found["sales"].timestamp_jitter, found["sales"].held_back) == (0.0, 0.0)


def test_closed_buckets_make_a_view_coarse(shop: Shop) -> None:
    hourly = asked(shop)["hourly"]
    assert (hourly.period, hourly.bucket, hourly.coarseness, hourly.pace) == (300.0, 3600.0, 3600.0, 3600.0)
    assert asked(shop)["sales"].bucket == 0.0


def test_paused_and_failed_tables_take_what_depends_on_them_along(shop: Shop) -> None:
    shop.is_fresh("clicks", 0.0, status="failed")
    found = demands_of(shop.project, shop.catalog)
    assert set(found.left_out) == {"clicks", "sales", "large_sales"}
    assert {demand.unit for demand in found.units} == {"orders", "hourly"}


def test_a_cost_that_is_given_counts(shop: Shop) -> None:
    found = demands_of(shop.project, shop.catalog).with_cost("orders", 2.0, 0.01)
    orders = next(demand for demand in found.units if demand.unit == "orders")
    assert orders.average == pytest.approx(5.0)
    assert orders.known_by == "given"
    with pytest.raises(UnknownTableError, match="'order'"):
        found.with_cost("order", 1.0, 0.0)


def test_the_cost_of_a_table_in_a_group_is_given_beside_the_others() -> None:
    """A group of two that takes 10 seconds, one half of it each; with 2 for one of them it takes 7."""
    group = Demand(unit="both", target_lags={"a": None, "b": None}, period=60.0, cost=CostModel.given(10.0, 0.0))
    found = Demands(units=(group,), left_out=()).with_cost("a", 2.0, 0.0)
    assert found.units[0].average == pytest.approx(7.0)
