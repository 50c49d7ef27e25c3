"""What is predicted of a project from how it stands, against what it then does: the demo, and one with overload."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.comparing import Compared, compared, median_error, ranking
from bench.readings import SCHEMA
from bench.results import Report
from bench.running import add_feed
from freshtide import Warehouse
from freshtide.demo import Generator, create_demo, feed_live
from freshtide.planning import warehouse_model
from freshtide.spark import SparkSession, start_session
from freshtide.world import SystemClock

_TABLES, _ROWS, _EVERY = 24, 100, 1.0
"""Of the project with overload: base tables with a file each second, on one track."""
_PRIORITIES = (1, 2, 4)
_PER_VIEW = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Spark's first updates say little about later ones. The next are learnt from, and what follows is predicted."""

    warm_up: float
    learning: float
    observed: float


def run(folder: Path, *, quick: bool) -> Report:
    report = Report(name="prediction")
    course = Course(warm_up=20, learning=20, observed=20) if quick else Course(warm_up=120, learning=120, observed=120)
    spark = start_session({}, log=folder / "spark.log")
    for name, measure in {"demo": demo, "overload": overload}.items():
        _tell(report, name, measure(folder / name, spark, course))
    spark.stop()
    return report


def demo(folder: Path, spark: SparkSession, course: Course) -> list[Compared]:
    """The demo, fed as `freshtide demo` feeds it."""
    create_demo(folder)
    clock, stop = SystemClock(), threading.Event()
    with Warehouse.open(folder, spark=spark) as warehouse:
        feeding = feed_live(Generator(folder, seed=7, start=clock.now()), clock, stop)
        return _compared(warehouse, course, stop, feeding)


def overload(folder: Path, spark: SparkSession, course: Course) -> list[Compared]:
    """More files than one track can take one by one, for tables of three priorities, and views over them."""
    feeds = {f"f{number:02d}": folder / "landing" / f"f{number:02d}" for number in range(_TABLES)}
    with Warehouse(folder, spark=spark, tracks=1) as warehouse:
        for number, (feed, place) in enumerate(feeds.items()):
            add_feed(warehouse, feed, place)
            priority = _PRIORITIES[number % len(_PRIORITIES)]
            warehouse.sql(
                f"CREATE STREAMING TABLE t{number:02d} TBLPROPERTIES ('priority' = '{priority}') "
                f"AS SELECT * FROM STREAM {feed}"
            )
        for first in range(0, _TABLES, _PER_VIEW):
            warehouse.sql(
                f"CREATE MATERIALIZED VIEW v{first:02d} AS SELECT date_trunc('minute', ts) AS minute, count(*) AS n "
                f"FROM t{first:02d} GROUP BY date_trunc('minute', ts)"
            )
        stop = threading.Event()
        feeding = threading.Thread(target=_feed, args=(list(feeds.values()), stop), name="feeds", daemon=True)
        feeding.start()
        return _compared(warehouse, course, stop, feeding)


def _compared(warehouse: Warehouse, course: Course, stop: threading.Event, feeding: threading.Thread) -> list[Compared]:
    clock, catalog = warehouse.workbench.clock, warehouse.workbench.catalog
    try:
        learnt_at = clock.now() + course.warm_up + course.learning
        warehouse.run(until=lambda: clock.now() >= learnt_at)
        since = clock.now()
        model = warehouse_model(warehouse.project, catalog, now=since)
        until = since + course.observed
        warehouse.run(until=lambda: clock.now() >= until)
    finally:
        stop.set()
        feeding.join()
    return compared(model, catalog, warehouse.project.settings, since=since, until=until)


def _feed(folders: list[Path], stop: threading.Event) -> None:
    """A file each second in each folder, spread over the second, with rows of the second before."""
    rng = random.Random(7)
    begun, turn = time.monotonic(), 0
    while not stop.wait(max(0.0, begun + turn * _EVERY / len(folders) - time.monotonic())):
        folder = folders[turn % len(folders)]
        aside = folder / f".{turn:08d}"
        now = time.time()
        aside.write_text(",".join(SCHEMA) + "\n" + "".join(_lines(now, rng)))
        aside.rename(folder / f"{turn:08d}.csv")
        turn += 1


def _lines(now: float, rng: random.Random) -> list[str]:
    return [
        f"{_iso(now - _EVERY * (_ROWS - 1 - row) / _ROWS)},device-{row:03d},{rng.random():.4f},{row},ok\n"
        for row in range(_ROWS)
    ]


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _tell(report: Report, name: str, every: list[Compared]) -> None:
    rows = [
        (c.table, c.predicted, c.observed, c.error, c.error_knowing) for c in sorted(every, key=lambda c: c.observed)
    ]
    columns = ("", "predicted", "observed", "error", "error if costs were known")
    report.table(f"{name}: mean staleness in seconds", columns, rows)
    figures = {
        "error": median_error(every),
        "ranking": ranking(every),
        "error_knowing": median(c.error_knowing for c in every),
    }
    told = (
        "median error (goal: at most 0.1)",
        "pairs of tables in the right order (goal: 1)",
        "median error if it had been known what updates were going to take",
    )
    report.table(name, ("", ""), zip(told, figures.values(), strict=True))
    report.figures.update({f"{figure}_{name}": value for figure, value in figures.items()})
