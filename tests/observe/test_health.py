"""The health of every feed, as those see it who look on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from freshtide.core.feeds import DeclaredRhythm, Feed
from freshtide.core.health import Ailment, Outage
from freshtide.observe import FeedHealth, HealthState, feed_healths, outage_story

from .shop import NOON, Shop

MINUTE = 60.0


def declares(shop: Shop, **changes: Any) -> Shop:
    """The shop with another declaration of the feed of orders (period 5m)."""
    feeds: dict[str, Feed] = dict(shop.project.feeds)
    feeds["orders_feed"] = replace(feeds["orders_feed"], **changes)
    return replace(shop, project=replace(shop.project, feeds=feeds))


def health(shop: Shop, at: float = 0.0, *, run_going_on: bool = True) -> FeedHealth:
    return feed_healths(shop.project, shop.catalog, NOON + at, run_going_on=run_going_on)["orders_feed"]


def delivers(shop: Shop, files: int = 20, *, until: float = 0.0) -> None:
    """A file every five minutes, the last one at the given moment."""
    for number in range(files):
        moment = until - (files - 1 - number) * 5 * MINUTE
        shop.arrives("orders", f"/in/{number}", moment - 10.0, at=moment)


def test_a_feed_that_delivers_is_healthy(shop: Shop) -> None:
    delivers(shop)
    found = health(shop)
    assert (found.state, found.healthy, found.reason, found.sentence) == (HealthState.HEALTHY, True, None, None)
    assert found.rhythm is not None
    assert found.rhythm.known_by["period"] == "declared"
    assert found.rhythm.known_by["arrival_jitter"] == "learnt"


def test_a_feed_that_has_fallen_silent_is_not(shop: Shop) -> None:
    delivers(shop)
    found = health(shop, 6 * MINUTE)
    assert (found.state, found.ailment) == (HealthState.UNHEALTHY, Ailment.SILENT)
    assert found.sentence == ("Feed 'orders_feed' is not healthy: no file has come since 2026-05-01T12:00:00Z, for 6m.")


def test_a_feed_in_an_outage_is_said_to_be(shop: Shop) -> None:
    delivers(shop)
    outage = Outage(silent_since=NOON, began_at=NOON + 5.5 * MINUTE)
    shop.catalog.outages.begin("orders_feed", outage)
    found = health(shop, 6 * MINUTE)
    assert (found.state, found.outage, found.last_outage) == (HealthState.OUTAGE, outage, None)
    assert found.sentence == (
        "Feed 'orders_feed' is in an outage: no file has come since 2026-05-01T12:00:00Z, for 6m."
    )
    shop.catalog.outages.end("orders_feed", at=NOON + 10 * MINUTE)
    shop.arrives("orders", "/in/back", 10 * MINUTE - 10.0, at=10 * MINUTE)
    over = health(shop, 10 * MINUTE)
    assert (over.state, over.outage) == (HealthState.HEALTHY, None)
    assert over.last_outage == replace(outage, ended_at=NOON + 10 * MINUTE, returned=True)


def test_files_that_come_at_the_wrong_time_are_noticed(shop: Shop) -> None:
    delivers(shop)
    shop.arrives("orders", "/in/early", 2 * MINUTE, at=2 * MINUTE)
    shop.arrives("orders", "/in/late", 7 * MINUTE, at=7 * MINUTE)
    found = health(shop, 7 * MINUTE)
    assert found.ailment is Ailment.OFF_TIME
    assert "its last file came 2m too late" in (found.sentence or "")


def test_a_backlog_that_comes_at_once_does_not_make_a_feed_healthy_if_all_of_it_is_old(shop: Shop) -> None:
    delivers(shop)
    for number in range(3):
        shop.arrives("orders", f"/in/old{number}", number * 5 * MINUTE, at=60 * MINUTE)
    found = health(shop, 60 * MINUTE)
    assert found.ailment is Ailment.OFF_STAMP
    assert "its last file is stamped 50m before it came" in (found.reason or "")


def test_without_a_run_nobody_knows(shop: Shop) -> None:
    delivers(shop)
    shop.catalog.outages.begin("orders_feed", Outage(silent_since=NOON, began_at=NOON + 600.0))
    found = health(shop, run_going_on=False)
    assert (found.state, found.healthy, found.outage) == (HealthState.UNKNOWN, None, None)
    assert found.reason == "no run is going on, so nobody watches it"
    assert found.sentence is None
    assert found.rhythm is not None, "what is known of how it delivers stays known"


def test_without_a_period_nobody_knows_either(shop: Shop) -> None:
    found = health(declares(shop, rhythm=DeclaredRhythm()))
    assert (found.state, found.rhythm) == (HealthState.UNKNOWN, None)
    assert found.reason == "it declares no period, and too few files have come, or too irregularly, to learn one"


def test_a_feed_that_has_brought_nothing_yet_is_not_known_to_be_ill_before_it_is_in_an_outage(shop: Shop) -> None:
    found = health(shop)
    assert (found.state, found.reason) == (HealthState.UNKNOWN, "no file has come yet")
    shop.catalog.outages.begin("orders_feed", Outage(silent_since=NOON, began_at=NOON + 600.0))
    assert health(shop, 700.0).sentence == "Feed 'orders_feed' is in an outage: no file has come yet."


def test_only_the_feeds_asked_for_are_looked_at(shop: Shop) -> None:
    assert set(feed_healths(shop.project, shop.catalog, NOON)) == {"orders_feed", "clicks_feed"}
    assert set(feed_healths(shop.project, shop.catalog, NOON, feeds=["clicks_feed"])) == {"clicks_feed"}


def test_health_can_be_written_as_json(shop: Shop) -> None:
    delivers(shop)
    shop.catalog.outages.begin("orders_feed", Outage(silent_since=NOON, began_at=NOON + 330.0))
    written = json.loads(json.dumps(health(shop, 6 * MINUTE).as_json()))
    assert (written["state"], written["healthy"], written["ailment"]) == ("outage", False, "silent")
    assert written["rhythm"]["period"] == 300.0
    assert written["rhythm"]["known_by"]["phase"] == "learnt"
    assert written["outage"] == {
        "silent_since": "2026-05-01T12:00:00Z",
        "began_at": "2026-05-01T12:05:30Z",
        "ended_at": None,
        "returned": False,
    }
    assert written["last_outage"] is None


@pytest.mark.parametrize(
    ("changes", "story"),
    [
        ({}, "is in an outage: no file has come for 20m, since 2026-05-01T12:00:00Z."),
        (
            {"ended_at": NOON + 900.0, "returned": True},
            "had an outage from 2026-05-01T12:00:00Z to 2026-05-01T12:15:00Z (15m); then a file came.",
        ),
        (
            {"ended_at": NOON + 900.0},
            "had an outage from 2026-05-01T12:00:00Z to 2026-05-01T12:15:00Z (15m); then it was watched no longer.",
        ),
    ],
)
def test_an_outage_is_told_in_a_sentence(changes: dict[str, Any], story: str) -> None:
    outage = replace(Outage(silent_since=NOON, began_at=NOON + 600.0), **changes)
    assert outage_story("orders_feed", outage, NOON + 1200.0) == f"Feed 'orders_feed' {story}"


def test_the_status_marks_the_base_tables_of_a_feed_in_an_outage(shop: Shop) -> None:
    shop.catalog.outages.begin("orders_feed", Outage(silent_since=NOON, began_at=NOON + 600.0))
    status = shop.status(700.0)
    assert {table.name: table.silent_since for table in status.tables if table.silent_since} == {"orders": NOON}
    assert [feed.name for feed in status.feeds if feed.outage] == ["orders_feed"]
    assert status.trouble == "1 feed in trouble"
    (orders,) = (table for table in status.as_json()["tables"] if table["name"] == "orders")
    assert orders["silent_since"] == "2026-05-01T12:00:00Z"


@pytest.mark.parametrize("table", ["orders", "hourly", "large_sales"])
def test_explanations_of_all_tables_below_name_the_feed_that_is_not_healthy(shop: Shop, table: str) -> None:
    delivers(shop)
    assert "not healthy" not in shop.says(table)
    assert "Feed 'orders_feed' is not healthy: no file has come since" in shop.says(table, 10 * MINUTE)
    assert "not healthy" not in shop.says("clicks", 10 * MINUTE)
    told = shop.explains(table, 10 * MINUTE, run_going_on=False)
    assert not any("not healthy" in sentence for sentence in told.sentences)
