"""Bounds against what was seen in a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from freshtide.core.costs import CostModel
from freshtide.core.health import Outage
from freshtide.planning import KeptBound, kept_bounds
from tests.observe.shop import NOON, Shop, write_project

MINUTES = 60.0


@pytest.fixture
def paced(tmp_path: Path) -> Iterator[Shop]:
    """The shop under the adaptive scheduler, with updates that have taken 2 seconds so far."""
    root = write_project(tmp_path, "adaptive")
    for feed in (root / "feeds").iterdir():
        feed.write_text(feed.read_text(encoding="utf-8") + "jitter: 0s\ntimestamp_jitter: 5s\n", encoding="utf-8")
    opened = Shop.open(root)
    for name in opened.project.graph:
        opened.is_fresh(name, -600.0, cost=CostModel.learnt_from([(300.0, 2.0)] * 3))
    yield opened
    opened.close()


def kept(shop: Shop, minute: float, *, run_going_on: bool = True) -> dict[str, KeptBound]:
    return kept_bounds(shop.project, shop.catalog, NOON + minute * MINUTES, run_going_on=run_going_on)


def test_without_a_run_nothing_was_promised(paced: Shop) -> None:
    assert kept(paced, 0) == {}


def test_other_schedulers_promise_nothing(shop: Shop) -> None:
    shop.begins(0.0)
    shop.loads(1)
    assert kept(shop, 2) == {}


def test_the_largest_staleness_since_the_table_caught_up_stands_beside_the_bound(paced: Shop) -> None:
    paced.begins(0.0)
    for minute in (1, 6, 11):
        paced.loads(minute)
    found = kept(paced, 12)["orders"]
    # From one file to the end of the update with the next one.
    assert found.observed == pytest.approx(5 * MINUTES + 2.0)
    assert found.since == NOON + 62.0
    assert found.bound > 3 * 5 * MINUTES
    assert not found.is_broken
    assert kept(paced, 12)["clicks"].observed is None


def test_a_backlog_does_not_count_before_it_is_loaded(paced: Shop) -> None:
    for minute in (-600, -595):
        paced.arrives("orders", f"/in/{minute}", minute * MINUTES, at=30.0)
    paced.begins(0.0)
    paced.ran("orders", since=60.0, until=62.0, freshness=-600 * MINUTES)
    paced.ran("orders", since=70.0, until=72.0, freshness=-595 * MINUTES)
    # All there was is loaded; it was old, and counts from here on.
    assert kept(paced, 2)["orders"].since == NOON + 72.0


def test_time_without_a_run_does_not_count(paced: Shop) -> None:
    paced.begins(0.0)
    paced.loads(1)
    paced.loads(6)
    while_running = kept(paced, 600)["orders"].observed
    afterwards = kept(paced, 600, run_going_on=False)["orders"].observed
    assert while_running == pytest.approx(594 * MINUTES)
    assert afterwards == pytest.approx(5 * MINUTES + 2.0)


def test_a_broken_bound_names_the_outage_that_broke_it(paced: Shop) -> None:
    paced.begins(0.0)
    paced.loads(1)
    silent, back = NOON + MINUTES, NOON + 60 * MINUTES
    paced.catalog.outages.begin("orders_feed", Outage(silent_since=silent, began_at=silent + 301.0))
    paced.catalog.outages.end("orders_feed", at=back)
    paced.loads(60)
    found = kept(paced, 61)["orders"]
    assert found.is_broken
    (defect,) = found.defects
    assert "Feed 'orders_feed' had an outage from 2026-05-01T12:01:00Z to 2026-05-01T13:00:00Z" in defect


def test_a_broken_bound_names_the_update_that_took_longer_than_was_reserved(paced: Shop) -> None:
    paced.begins(0.0)
    paced.loads(1)
    paced.arrives("orders", "/in/6", 6 * MINUTES, at=6 * MINUTES)
    paced.ran("orders", since=6 * MINUTES, until=40 * MINUTES, freshness=6 * MINUTES)
    found = kept(paced, 40)["orders"]
    assert found.is_broken
    assert "An update of 'orders' took 34m, and 2s were reserved." in found.defects


def test_a_broken_bound_that_rested_on_assumed_costs_says_so(paced: Shop) -> None:
    """Files come in time and updates are quick, but for half an hour nobody got round to orders."""
    paced.is_fresh("orders", -600.0)
    paced.begins(0.0)
    paced.loads(1, took=0.1)
    for minute in range(6, 36, 5):
        paced.arrives("orders", f"/in/{minute}", minute * MINUTES, at=minute * MINUTES)
    paced.loads(36, took=0.1)
    found = kept(paced, 37)["orders"]
    assert found.is_broken
    assert found.defects == ("No costs have been learnt of 'orders': 0.5s an update is assumed.",)


def test_costs_that_were_learnt_since_do_not_mend_a_broken_promise(paced: Shop) -> None:
    paced.begins(0.0)
    before = kept(paced, 1)["orders"].bound
    for name in paced.project.graph:
        paced.is_fresh(name, -600.0, cost=CostModel.learnt_from([(300.0, 200.0)] * 3))
    assert kept(paced, 1)["orders"].bound == pytest.approx(before)
