"""The demo project: it loads, and its tables are maintained as intended."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from freshtide.core.feeds import TimestampFrom
from freshtide.core.tables import FunctionQuery, Maintenance
from freshtide.demo import create_demo
from freshtide.demo.streams import STREAMS
from freshtide.feeds.formats import CsvFormat, JsonFormat, ParquetFormat
from freshtide.project import Project, load_project

APPEND, PARTITIONS, FULL = Maintenance.APPEND, Maintenance.PARTITIONS, Maintenance.FULL


@pytest.fixture
def project(tmp_path: Path) -> Project:
    create_demo(tmp_path / "demo")
    return load_project(tmp_path / "demo")


def test_it_loads_without_problems_or_notes(project: Project) -> None:
    assert project.notes == ()
    assert project.settings.name == "network-operations"
    assert project.settings.tracks == 2
    assert len(project.feeds) == 8


def test_views_are_maintained_as_intended(project: Project) -> None:
    views = {name: (project.graph.level(name), t.maintain) for name, t in project.graph.items() if not t.is_base}
    assert views == {
        "cpu_per_minute": (1, PARTITIONS),
        "cpu_by_model": (1, APPEND),
        "errors": (1, APPEND),
        "interface_load": (1, PARTITIONS),
        "latency_per_minute": (1, PARTITIONS),
        "route_flaps": (1, PARTITIONS),
        "open_tickets": (1, FULL),
        "busiest_routers": (2, PARTITIONS),
        "errors_per_minute": (2, PARTITIONS),
        "alert_errors": (2, APPEND),
        "network_health": (3, PARTITIONS),
    }
    assert project.graph["interface_load"].emits_closed_buckets
    assert project.graph["alert_errors"].exact_time
    assert project.graph["cpu_by_model"].exact_time
    assert isinstance(project.graph["open_tickets"].query, FunctionQuery)


def test_every_table_says_what_it_is_for_and_how_fresh_it_should_be(project: Project) -> None:
    for table in project.graph.values():
        assert table.comment, table.name
        assert table.target_lag is not None, table.name


def test_no_target_lag_is_out_of_reach(project: Project) -> None:
    """A table gets as stale as the slowest feed below it is slow and late; a target must leave room beyond that."""
    for table in project.graph.values():
        below = [table.name, *project.graph.ancestors(table.name)]
        feeds = [project.feeds[feed] for name in below if (feed := project.graph[name].feed)]
        bound = max((feed.rhythm.period or 0) + (0 if table.is_base else feed.time.lateness or 0) for feed in feeds)
        bucket = table.grain.width / 1e6 if table.emits_closed_buckets and table.grain else 0
        assert table.target_lag is not None
        assert table.target_lag >= 1.5 * (bound + bucket), table.name


def test_feeds_differ_in_format_and_settings(project: Project) -> None:
    feeds = project.feeds.values()
    assert {type(feed.format) for feed in feeds} == {CsvFormat, JsonFormat, ParquetFormat}
    assert {feed.folder.timestamp_from for feed in feeds} == set(TimestampFrom)
    assert {feed.time.format for feed in feeds} >= {None, "epoch_seconds", "epoch_millis"}
    settling = Counter(
        "marker" if settling.marker else "quiet" if settling.quiet else "renamed"
        for settling in (feed.folder.settling for feed in feeds)
    )
    assert settling == {"renamed": 6, "marker": 1, "quiet": 1}
    assert min(feed.rhythm.period or 0 for feed in feeds) == 2
    assert max(feed.rhythm.period or 0 for feed in feeds) == 60


def test_the_generator_delivers_every_feed_as_often_as_it_declares(project: Project) -> None:
    assert {stream.feed: stream.period / 1_000 for stream in STREAMS} == {
        name: feed.rhythm.period for name, feed in project.feeds.items()
    }
