"""Many equal tables, a small file per second for each: how long until it is committed, and is nobody left behind."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from bench.landings import ROWS, declare, evenly, feed_names, land, landing, path_of, table_of
from bench.results import Figure, Report
from bench.running import Running
from bench.streaming import StreamingQueries
from freshtide import Warehouse
from freshtide.spark import SparkSession, start_session

_TRACKS = 2
_PEER_AT_MOST = 48
"""With more queries than these Structured Streaming does not come to their first batches."""
_BEFORE_AT = 144
"""Where to show what the scheduler makes of it that was the default before: too much to be taken file by file."""
_SCHEDULERS: Mapping[str, Any] = {
    "target-lag": "target-lag",
    "the same, never chopped": {"ordering": "target-lag", "chopping": None},
}
_BEFORE: Mapping[str, Any] = {"max-benefit": "max-benefit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    tables: int
    warm_up: float
    seconds: float
    patience: float
    """How long is waited in the end for what has not been committed yet."""

    @property
    def names(self) -> list[str]:
        return feed_names(self.tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """Of the files that landed after the warm-up."""

    latencies: Mapping[str, Sequence[float]]
    """By feed, of those that were committed."""
    landed: int
    rate: float | None
    """Updates per second."""

    @property
    def committed(self) -> int:
        return sum(map(len, self.latencies.values()))

    @property
    def p99(self) -> float:
        found = [latency for latencies in self.latencies.values() for latency in latencies]
        return quantiles(found, n=100)[98] if len(found) > 1 else math.inf

    @property
    def unevenness(self) -> float:
        """The largest mean of a table, in terms of the smallest; infinite where one has none."""
        means = [mean(latencies) if latencies else math.inf for latencies in self.latencies.values()]
        return max(means) / min(means)


def run(folder: Path, *, quick: bool) -> Report:
    report = Report(name="sustained")
    spark = start_session({}, log=folder / "spark.log")
    sizes = (12,) if quick else (12, 48, 144, 400)
    for tables in sizes:
        course = _Course(tables=tables, warm_up=5.0 if quick else 40.0, seconds=10.0 if quick else 120.0, patience=60.0)
        found: dict[str, _Outcome] = {}
        for name, scheduler in {**_SCHEDULERS, **(_BEFORE if tables == _BEFORE_AT else {})}.items():
            place = folder / str(tables) / name.replace(" ", "-")
            found[name] = _measure_freshtide(spark, place, course, scheduler)
        if tables <= _PEER_AT_MOST:
            found["Structured Streaming"] = _measure_peer(spark, folder / str(tables) / "peer", course)
        _tell(report, course, found)
    spark.stop()
    return report


def _tell(report: Report, course: _Course, found: Mapping[str, _Outcome]) -> None:
    rows: list[tuple[Figure, ...]] = []
    for name, outcome in found.items():
        turn = None if outcome.rate is None else 2.0 * course.tables / outcome.rate
        left = outcome.landed - outcome.committed
        files = outcome.committed / course.seconds
        rows.append((name, files, left, outcome.p99, turn, outcome.unevenness, outcome.rate))
        report.figures |= {
            f"p99_{course.tables}_{name}": outcome.p99,
            f"left_{course.tables}_{name}": left,
            f"unevenness_{course.tables}_{name}": outcome.unevenness,
            f"files_{course.tables}_{name}": files,
        }
    report.table(
        f"{course.tables} equal tables, a file of {ROWS} rows per second for each, {course.seconds:.0f} s after "
        f"{course.warm_up:.0f} s to warm up: landed -> committed",
        ("", "files/s", "left behind", "p99 s", "2 N / updates/s", "largest/smallest mean", "updates/s"),
        rows,
    )


def _measure_freshtide(spark: SparkSession, folder: Path, course: _Course, scheduler: Any) -> _Outcome:
    with Warehouse(folder, spark=spark, tracks=_TRACKS, scheduler=scheduler) as warehouse:
        declare(warehouse, course.names, folder)
        with Running(warehouse) as running:
            begun, landed = _land(folder, course)
            updates = running.workbench.catalog.updates
            newest = {feed: moments[-1] for feed, moments in landed.items()}

            def caught_up() -> bool:
                reached = {row.table: row.freshness or 0.0 for row in reversed(updates.done_since(begun))}
                return all(reached.get(table_of(feed), 0.0) >= stamp for feed, stamp in newest.items())

            running.wait(caught_up, limit=course.patience, every=1.0)
            done = [row for row in updates.done_since(begun) if row.finished_at is not None and row.rows]
    committed: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in done:
        assert row.finished_at is not None
        committed[row.table].append((row.freshness or 0.0, row.finished_at))
    counted_from = begun + course.warm_up
    measured = [row for row in done if row.finished_at and counted_from <= row.finished_at <= begun + _length(course)]
    return _Outcome(
        latencies={
            feed: _latencies(sorted(committed[table_of(feed)]), [at for at in moments if at >= counted_from])
            for feed, moments in landed.items()
        },
        landed=sum(at >= counted_from for moments in landed.values() for at in moments),
        rate=len(measured) / course.seconds,
    )


def _land(folder: Path, course: _Course) -> tuple[float, Mapping[str, Sequence[float]]]:
    """When the first file landed, and by feed the time stamps of all."""
    landed = land(folder, evenly(course.names, seconds=_length(course)), seed=course.tables)
    return landed["begun"], landed["stamps"]


def _latencies(committed: Sequence[tuple[float, float]], landed: Sequence[float]) -> list[float]:
    """A file is committed with the first update that has taken its table up to the file's time stamp."""
    reached = [freshness for freshness, _ in committed]
    found = []
    for moment in landed:
        place = bisect_left(reached, moment)
        if place < len(committed):
            found.append(committed[place][1] - moment)
    return found


def _measure_peer(spark: SparkSession, folder: Path, course: _Course) -> _Outcome:
    feeds = {name: landing(folder, name) for name in course.names}
    for place in feeds.values():
        place.mkdir(parents=True)
    with StreamingQueries(spark.newSession(), folder, feeds, trigger="0 seconds") as queries:
        begun, landed = _land(folder, course)
        files = {
            (feed, number): path_of(folder, feed, number)
            for feed, moments in landed.items()
            for number, at in enumerate(moments)
            if at >= begun + course.warm_up
        }
        done = queries.wait_for_all(list(files.values()), limit=course.patience)
    return _Outcome(
        latencies={
            feed: [
                done[files[feed, number]] - at
                for number, at in enumerate(moments)
                if (feed, number) in files and files[feed, number] in done
            ]
            for feed, moments in landed.items()
        },
        landed=len(files),
        rate=None,
    )


def _length(course: _Course) -> float:
    return course.warm_up + course.seconds
