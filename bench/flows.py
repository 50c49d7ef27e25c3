"""ETL flows: the Mixed Policy against Round Robin and against Spark by hand, and what Minimum Memory saves."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean

from bench.plain_flows import run_plain
from bench.results import DATA, Report
from freshtide.flows.archetypes import COMBINATIONS
from freshtide.spark import start_session
from freshtide.spark.experiments import FlowBench, tpch_data

_MEMORY_FLOWS = ("fork", "butterfly")
_WARM_UPS = 2


def run(folder: Path, *, quick: bool) -> Report:
    # Memory is measured in small packs, each of which is a job: so it needs less data.
    scale, memory_scale, rounds = (0.01, 0.005, 1) if quick else (0.5, 0.02, 5)
    data = tpch_data(scale, cache=DATA / "tpch")
    spark = start_session({}, log=folder / "spark.log")
    bench = FlowBench(session=spark, cache=DATA / "tpch")
    bench.warm_up()
    report = Report(name="flows")
    _measure_times(report, bench.with_large_packs(), data, folder, scale=scale, rounds=rounds)
    _measure_memory(report, bench, scale=memory_scale)
    spark.stop()
    return report


def _measure_times(report: Report, bench: FlowBench, data: Path, folder: Path, *, scale: float, rounds: int) -> None:
    session = bench.session.newSession()
    rows = []
    for flow in COMBINATIONS:
        mixed_times, plain_times = [], []
        for turn in range(_WARM_UPS + rounds):
            mixed_times.append(bench.run(flow, policy="mixed", scale=scale).seconds)
            place = folder / f"plain-{turn}" / flow
            plain_times.append(_timed(partial(run_plain, session, data, flow, place)))
        # Not before its plans have been compiled does a flow, or a query, take the time that it takes.
        mixed, plain = mean(mixed_times[_WARM_UPS:]), mean(plain_times[_WARM_UPS:])
        robin = bench.run(flow, policy="round-robin", scale=scale).seconds
        rows.append((flow, mixed, robin, mixed / robin, plain, mixed / plain))
        report.figures[f"{flow}_mixed"] = mixed
        report.figures[f"{flow}_against_round_robin"] = mixed / robin
        report.figures[f"{flow}_against_plain"] = mixed / plain
    report.table(
        f"The workflows of figure 12 over TPC-H at scale factor {scale:g}: mean seconds of {rounds} rounds in turns, "
        "one of Round Robin",
        ("", "Mixed Policy", "Round Robin", "ratio (goal: 0.65)", "Spark by hand", "ratio (goal: 1.1)"),
        rows,
    )
    report.notes.append(
        "Flows commit their targets together, as Delta tables with fsync, and count the rows of each activity; by hand "
        "it is one query per target, one after another, to plain Parquet files with the same compression. Both begin "
        "with the files of the sources."
    )


def _measure_memory(report: Report, bench: FlowBench, *, scale: float) -> None:
    rows = []
    for flow in _MEMORY_FLOWS:
        robin = bench.run(flow, policy="round-robin", scale=scale).average_packs
        saving = bench.run(flow, policy="minimum-memory", scale=scale).average_packs
        rows.append((flow, saving, robin, saving / robin))
        report.figures[f"{flow}_memory_ratio"] = saving / robin
    report.table(
        f"Average memory in packs of {bench.pack_rows:,} rows, queues of {bench.limits.packs}, scale factor {scale:g}",
        ("", "Minimum Memory", "Round Robin", "ratio (goal: 0.5)"),
        rows,
    )


def _timed(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
