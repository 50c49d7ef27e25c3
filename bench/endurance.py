"""A thousand updates of one table and a view on it: is the last as quick as the first?"""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import mean

from bench.machine import heap_after_collection, jvm_pid, resident
from bench.readings import write_readings
from bench.results import Report
from bench.running import Running, add_feed, drop
from freshtide import Warehouse
from freshtide.catalog import UpdateRow
from freshtide.spark import SparkSession, start_session

_ROWS = 200
_SPAN = timedelta(seconds=10)
_LIMIT = 60.0
_TABLES = ("readings", "per_minute")
_VIEW = """
CREATE MATERIALIZED VIEW per_minute AS
SELECT date_trunc('minute', ts) AS minute, status, count(*) AS readings, avg(value) AS mean_value
FROM readings
GROUP BY date_trunc('minute', ts), status
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """The state after some updates, and the times of those in it."""

    updates: int
    base: float
    view: float
    view_updates: int
    elapsed: float
    python: float
    jvm: float
    heap: float
    base_files: int
    view_files: int


def run(folder: Path, *, quick: bool) -> Report:
    windows, size, warm_up = (3, 10, 10) if quick else (10, 100, 200)
    spark = start_session({}, log=folder / "spark.log")
    found: list[_Window] = []
    # A short poll: what is measured is the work, not the waiting for the next look.
    with Warehouse(folder / "warehouse", spark=spark, poll="20ms") as warehouse:
        add_feed(warehouse, "readings_feed", folder / "landing")
        warehouse.sql("CREATE STREAMING TABLE readings AS SELECT * FROM STREAM readings_feed")
        warehouse.sql(_VIEW)
        with Running(warehouse) as running:
            _feed(running, folder, first=0, count=warm_up)
            for window in range(windows):
                begun = time.time()
                _feed(running, folder, first=warm_up + window * size, count=size)
                found.append(_look(spark, running, begun, (window + 1) * size))
    spark.stop()
    return _report(found, warm_up)


def _feed(running: Running, folder: Path, *, first: int, count: int) -> None:
    """Drop files one after another, each as soon as the one before it is in the table."""
    table = running.workbench.store.table("readings", time_column="ts")
    for index in range(first, first + count):
        aside = folder / "outbox" / f"{index:05d}.csv"
        write_readings(aside, index=index, rows=_ROWS, span=_SPAN, rng=random.Random(index))
        before = table.snapshot.number if table.snapshot else 0

        def committed(before: int = before) -> bool:
            return table.snapshot is not None and table.snapshot.number > before

        drop({aside: folder / "landing" / aside.name})
        if not running.wait(committed, limit=_LIMIT, every=0.005):
            raise TimeoutError(f"file {index} was not loaded within {_LIMIT:.0f} s")


def _look(spark: SparkSession, running: Running, begun: float, updates: int) -> _Window:
    elapsed = time.time() - begun
    done = running.workbench.catalog.updates.done_since(begun)
    base = [row for row in done if row.table == "readings"]
    view = [row for row in done if row.table == "per_minute"]
    store = running.workbench.store
    files = {name: snapshot.files if (snapshot := store.table(name).snapshot) else () for name in _TABLES}
    return _Window(
        updates=updates,
        base=_mean_seconds(base),
        view=_mean_seconds(view),
        view_updates=len(view),
        elapsed=elapsed,
        python=resident(os.getpid()),
        jvm=resident(jvm_pid()),
        heap=heap_after_collection(spark),
        base_files=len(files["readings"]),
        view_files=len(files["per_minute"]),
    )


def _mean_seconds(rows: list[UpdateRow]) -> float:
    return mean([row.seconds or 0.0 for row in rows] or [0.0])


def _report(windows: list[_Window], warm_up: int) -> Report:
    report = Report(name="endurance")
    report.table(
        f"A base table and a view per minute, files of {_ROWS} rows one after another, after {warm_up} to warm up",
        ("updates", "table ms", "view ms", "view updates", "s", "Python MB", "JVM MB", "heap MB", "files", "in view"),
        [
            (
                f"{window.updates:,}",
                1_000 * window.base,
                1_000 * window.view,
                window.view_updates,
                window.elapsed,
                window.python,
                window.jvm,
                window.heap,
                window.base_files,
                window.view_files,
            )
            for window in windows
        ],
    )
    first, last = windows[0], windows[-1]
    ratios = {
        "table": last.base / first.base,
        "view": last.view / first.view if first.view else 0.0,
        "elapsed": last.elapsed / first.elapsed,
        "python": last.python / first.python,
        "heap": last.heap / first.heap,
    }
    report.table(
        "The last window against the first (goal: about 1)",
        ("", "ratio"),
        [
            ("time of a table update", ratios["table"]),
            ("time of a view update", ratios["view"]),
            ("time of the window", ratios["elapsed"]),
            ("memory of Python", ratios["python"]),
            ("heap of the JVM after collection", ratios["heap"]),
        ],
    )
    report.figures.update(ratios)
    return report
