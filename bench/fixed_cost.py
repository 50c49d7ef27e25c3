"""What one small update costs beyond the Spark work in it: against a bare read and write of the same kind of file."""

from __future__ import annotations

import cProfile
import pstats
import queue
import random
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from statistics import mean, median

from bench.machine import jvm_pid, processor_seconds
from bench.readings import DDL, write_readings
from bench.results import Report
from bench.running import add_feed
from freshtide import Warehouse
from freshtide.core.arrivals import Arrival
from freshtide.core.commands import StartUpdate
from freshtide.core.events import UpdateFailed
from freshtide.core.loads import plan_load
from freshtide.core.steps import Load
from freshtide.feeds import SettledFile, admit
from freshtide.runtime.memory import UpdateMemory
from freshtide.runtime.recovery import reconcile
from freshtide.runtime.suspects import Suspects
from freshtide.runtime.watching import SurroundingsWatch
from freshtide.runtime.worker import UpdateWorker
from freshtide.scheduling import RetryPolicy
from freshtide.spark import start_session

_ROWS = 2_000
_SPAN = timedelta(seconds=10)
_FEED, _TABLE = "readings_feed", "readings"

# Functions whose time adds up to an update, as cProfile names them: (file, function) -> what it is.
_STAGES = {
    ("ingest.py", "read"): "reading the file, declaring it to Spark (py4j)",
    ("queries.py", "evaluate"): "analysing the table's query",
    ("collecting.py", "collected"): "Spark: planning and parsing, Arrow to Python",
    ("parquet.py", "write_arrow"): "writing Parquet, fsync",
    ("tables.py", "commit"): "Delta commit, fsync",
    ("tidying.py", "tidy"): "compaction, checkpoint",
    ("files.py", "*"): "catalog: files",
    ("latest.py", "*"): "catalog: updates",
    ("tables.py", "get"): "catalog: tables",
    ("tables.py", "put"): "catalog: tables",
}


class _Update:
    """One base table, updated file by file without an engine around it."""

    def __init__(self, warehouse: Warehouse, folder: Path) -> None:
        self._bench = warehouse.workbench
        self._feed = warehouse.project.feeds[_FEED]
        self._table = warehouse.project.graph[_TABLE]
        self._folder = folder
        self._rng = random.Random(1)
        self._numbers = count()
        project = warehouse.project
        reconcile(project.graph, self._bench.store, self._bench.catalog, time.time())
        self._worker = UpdateWorker(
            self._bench.executor,
            self._bench.computer,
            feeds=project.feeds,
            graph=project.graph,
            store=self._bench.store,
            catalog=self._bench.catalog,
            memory=UpdateMemory(suspects=Suspects(self._bench.threads)),
            clock=self._bench.clock,
            surroundings=SurroundingsWatch(
                [],
                events=queue.SimpleQueue(),
                tell=lambda _trouble, _told: None,
                backoff=RetryPolicy(),
                clock=self._bench.clock.onward,
                threads=self._bench.threads,
            ),
        )

    def new_file(self) -> Path:
        number = next(self._numbers)
        path = self._folder / f"{number:05d}.csv"
        return write_readings(path, index=number, rows=_ROWS, span=_SPAN, rng=self._rng)

    def arrived(self) -> Arrival:
        """A file that has been inspected and registered."""
        path = self.new_file()
        found = path.stat()
        settled = SettledFile(path=str(path), size=found.st_size, modified_ns=found.st_mtime_ns)
        file = admit(self._feed, settled, self._bench.catalog.arrivals, time.time())
        assert file is not None
        return self._bench.catalog.arrivals.register(file, [_TABLE])

    def whole(self) -> float:
        """The update as a track carries it out, bookkeeping in the catalog included."""
        file = self.arrived()
        assert file.timestamp is not None
        begun = time.perf_counter()
        first, *_ = self._worker.carry_out(StartUpdate(table=_TABLE, track=0, upto=file.timestamp))
        seconds = time.perf_counter() - begun
        if isinstance(first, UpdateFailed):
            raise RuntimeError(first.reason)
        return seconds

    def load_only(self) -> float:
        """Reading, writing and committing, without the catalog."""
        file = self.arrived()
        snapshot = self._bench.store.table(_TABLE).snapshot
        freshness, safe = (snapshot.freshness, snapshot.freshness) if snapshot else (None, None)
        plan = plan_load(self._feed, [file], upto=None, freshness=freshness, safe=safe)
        begun = time.perf_counter()
        outcome = self._bench.executor.run(Load(table=self._table, plan=plan), track=0)
        seconds = time.perf_counter() - begun
        assert outcome is not None
        self._bench.catalog.arrivals.mark_loaded(_TABLE, [file.id], outcome.record.number)
        return seconds


def run(folder: Path, *, quick: bool) -> Report:
    rounds, warm_up = (5, 5) if quick else (30, 30)
    spark = start_session({}, log=folder / "spark.log")
    bare = spark.newSession()
    landing = folder / "landing"
    targets = (folder / "bare" / str(number) for number in count())
    with Warehouse(folder / "warehouse", spark=spark) as warehouse:
        add_feed(warehouse, _FEED, landing)
        warehouse.sql(f"CREATE STREAMING TABLE {_TABLE} AS SELECT * FROM STREAM {_FEED}")
        update = _Update(warehouse, landing)

        def bare_write() -> float:
            path, target = update.new_file(), next(targets)
            begun = time.perf_counter()
            bare.read.schema(DDL).option("header", True).csv(str(path)).write.parquet(str(target))
            return time.perf_counter() - begun

        def bare_arrow() -> float:
            path = update.new_file()
            begun = time.perf_counter()
            bare.read.schema(DDL).option("header", True).csv(str(path)).toArrow()
            return time.perf_counter() - begun

        ways: dict[str, Callable[[], float]] = {
            "Freshtide: the update, with the catalog": update.whole,
            "Freshtide: load, write, commit": update.load_only,
            "Spark: read.csv.write.parquet": bare_write,
            "Spark: read.csv.toArrow": bare_arrow,
        }
        for _ in range(warm_up):
            for way in ways.values():
                way()
        times: dict[str, list[float]] = {name: [] for name in ways}
        processor = dict.fromkeys(ways, 0.0)
        # In turns, so that what else the machine does meets all alike.
        for _ in range(rounds):
            for name, way in ways.items():
                before = processor_seconds(jvm_pid())
                times[name].append(way())
                processor[name] += processor_seconds(jvm_pid()) - before
        stages, profiled = _profile(update.whole, rounds)
    report = Report(name="fixed-cost")
    _tell(report, times, {name: seconds / rounds for name, seconds in processor.items()}, rounds)
    report.table(
        f"Where the time of an update goes ({rounds} more, under cProfile, which itself slows Python down)",
        ("", "ms", "share"),
        [(stage, 1_000 * seconds, f"{seconds / profiled:.0%}") for stage, seconds in stages.items()],
    )
    spark.stop()
    return report


def _tell(report: Report, times: dict[str, list[float]], processor: dict[str, float], rounds: int) -> None:
    write, arrow = mean(times["Spark: read.csv.write.parquet"]), mean(times["Spark: read.csv.toArrow"])
    report.table(
        f"One file of {_ROWS:,} rows, {rounds} warm runs of each, in turns",
        ("", "mean ms", "median ms", "best ms", "JVM ms", "of bare write", "of bare toArrow"),
        [
            (
                name,
                1_000 * mean(seconds),
                1_000 * median(seconds),
                1_000 * min(seconds),
                1_000 * processor[name],
                mean(seconds) / write,
                mean(seconds) / arrow,
            )
            for name, seconds in times.items()
        ],
    )
    report.notes.append("JVM ms: processor time of the JVM; it hangs less than the others on what else is running.")
    whole = mean(times["Freshtide: the update, with the catalog"])
    load = mean(times["Freshtide: load, write, commit"])
    report.figures.update(
        update=whole, load=load, bare_write=write, bare_arrow=arrow, ratio=whole / write, ratio_to_arrow=whole / arrow
    )


def _profile(update: Callable[[], float], rounds: int) -> tuple[dict[str, float], float]:
    """Seconds per update in each stage, and in all."""
    profile = cProfile.Profile()
    total = 0.0
    for _ in range(rounds):
        profile.enable()
        total += update()
        profile.disable()
    found: dict[str, float] = dict.fromkeys(_STAGES.values(), 0.0)
    for (path, _line, function), (_calls, _all, _own, cumulative, callers) in _entries(pstats.Stats(profile)):
        place = Path(path)
        stage = _STAGES.get((place.name, function))
        if "catalog" in place.parts:
            # Counted where they are entered from outside: within the catalog they call each other.
            whole_module = _STAGES.get((place.name, "*"))
            entered = all("catalog" not in Path(caller[0]).parts for caller in callers)
            stage = (stage or whole_module) if entered and not _of_measuring(callers) else None
        elif place.name == "tables.py" and function != "commit":
            stage = None
        if stage:
            found[stage] += cumulative / rounds
    whole = total / rounds
    known = {stage: seconds for stage, seconds in found.items() if seconds}
    return {**known, "everything else": max(0.0, whole - sum(known.values())), "in all": whole}, whole


_Place = tuple[str, int, str]
_Numbers = tuple[int, int, float, float, dict[_Place, object]]


def _entries(stats: pstats.Stats) -> list[tuple[_Place, _Numbers]]:
    found: dict[_Place, _Numbers] = stats.stats  # type: ignore[attr-defined]  # there, but not in the stub
    return list(found.items())


def _of_measuring(callers: dict[_Place, object]) -> bool:
    """Whether a call comes from this file, where the next file is registered."""
    return bool(callers) and all(Path(place[0]) == Path(__file__) for place in callers)
