"""ETL flows: the Mixed Policy against Round Robin and against Spark by hand, and what Minimum Memory saves."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean

from bench.plain_flows import name_sources, run_plain
from bench.results import DATA, Report
from freshtide.flows.archetypes import COMBINATIONS
from freshtide.spark import start_session
from freshtide.spark.experiments import FlowBench, tpch_data

_MEMORY_FLOWS = ("fork", "butterfly")


def run(folder: Path, *, quick: bool) -> Report:
    # Memory is measured in small packs, each of which is a job: so it needs less data.
    scale, memory_scale, rounds = (0.01, 0.005, 1) if quick else (0.5, 0.02, 3)
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
    name_sources(session, data)
    for flow in COMBINATIONS:
        # Once before it counts: the plans of a flow are compiled when they first run.
        bench.run(flow, policy="mixed", scale=scale)
        run_plain(session, flow, folder / "warm-up" / flow)
    rows = []
    for flow in COMBINATIONS:
        taken: dict[str, list[float]] = {"mixed": [], "round-robin": [], "plain": []}
        for turn in range(rounds):
            for policy in ("mixed", "round-robin"):
                taken[policy].append(bench.run(flow, policy=policy, scale=scale).seconds)
            place = folder / f"plain-{turn}" / flow
            taken["plain"].append(_timed(partial(run_plain, session, flow, place)))
        mixed, robin, plain = (mean(taken[each]) for each in ("mixed", "round-robin", "plain"))
        rows.append((flow, mixed, robin, mixed / robin, plain, mixed / plain))
        report.figures[f"{flow}_mixed"] = mixed
        report.figures[f"{flow}_against_round_robin"] = mixed / robin
        report.figures[f"{flow}_against_plain"] = mixed / plain
    report.table(
        f"The workflows of figure 12 over TPC-H at scale factor {scale:g}, {rounds} rounds in turns: mean seconds",
        ("", "Mixed Policy", "Round Robin", "ratio (goal: 0.65)", "Spark by hand", "ratio (goal: 1.1)"),
        rows,
    )
    report.notes.append(
        "Flows commit their targets together, as Delta tables with fsync; by hand it is one query per target, one "
        "after another, to plain Parquet files with the same compression."
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
