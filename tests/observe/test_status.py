from __future__ import annotations

import json

import pytest

from freshtide.catalog import RebuildProgress
from freshtide.core.arrivals import ArrivalState
from freshtide.core.errors import UnknownTableError
from freshtide.observe import TableReport, explain

from .shop import Shop


def report(shop: Shop, name: str, at: float = 0.0) -> TableReport:
    (found,) = shop.status(at, select=(name,)).tables
    return found


def test_before_anything_has_run_every_table_is_shown_as_declared(shop: Shop) -> None:
    status = shop.status()
    assert status.name == "shop"
    assert {table.name: (table.kind, table.level) for table in status.tables} == {
        "orders": ("base", 0),
        "clicks": ("base", 0),
        "sales": ("derived", 1),
        "large_sales": ("derived", 2),
        "hourly": ("derived", 1),
    }
    for table in status.tables:
        assert (table.status, table.freshness, table.staleness, table.pending) == ("active", None, None, 0)
        assert (table.updates, table.failures, table.mean_seconds, table.running_on) == (0, 0, None, None)
    assert status.broken == ()
    assert {feed.name: feed.files for feed in status.feeds} == {"orders_feed": {}, "clicks_feed": {}}


def test_staleness_is_the_time_since_the_newest_row(shop: Shop) -> None:
    shop.is_fresh("orders", -300.0)
    assert report(shop, "orders").staleness == 300.0
    assert report(shop, "orders", at=60.0).staleness == 360.0


def test_a_table_that_is_ahead_of_the_clock_is_not_stale(shop: Shop) -> None:
    shop.is_fresh("orders", 30.0)
    assert report(shop, "orders").staleness == 0.0


def test_a_table_is_broken_once_it_is_staler_than_its_target_lag(shop: Shop) -> None:
    shop.is_fresh("orders", -600.0)
    shop.is_fresh("clicks", -86_400.0)
    shop.is_fresh("sales", -86_400.0)
    assert report(shop, "orders").within_target is True, "exactly ten minutes are within ten minutes"
    assert [table.name for table in shop.status().broken] == ["sales"]
    assert [table.name for table in shop.status(at=1.0).broken] == ["orders", "sales"]
    assert report(shop, "clicks").within_target is None, "it has no target"


def test_files_that_wait_are_counted_for_base_tables(shop: Shop) -> None:
    files = [shop.arrives("orders", f"/in/{number}", float(number)) for number in range(3)]
    shop.catalog.arrivals.mark_loaded("orders", [files[0].id], 1)
    assert report(shop, "orders").pending == 2
    assert report(shop, "clicks").pending == 0


def test_a_view_is_behind_once_all_its_sources_are_safely_ahead_of_it(shop: Shop) -> None:
    shop.is_fresh("orders", 0.0)
    assert report(shop, "sales").pending == 0, "one of its sources has no data"
    shop.is_fresh("clicks", 0.0, safe=-100.0)
    assert report(shop, "sales").pending == 1
    shop.is_fresh("sales", -100.0)
    assert report(shop, "sales").pending == 0
    shop.is_fresh("clicks", 0.0, safe=-99.0)
    assert report(shop, "sales").pending == 1


def test_a_view_of_closed_hours_is_behind_once_an_hour_has_closed(shop: Shop) -> None:
    shop.is_fresh("orders", -1.0)
    shop.is_fresh("hourly", -3_600.000001)
    assert report(shop, "hourly").pending == 0
    shop.is_fresh("orders", 60.0)
    assert report(shop, "hourly").pending == 1
    shop.is_fresh("hourly", -0.000001)
    assert report(shop, "hourly").pending == 0


def test_an_update_that_runs_is_shown_with_its_track(shop: Shop) -> None:
    number = shop.runs("orders", since=-5.0, track=1)
    running = report(shop, "orders")
    assert running.running_on == 1
    assert running.running_since == pytest.approx(shop.status(-5.0).at)
    shop.catalog.updates.fail(number, at=0.0, error="no")
    assert report(shop, "orders").running_on is None


def test_an_update_that_is_a_part_of_a_rebuild_is_shown_as_one_with_how_far_it_is(shop: Shop) -> None:
    shop.runs("clicks", since=-5.0, track=0)
    number = shop.runs("orders", since=-5.0, track=1, kind="rebuild")
    assert (report(shop, "orders").rebuilds, report(shop, "clicks").rebuilds) == (True, False)
    assert report(shop, "orders").rebuild_story == "rebuild", "at once, or nobody knows yet"
    shop.catalog.updates.note_progress(number, RebuildProgress(part=3, done=6, whole=12, unit="files"))
    assert report(shop, "orders").rebuild_story == "rebuild, part 3, 6 of 12 files done"
    shown = report(shop, "orders").as_json()
    assert shown["rebuild_progress"] == {"part": 3, "done": 6, "whole": 12, "unit": "files"}
    assert report(shop, "clicks").as_json()["rebuild_progress"] is None
    told = explain(shop.project, shop.catalog, "orders", shop.status(0.0).at).sentences
    assert any("track 1" in sentence and "rebuild, part 3, 6 of 12 files done" in sentence for sentence in told)
    shop.catalog.updates.fail(number, at=0.0, error="no")
    assert report(shop, "orders").rebuild_story is None


def test_updates_are_counted_and_timed(shop: Shop) -> None:
    # Of the third, which was booked after a crash, nobody knows how long it took.
    shop.is_fresh("orders", 0.0, updates=3, busy=6.0, timed=2)
    shop.catalog.tables.count_failure("orders")
    found = report(shop, "orders")
    assert (found.updates, found.failures) == (3, 1)
    assert found.mean_seconds == pytest.approx(3.0)


def test_a_paused_and_a_failed_table_are_shown_with_the_reason(shop: Shop) -> None:
    shop.is_fresh("orders", 0.0, status="failed", reason="disk full")
    shop.is_fresh("clicks", 0.0, status="paused")
    assert (report(shop, "orders").status, report(shop, "orders").reason) == ("failed", "disk full")
    assert report(shop, "clicks").status == "paused"


def test_feeds_are_shown_with_their_files_and_their_troubles(shop: Shop) -> None:
    shop.arrives("orders", "/in/good", 5.0)
    shop.arrives("orders", "/in/torn", None, state=ArrivalState.QUARANTINED, reason="no header")
    shop.arrives("orders", "/in/changed", None, state=ArrivalState.REFUSED, reason="other content")
    shop.arrives("orders", "/in/again", 9.0, state=ArrivalState.DUPLICATE)
    orders, clicks = sorted(shop.status().feeds, key=lambda feed: feed.name, reverse=True)
    assert orders.files == {"ready": 1, "quarantined": 1, "refused": 1, "duplicate": 1}
    assert [(file.position, file.reason) for file in orders.troubled] == [
        ("/in/torn", "no header"),
        ("/in/changed", "other content"),
    ]
    assert orders.latest_timestamp == pytest.approx(shop.status(5.0).at)
    assert (clicks.files, clicks.troubled, clicks.latest_timestamp) == ({}, (), None)


def test_only_the_selected_tables_are_shown_in_the_order_given(shop: Shop) -> None:
    assert [table.name for table in shop.status(select=("hourly", "orders")).tables] == ["hourly", "orders"]
    with pytest.raises(UnknownTableError, match="Did you mean 'orders'"):
        shop.status(select=("odrers",))


def test_the_status_can_be_written_as_json(shop: Shop) -> None:
    shop.is_fresh("orders", -60.0)
    shop.arrives("orders", "/in/torn", None, state=ArrivalState.QUARANTINED, reason="no header")
    written = json.loads(json.dumps(shop.status().as_json()))
    assert written["at"] == "2026-05-01T12:00:00Z"
    orders = next(table for table in written["tables"] if table["name"] == "orders")
    assert (orders["freshness"], orders["staleness"], orders["within_target"]) == ("2026-05-01T11:59:00Z", 60.0, True)
    feed = next(feed for feed in written["feeds"] if feed["name"] == "orders_feed")
    assert feed["troubled"] == [{"path": "/in/torn", "state": "quarantined", "reason": "no header"}]
