"""What a scheduler starts from."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshtide.runs import beginning_of
from freshtide.scheduling import ScheduledTable
from tests.observe.shop import Shop, write_project


def scheduled(root: Path, scheduler: str, feed: str) -> dict[str, ScheduledTable]:
    """The tables of a shop whose orders come as a feed says."""
    write_project(root, scheduler)
    path = root / "feeds" / "orders_feed.yml"
    path.write_text(path.read_text(encoding="utf-8") + feed, encoding="utf-8")
    shop = Shop.open(root)
    try:
        return {table.name: table for table in beginning_of(shop.project, shop.catalog).tables}
    finally:
        shop.close()


def test_the_adaptive_scheduler_is_told_how_regular_feeds_are(tmp_path: Path) -> None:
    feed = "jitter: 20s\ntimestamp_jitter: 5s\nlateness: 2m\nsettle: 3s\n"
    found = scheduled(tmp_path, "adaptive", feed)
    orders = found["orders"]
    # Polling and settling come on top: that is how long after it is there a file is seen.
    assert orders.arrival_jitter == pytest.approx(23.0, abs=0.5)
    assert orders.timestamp_jitter == pytest.approx(8.0, abs=0.5)
    assert (orders.held_back, orders.phase) == (120.0, 0.0)
    assert (found["sales"].arrival_jitter, found["sales"].held_back) == (0.0, 0.0)


def test_where_nobody_knows_the_jitter_it_is_a_whole_period(tmp_path: Path) -> None:
    assert scheduled(tmp_path, "adaptive", "")["orders"].arrival_jitter == 300.0


def test_other_schedulers_do_not_ask(tmp_path: Path) -> None:
    assert scheduled(tmp_path, "max-benefit", "jitter: 20s\n")["orders"].arrival_jitter == 0.0


def test_a_view_that_closes_buckets_is_updated_once_in_whole_ones(tmp_path: Path) -> None:
    """Orders come every 5 minutes, and an hour of them is closed at a time: that much has to be reserved."""
    assert scheduled(tmp_path / "paced", "adaptive", "")["hourly"].period == 3600.0
    assert scheduled(tmp_path / "plain", "max-benefit", "")["hourly"].period == 300.0


def test_the_scheduler_is_told_which_views_are_computed_whole(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir(parents=True)
    (tmp_path / "tables" / "busiest.sql").write_text(
        "CREATE MATERIALIZED VIEW busiest AS SELECT id, count(*) AS n FROM orders GROUP BY id;", encoding="utf-8"
    )
    found = scheduled(tmp_path, "target-lag", "")
    assert {name for name, table in found.items() if table.computes_whole} == {"busiest"}
