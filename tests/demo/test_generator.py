"""The generator: the same files for a seed, complete, well stamped, with the few bad rows it promises."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from freshtide.catalog import Catalog
from freshtide.core.arrivals import Arrival, ArrivalState
from freshtide.core.feeds import Feed
from freshtide.core.instants import micros
from freshtide.core.loads import plan_load
from freshtide.demo import Generator, create_demo, feed_live
from freshtide.demo.generator import DueFile
from freshtide.feeds import FeedSet
from freshtide.project import Project, load_project
from freshtide.world import SystemClock
from tests.waiting import wait_until

from .rows import Row, fits, read_rows, stamp

START = 1_777_636_799.1234
"""Just before a minute, and between two milliseconds."""
MINUTE = 60.0
MALFORMED = {"router_cpu_feed": 3, "syslog_feed": 2}
"""Rows within the first minute that do not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A minute of files in a demo project, each with the arrival that it was written for."""

    project: Project
    files: tuple[tuple[DueFile, Path], ...]

    def of(self, feed: str) -> Iterator[tuple[DueFile, Path]]:
        return ((arrival, path) for arrival, path in self.files if arrival.stream.feed == feed)

    def good_rows(self, feed: Feed) -> Iterator[tuple[DueFile, list[Row]]]:
        for arrival, path in self.of(feed.name):
            yield arrival, [row for row in read_rows(feed, path) if row is not None and fits(feed, row)]


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Delivered:
    root = tmp_path_factory.mktemp("demo")
    create_demo(root)
    generator = Generator(root, seed=7, start=START)
    arrivals = generator.due(START + MINUTE)
    paths = generator.write_until(START + MINUTE)
    return Delivered(project=load_project(root), files=tuple(zip(arrivals, paths, strict=True)))


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def admitted(project: Project) -> list[Arrival]:
    """The verdict on every file that has landed."""
    catalog = Catalog.open("sqlite://")
    return FeedSet(project.feeds.values(), project.root, catalog.arrivals).poll(START + 2 * MINUTE)


def test_a_seed_gives_the_same_files_however_they_are_asked_for(tmp_path: Path) -> None:
    Generator(tmp_path / "at-once", seed=7, start=START).write_until(START + 30)
    stepwise = Generator(tmp_path / "stepwise", seed=7, start=START)
    for step in range(0, 301):
        stepwise.write_until(START + step / 10)
    other = Generator(tmp_path / "other", seed=8, start=START)
    other.write_until(START + 30)
    assert contents(tmp_path / "at-once") == contents(tmp_path / "stepwise")
    assert contents(tmp_path / "at-once") != contents(tmp_path / "other")


def test_at_the_start_there_is_one_file_of_every_feed(tmp_path: Path) -> None:
    generator = Generator(tmp_path, seed=7, start=START)
    assert len(generator.due(START)) == 8
    assert len({path.parent for path in generator.write_until(START)}) == 8
    assert generator.write_until(START) == []


def test_files_come_as_often_as_declared(delivered: Delivered) -> None:
    counts = Counter(arrival.stream.feed for arrival, _ in delivered.files)
    for name, feed in delivered.project.feeds.items():
        assert feed.rhythm.period is not None
        assert abs(counts[name] - (1 + MINUTE / feed.rhythm.period)) <= 1


def test_no_unfinished_files_remain(delivered: Delivered) -> None:
    landing = delivered.project.root / "landing"
    on_disk = {path for path in landing.rglob("*") if path.is_file()}
    markers = {path for path in on_disk if path.suffix == ".done"}
    assert on_disk - markers == {path for _, path in delivered.files}
    assert {path.with_suffix("") for path in markers} == {path for _, path in delivered.of("bgp_updates_feed")}


def test_all_files_are_admitted_with_the_end_of_their_span_as_timestamp(delivered: Delivered) -> None:
    files = {file.position: file for file in admitted(delivered.project)}
    assert {file.state for file in files.values()} == {ArrivalState.READY}
    assert len(files) == len(delivered.files)
    for arrival, path in delivered.files:
        timestamp = files[str(path)].timestamp
        assert timestamp is not None
        assert micros(timestamp) == arrival.span.end * 1_000, path


def test_all_rows_fit_the_schema_but_for_a_few_that_are_meant_not_to(delivered: Delivered) -> None:
    unfit: Counter[str] = Counter()
    for arrival, path in delivered.files:
        feed = delivered.project.feeds[arrival.stream.feed]
        rows = list(read_rows(feed, path))
        assert 50 <= len(rows) <= 2_000, path
        unfit[feed.name] += sum(not fits(feed, row) for row in rows)
    assert +unfit == MALFORMED


def test_rows_lie_within_the_span_of_their_file_up_to_its_end(delivered: Delivered) -> None:
    for feed in delivered.project.feeds.values():
        if feed.time.lateness:
            continue
        for arrival, rows in delivered.good_rows(feed):
            stamps = [stamp(feed, row) for row in rows]
            assert stamps == sorted(stamps)
            assert stamps[0] > arrival.span.begin * 1_000
            assert stamps[-1] == arrival.span.end * 1_000


def test_alerts_are_out_of_order_within_the_lateness_but_for_a_few_that_are_too_late(delivered: Delivered) -> None:
    feed = delivered.project.feeds["link_alerts_feed"]
    files = [file for file in admitted(delivered.project) if file.feed == feed.name]
    plan = plan_load(feed, files, upto=None, freshness=None, safe=None)
    limits = {item.arrival.position: item.late_upto for item in plan.items}
    late = out_of_order = 0
    for arrival, path in delivered.of(feed.name):
        stamps = [stamp(feed, row) for row in read_rows(feed, path) if row is not None]
        limit = limits[str(path)] or 0
        assert max(stamps) == arrival.span.end * 1_000
        late += sum(at <= limit for at in stamps)
        out_of_order += sum(limit < at <= arrival.span.begin * 1_000 for at in stamps)
    assert late == 3
    assert out_of_order > 50


def test_incidents_show_in_cpu_and_in_the_log(delivered: Delivered) -> None:
    cpu = delivered.project.feeds["router_cpu_feed"]
    hot = {row["router"] for _, rows in delivered.good_rows(cpu) for row in rows if float(row["cpu_percent"]) >= 85}
    syslog = delivered.project.feeds["syslog_feed"]
    errors = Counter(row["router"] for _, rows in delivered.good_rows(syslog) for row in rows if row["severity"] <= 3)
    assert len(hot) >= 2
    assert {router for router, _ in errors.most_common(len(hot))} == hot


def test_live_files_come_with_the_clock_until_it_is_stopped(tmp_path: Path) -> None:
    clock, stop = SystemClock(), threading.Event()
    thread = feed_live(Generator(tmp_path, seed=7, start=clock.now() - 2.5), clock, stop)
    wait_until(lambda: len(list((tmp_path / "landing" / "syslog").glob("*.jsonl"))) >= 3)
    stop.set()
    thread.join(timeout=5)
    assert not thread.is_alive()
    assert not list(tmp_path.rglob(".*"))
