"""From a file dropped into its folder to the commit of its table, against Structured Streaming."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import mean

from bench.readings import write_readings
from bench.results import Report
from bench.running import Running, add_feed, drop
from bench.streaming import StreamingQueries
from freshtide import Warehouse
from freshtide.spark import SparkSession, start_session

_ROWS = 2_000
_SPAN = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """How many feeds, how often, and how long a round may take; what is not committed by then counts as the limit."""

    feeds: int
    warm_up: int
    rounds: int
    limit: float

    @property
    def names(self) -> list[str]:
        return [f"feed_{index:02d}" for index in range(self.feeds)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """One file: seconds from the drop to the commit, and how much of it passed before it was noticed."""

    latency: float
    noticing: float | None = None
    in_log: float | None = None
    missed: bool = False


def run(folder: Path, *, quick: bool) -> Report:
    report = Report(name="latency")
    spark = start_session({}, log=folder / "spark.log")
    if quick:
        courses = [_Course(feeds=8, warm_up=2, rounds=2, limit=30)]
    else:
        # Spark's analyser takes hundreds of updates to be compiled: without a long warm-up whoever goes first loses.
        courses = [
            _Course(feeds=8, warm_up=100, rounds=20, limit=60),
            _Course(feeds=48, warm_up=3, rounds=5, limit=120),
        ]
    for course in courses:
        place = folder / str(course.feeds)
        own = _measure_freshtide(spark, place / "freshtide", course)
        # As often as it can; looking less often only made it slower.
        peers = {"Structured Streaming": _measure_peer(spark, place / "peer", course, "0 seconds")}
        _tell(report, course, own, peers)
    spark.stop()
    return report


def _tell(report: Report, course: _Course, own: list[_Sample], peers: dict[str, list[_Sample]]) -> None:
    best = min(_mean(samples) for samples in peers.values())
    rows = [
        (name, len(samples), _mean(samples), max(s.latency for s in samples), sum(s.missed for s in samples))
        for name, samples in {"Freshtide": own, **peers}.items()
    ]
    report.table(
        f"{course.feeds} feeds, a file of {_ROWS:,} rows in each at once, {course.rounds} rounds: drop -> commit",
        ("", "files", "mean s", "worst s", "never"),
        rows,
    )
    seen = [sample for sample in own if not sample.missed] or own
    noticing = mean(sample.noticing or 0.0 for sample in seen)
    ratio = _mean(own) / best
    report.table(
        "Freshtide's share of it",
        ("", "mean s"),
        [
            ("drop -> noticed", noticing),
            ("noticed -> update booked as finished", mean(s.latency - (s.noticing or 0.0) for s in seen)),
            ("drop -> entry in the Delta log", mean(s.in_log or 0.0 for s in seen)),
            ("ratio to the better peer (goal: at most 0.333)", ratio),
        ],
    )
    figures = {"freshtide": _mean(own), "peer": best, "ratio": ratio, "noticing": noticing}
    figures["missed"] = sum(sample.missed for sample in own)
    report.figures.update({f"{name}_{course.feeds}": value for name, value in figures.items()})


def _mean(samples: list[_Sample]) -> float:
    return mean(sample.latency for sample in samples)


def _measure_freshtide(spark: SparkSession, folder: Path, course: _Course) -> list[_Sample]:
    """Committed means `finished_at` of the update: after the Delta commit and all the bookkeeping."""
    rng = random.Random(course.feeds)
    samples: list[_Sample] = []
    with Warehouse(folder, spark=spark, tracks=2) as warehouse:
        for name in course.names:
            add_feed(warehouse, name, folder / "landing" / name)
            warehouse.sql(f"CREATE STREAMING TABLE {_table(name)} AS SELECT * FROM STREAM {name}")
        with Running(warehouse) as running:
            updates = running.workbench.catalog.updates
            for turn in range(course.warm_up + course.rounds):
                files = _prepare(folder, course, turn, rng)
                begun = time.time()
                moments = drop(files)

                def all_done(begun: float = begun) -> bool:
                    return len({row.table for row in updates.done_since(begun) if row.rows}) == course.feeds

                running.wait(all_done, limit=course.limit, every=0.1)
                if turn >= course.warm_up:
                    samples += _samples(running, course, begun, moments)
                time.sleep(rng.uniform(0.3, 0.8))
    return samples


def _samples(running: Running, course: _Course, begun: float, moments: dict[Path, float]) -> list[_Sample]:
    catalog = running.workbench.catalog
    finished = {row.table: row.finished_at for row in reversed(catalog.updates.done_since(begun))}
    samples = []
    for path, moment in moments.items():
        feed = path.parent.name
        end, file = finished.get(_table(feed)), catalog.arrivals.by_path(feed, str(path))
        if end is None or file is None:
            samples.append(_Sample(latency=course.limit, missed=True))
            continue
        log = running.workbench.store.table(_table(feed)).folder / "_delta_log"
        entries = [entry.stat().st_mtime for entry in log.glob("*.json")]
        in_log = min((at for at in entries if at >= moment), default=end)
        samples.append(_Sample(latency=end - moment, noticing=file.arrived_at - moment, in_log=in_log - moment))
    return samples


def _measure_peer(spark: SparkSession, folder: Path, course: _Course, trigger: str) -> list[_Sample]:
    rng = random.Random(course.feeds)
    samples: list[_Sample] = []
    feeds = {name: folder / "landing" / name for name in course.names}
    with StreamingQueries(spark.newSession(), folder, feeds, trigger=trigger) as queries:
        for turn in range(course.warm_up + course.rounds):
            moments = drop(_prepare(folder, course, turn, rng))
            done = queries.wait({path.parent.name: path for path in moments}, limit=course.limit)
            if turn >= course.warm_up:
                for path, moment in moments.items():
                    end = done.get(path.parent.name)
                    missed = end is None
                    samples.append(_Sample(latency=course.limit if end is None else end - moment, missed=missed))
            time.sleep(rng.uniform(0.3, 0.8))
    return samples


def _prepare(folder: Path, course: _Course, turn: int, rng: random.Random) -> dict[Path, Path]:
    """Files of a round, written aside, with the places they are to be renamed to."""
    files = {}
    for name in course.names:
        aside = folder / "outbox" / f"{name}-{turn}.csv"
        write_readings(aside, index=turn, rows=_ROWS, span=_SPAN, rng=rng)
        target = folder / "landing" / name / f"{turn:04d}.csv"
        target.parent.mkdir(parents=True, exist_ok=True)
        files[aside] = target
    return files


def _table(feed: str) -> str:
    return feed.replace("feed", "readings")
