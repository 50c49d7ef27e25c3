"""Two hundred feeds: what they cost while nothing arrives, and how soon a file in each of them is noticed."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from bench.machine import jvm_pid, processor_seconds
from bench.readings import write_readings
from bench.results import Report
from bench.running import Running, add_feed, drop
from freshtide import Warehouse
from freshtide.spark import start_session

_ROWS = 200
_LIMIT = 120.0


def run(folder: Path, *, quick: bool) -> Report:
    feeds, watched, calm = (50, 5.0, 3.0) if quick else (200, 20.0, 10.0)
    report = Report(name="idle")
    begun = time.time()
    spark = start_session({}, log=folder / "spark.log")
    started = time.time() - begun
    with Warehouse(folder / "warehouse", spark=spark) as warehouse:
        for index in range(feeds):
            add_feed(warehouse, f"feed_{index:03d}", folder / "landing" / f"{index:03d}")
            warehouse.sql(f"CREATE STREAMING TABLE readings_{index:03d} AS SELECT * FROM STREAM feed_{index:03d}")
        begun = time.time()
        with Running(warehouse) as running:
            opened = time.time() - begun
            time.sleep(calm)
            python, jvm = _load(watched)
            noticed, loaded = _arrivals(running, folder, feeds)
    spark.stop()
    report.table(
        f"{feeds} feeds and nothing arrives, {watched:.0f} s",
        ("", "% of a core"),
        [("Python", 100 * python), ("JVM", 100 * jvm), ("both", 100 * (python + jvm))],
    )
    report.table(
        f"A file of {_ROWS} rows dropped into each of {feeds} feeds at once",
        ("", "s"),
        [
            ("until the last is registered in the catalog (goal: at most 1)", noticed),
            (f"until the last is committed (at most {_LIMIT:.0f} s are waited)", loaded),
            ("opening the warehouse before (Spark apart)", opened),
            ("starting Spark", started),
        ],
    )
    report.figures.update(idle_python=python, idle_jvm=jvm, noticed=noticed, loaded=loaded, opened=opened)
    return report


def _load(seconds: float) -> tuple[float, float]:
    """(Python, JVM): the share of a core that each uses."""
    pids = (os.getpid(), jvm_pid())
    before, begun = [processor_seconds(pid) for pid in pids], time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - begun
    python, jvm = ((processor_seconds(pid) - was) / passed for pid, was in zip(pids, before, strict=True))
    return python, jvm


def _arrivals(running: Running, folder: Path, feeds: int) -> tuple[float | None, float | None]:
    """Seconds until all files are registered, and until all are loaded; None: not within the limit."""
    files = {}
    for index in range(feeds):
        aside = folder / "outbox" / f"{index:03d}.csv"
        write_readings(aside, index=0, rows=_ROWS, span=timedelta(seconds=10), rng=random.Random(index))
        files[aside] = folder / "landing" / f"{index:03d}" / "0.csv"
    database = running.workbench.places.catalog_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as catalog:

        def counted(query: str) -> bool:
            return bool(catalog.execute(query).fetchone()[0] == feeds)

        drop(files)
        begun = time.monotonic()
        found = running.wait(lambda: counted("SELECT count(*) FROM files"), limit=_LIMIT, every=0.01)
        noticed = time.monotonic() - begun
        query = "SELECT count(DISTINCT table_name) FROM updates WHERE status = 'done'"
        done = running.wait(lambda: counted(query), limit=_LIMIT)
        loaded = time.monotonic() - begun
    return noticed if found else None, loaded if done else None
