"""Five million rows in one update of a base table, against plain Spark reading and writing the same."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import mean

from bench.machine import MemoryWatch
from bench.readings import DDL, write_readings
from bench.results import DATA, Report
from bench.running import add_feed
from freshtide import Warehouse
from freshtide.spark import SparkSession, start_session

_FILES = 6
_DAYS = 3
_LARGE = "10MB"
"""From here on Spark writes the files itself; low, so that a quick run takes the same way as a full one."""
_QUERY = "SELECT *, to_date(ts) AS day FROM"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """One update: its own seconds, and what came before it."""

    seconds: float
    inspection: float
    rows: int


def run(folder: Path, *, quick: bool) -> Report:
    rows, rounds = (200_000, 1) if quick else (5_000_000, 3)
    large, small = _readings(rows), _readings(2_000)
    size = sum(path.stat().st_size for path in large.iterdir())
    spark = start_session({}, log=folder / "spark.log")
    for way in (_load, _plain):
        way(spark, folder / f"warm-up{way.__name__}", small)
    with MemoryWatch() as little:
        _load(spark, folder / "little", small)
    loads, plain, growths = [], [], []
    for turn in range(rounds):
        with MemoryWatch() as much:
            loads.append(_load(spark, folder / f"freshtide-{turn}", large))
        growths.append(much.growth)
        plain.append(_plain(spark, folder / f"plain-{turn}", large))
    spark.stop()
    if any(load.rows != rows for load in loads):
        raise RuntimeError(f"{rows} rows went in, and out came {[load.rows for load in loads]}")
    return _report(rows=rows, size=size, loads=loads, plain=plain, growths=growths, little=little.growth)


def _report(
    *,
    rows: int,
    size: int,
    loads: list[_Load],
    plain: list[float],
    growths: list[tuple[float, float]],
    little: tuple[float, float],
) -> Report:
    report = Report(name="throughput")
    own, peer = mean(load.seconds for load in loads), mean(plain)
    best, peer_best = min(load.seconds for load in loads), min(plain)
    report.table(
        f"{rows:,} rows of CSV ({size / 1e6:.0f} MB, {_FILES} files) to Parquet by day, {len(plain)} rounds in turns",
        ("", "mean s", "best s", "rows/s"),
        [
            ("Freshtide: the update", own, best, rows / own),
            ("Spark: read.csv.write.partitionBy.parquet", peer, peer_best, rows / peer),
            (
                "ratio of rows/s (goal: at least 0.8)",
                peer / own,
                min(plain) / min(load.seconds for load in loads),
                None,
            ),
        ],
    )
    inspection = mean(load.inspection for load in loads)
    report.table(
        "Before the update, from the start of the run: the files are hashed, counted and checked once",
        ("", "mean s", "MB/s"),
        [("Freshtide: inspection", inspection, size / 1e6 / inspection)],
    )
    python, jvm = (max(values) for values in zip(*growths, strict=True))
    report.table(
        "Growth of resident memory during an update, inspection included, MB",
        ("", "Python", "JVM"),
        [("2,000 rows", *little), (f"{rows:,} rows, the worst", python, jvm)],
    )
    report.figures.update(
        rows_per_second=rows / own,
        peer_rows_per_second=rows / peer,
        ratio=peer / own,
        inspection=inspection,
        python_growth=python,
        jvm_growth=jvm,
    )
    return report


def _load(spark: SparkSession, folder: Path, source: Path) -> _Load:
    with Warehouse(folder, spark=spark, large_update=_LARGE) as warehouse:
        add_feed(warehouse, "readings_feed", source)
        warehouse.sql(f"CREATE STREAMING TABLE readings PARTITIONED BY (day) AS {_QUERY} STREAM readings_feed")
        begun = time.time()
        warehouse.run_once()
        (update,) = warehouse.workbench.catalog.updates.recent("readings")
        assert update.seconds is not None
        return _Load(seconds=update.seconds, inspection=update.started_at - begun, rows=update.rows or 0)


def _plain(spark: SparkSession, folder: Path, source: Path) -> float:
    """The same rows into the same partitions with the same compression, and nothing else."""
    session = spark.newSession()
    begun = time.perf_counter()
    session.read.schema(DDL).option("header", True).csv(str(source)).createOrReplaceTempView("readings_feed")
    rows = session.sql(f"{_QUERY} readings_feed")
    rows.write.partitionBy("day").option("compression", "zstd").parquet(str(folder))
    return time.perf_counter() - begun


def _readings(rows: int) -> Path:
    """The files, generated once and kept."""
    folder = DATA / f"readings-{rows}"
    if not folder.exists():
        unfinished = DATA / f"unfinished-{rows}"
        span = timedelta(days=_DAYS) / _FILES
        for index in range(_FILES):
            # A last row at midnight would be a fourth day.
            part = rows // _FILES + (index < rows % _FILES)
            path = unfinished / f"{index}.csv"
            write_readings(path, index=index, rows=part, span=span - timedelta(seconds=1), rng=random.Random(index))
        unfinished.rename(folder)
    return folder
