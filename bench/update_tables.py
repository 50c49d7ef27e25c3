"""Overloaded update tables: how stale results are with each queue, and with Structured Streaming."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from bench.deliveries import Deliveries, Delivery, Staleness, one_by_one, staleness_of
from bench.latest_stream import LatestStream
from bench.results import Report
from bench.running import Running
from bench.ticks import SCHEMA, Arrival, TickFile, land, write_ticks, zipf_keys
from freshtide import Warehouse
from freshtide.core.latest import KeyOrder
from freshtide.latest import AppendQueue, ColumnKind, LatestQueue, PagePool, TupleCost, TupleQueue
from freshtide.runtime import EngineReport, Workbench
from freshtide.spark import QueueMaker, SparkSession, SparkTracks, start_session

_LOAD = 5
_KEYS = 1_000
_THETA = 0.99
_PERIOD = 0.25
"""Seconds between two files."""
# A chain of hashes: about a millisecond a row, and as slow with compiled plans as without.
_COLUMNS = "ts, k, seq, aggregate(sequence(1, 3000), CAST(v AS STRING), (hash, i) -> sha2(hash, 256)) AS score"
_RESULT = pa.schema(
    [("ts", pa.timestamp("us", tz="UTC")), ("k", pa.string()), ("seq", pa.int64()), ("score", pa.string())]
)
_APPEND, _STREAMING = "append queue", "Structured Streaming"
_PATIENCE = 120.0
"""Seconds to wait for what must come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    """Files for all competitors: to get warm with, one after the other, and those that count."""

    warm_up: Sequence[TickFile]
    counted: Sequence[TickFile]

    @property
    def first(self) -> int:
        """The number of the first row that counts."""
        return sum(len(file.keys) for file in self.warm_up)

    @property
    def seconds(self) -> float:
        return len(self.counted) * _PERIOD

    def beginning(self, seconds: float) -> _Input:
        return replace(self, counted=self.counted[: round(seconds / _PERIOD)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """What arrived and what was delivered in the time that counts."""

    arrivals: Sequence[Arrival]
    deliveries: Sequence[Delivery]
    first: int
    begun: float
    end: float

    @property
    def staleness(self) -> Staleness:
        return staleness_of(self.arrivals, self.deliveries, first=self.first, begun=self.begun, end=self.end)

    def at_best(self, cost: float) -> _Course:
        """The same arrivals with an append queue that takes no time for anything but the rows."""
        return replace(self, deliveries=one_by_one(self.arrivals, first=self.first, cost=cost))


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueuedWarehouse:
    """A warehouse whose update tables have queues of a certain kind."""

    workbench: Workbench

    def run(self, *, stop: threading.Event) -> EngineReport:
        with self.workbench.leased():
            return self.workbench.engine().run(stop=stop, once=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contest:
    """A competitor that is at work."""

    landing: Path
    deliveries: Deliveries
    check: Callable[[], None]
    """Raises if it has failed."""


def run(folder: Path, *, quick: bool) -> Report:
    seconds, rehearsal, warm_up, rounds = (4.0, 1.0, 1, 2) if quick else (60.0, 10.0, 3, 5)
    spark = start_session({}, log=folder / "spark.log")
    cost = _measured_cost(spark, rounds=rounds)
    per_file = max(1, round(_LOAD / cost * _PERIOD))
    given = _prepare(folder / "input", per_file=per_file, warm_up=warm_up, files=round(seconds / _PERIOD))
    # Spark's code gets warm for a long time: without rehearsals whoever goes last wins.
    _measure(_freshtide(spark, folder / "rehearsal"), given.beginning(rehearsal))
    _measure(_structured_streaming(spark, folder / "streaming-rehearsal"), given.beginning(rehearsal))
    courses = {_APPEND: _measure(_freshtide(spark, folder / "append", make_queue=_append_queue), given)}
    for order in (KeyOrder.FIFO, KeyOrder.IN_PLACE, KeyOrder.LINECUTTING):
        courses[order.value] = _measure(_freshtide(spark, folder / order.value, order=order), given)
    courses[_STREAMING] = _measure(_structured_streaming(spark, folder / "streaming"), given)
    spark.stop()
    report = Report(name="update-tables")
    _tell(report, courses, given, cost)
    return report


def _measured_cost(spark: SparkSession, *, rounds: int) -> float:
    """Seconds that a further row takes in Spark, handed over and back as update tables do it.

    What few rows take as well is not counted.
    """
    session = SparkTracks(spark).session("calibration")

    def taken(rows: int) -> float:
        begun = time.perf_counter()
        # Spread over the processors, as update tables do it where rows are dear.
        ticks = session.createDataFrame(_ticks(rows)).repartition(session.sparkContext.defaultParallelism)
        session.sql(f"SELECT {_COLUMNS} FROM {{rows}}", rows=ticks).toArrow()
        return time.perf_counter() - begun

    few, many = 100, 1_000
    for _ in range(rounds):  # Spark gets warm.
        taken(many)
    return median(taken(many) - taken(few) for _ in range(rounds)) / (many - few)


def _ticks(rows: int) -> pa.Table:
    rng = random.Random(rows)
    values: list[list[Any]] = [
        [datetime.fromtimestamp(number, UTC) for number in range(rows)],
        [f"key-{number}" for number in range(rows)],
        list(range(rows)),
        [rng.random() for _ in range(rows)],
    ]
    return pa.table(dict(zip(SCHEMA, values, strict=True)))


def _prepare(folder: Path, *, per_file: int, warm_up: int, files: int) -> _Input:
    rng = random.Random(3)
    keys = zipf_keys((warm_up + files) * per_file, keys=_KEYS, theta=_THETA, rng=rng)
    written = write_ticks(folder, keys, per_file=per_file, first=0, rng=rng)
    return _Input(warm_up=written[:warm_up], counted=written[warm_up:])


def _measure(competitor: AbstractContextManager[_Contest], given: _Input) -> _Course:
    with competitor as contest:
        done = 0
        for file in given.warm_up:
            land([file], contest.landing, period=0.0, check=contest.check)
            done += len(file.keys)
            _wait(contest, done - 1)
        begun = time.time()
        arrivals = land(given.counted, contest.landing, period=_PERIOD, check=contest.check)
        end = begun + given.seconds
        time.sleep(max(0.0, end - time.time()))
        contest.check()
    counted = [each for each in contest.deliveries.all if begun < each.at <= end]
    return _Course(arrivals=arrivals, deliveries=counted, first=given.first, begun=begun, end=end)


def _wait(contest: _Contest, number: int) -> None:
    if not contest.deliveries.wait_for(number, limit=_PATIENCE):
        contest.check()
        raise TimeoutError(f"row {number:,} was not committed within {_PATIENCE:.0f} s")


@contextmanager
def _freshtide(
    spark: SparkSession,
    folder: Path,
    *,
    order: KeyOrder = KeyOrder.IN_PLACE,
    make_queue: QueueMaker = LatestQueue,
) -> Iterator[_Contest]:
    landing = _landing(folder)
    declared = Warehouse(folder, spark=spark, tracks=1)
    declared.feed(
        "ticks", path=f"{landing}/*.csv", format="csv", schema=SCHEMA, time_column="ts", settle="renamed", period="1s"
    )
    declared.sql(
        f"CREATE STREAMING TABLE newest TBLPROPERTIES ('update_key'='k', 'key_order'='{order.value}') "
        f"AS SELECT {_COLUMNS} FROM STREAM ticks"
    )
    deliveries = Deliveries()

    def listen(rows: list[dict[str, Any]]) -> None:
        deliveries.note({row["k"]: row["seq"] for row in rows})

    with Workbench(declared.project, spark=spark, make_queue=make_queue) as workbench:
        workbench.listeners.add("newest", listen)
        with Running(_QueuedWarehouse(workbench=workbench)) as running:
            yield _Contest(landing=landing, deliveries=deliveries, check=running.check)


@contextmanager
def _structured_streaming(spark: SparkSession, folder: Path) -> Iterator[_Contest]:
    landing, deliveries = _landing(folder), Deliveries()
    with LatestStream(
        spark.newSession(), source=landing, folder=folder, columns=_COLUMNS, schema=_RESULT, told=deliveries.note
    ) as stream:
        yield _Contest(landing=landing, deliveries=deliveries, check=stream.check)


def _landing(folder: Path) -> Path:
    landing = folder / "landing"
    landing.mkdir(parents=True)
    return landing


def _append_queue(
    pool: PagePool,
    values: Sequence[ColumnKind],
    *,
    order: KeyOrder,  # noqa: ARG001 - tuples stay in the order of arrival
    cost: TupleCost,  # noqa: ARG001 - nothing is decided by it
) -> TupleQueue:
    return AppendQueue(pool, values)


def _tell(report: Report, courses: Mapping[str, _Course], given: _Input, cost: float) -> None:
    measured = {name: course.staleness for name, course in courses.items()}
    append, streaming = measured[_APPEND].mean, measured[_STREAMING].mean
    in_place, linecutting = (measured[order.value].mean for order in (KeyOrder.IN_PLACE, KeyOrder.LINECUTTING))
    at_best = courses[_APPEND].at_best(cost).staleness.mean
    rate = len(given.counted[0].keys) / _PERIOD
    report.table(
        "The load",
        ("", ""),
        [
            ("cost of a row as measured, ms", 1_000 * cost),
            ("rows per second that arrive", rate),
            ("load factor: arrival rate times cost", rate * cost),
        ],
    )
    report.table(
        f"{_KEYS:,} keys, Zipf {_THETA}, {given.seconds:.0f} s: application staleness, mean over keys, seconds",
        ("", "over the time", "at its end", "against append", f"against {_STREAMING}", "commits", "rows"),
        [
            (
                name,
                staleness.mean,
                staleness.at_end,
                staleness.mean / append,
                staleness.mean / streaming,
                len(courses[name].deliveries),
                sum(len(delivery.newest) for delivery in courses[name].deliveries),
            )
            for name, staleness in measured.items()
        ],
    )
    report.table(
        "Ratios, by the mean over the time",
        ("", "ratio"),
        [
            ("in-place to the append queue (goal: at most 0.1)", in_place / append),
            ("in-place to an append queue at its best", in_place / at_best),
            ("linecutting to in-place (goal: at most 1)", linecutting / in_place),
            (f"linecutting to {_STREAMING}", linecutting / streaming),
        ],
    )
    report.notes += [
        "Staleness counts from the moment at which a file lands until the commit of a row that is as new: exactly, by "
        "what was noted of both.",
        f"All get the same files, one every {_PERIOD} s, after some to get warm with, one competitor after the other "
        "on one Spark, on which both systems have been rehearsed: CSV files in a folder are what both systems read.",
        f"An append queue at its best takes {1_000 * cost:.3f} ms for each row and no time for anything else: "
        f"{at_best:.3f} s, by computation.",
        f"{_STREAMING} takes all files that are there, and computes only the newest row of each key.",
    ]
    report.figures |= {f"{name.replace(' ', '_').lower()}_staleness": each.mean for name, each in measured.items()}
    report.figures |= {
        "cost_ms": 1_000 * cost,
        "rows_per_second": rate,
        "append_at_best_staleness": at_best,
        "in_place_to_append": in_place / append,
        "linecutting_to_in_place": linecutting / in_place,
        "linecutting_to_streaming": linecutting / streaming,
    }
