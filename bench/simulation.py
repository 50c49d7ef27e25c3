"""The simulator against SimPy, the time of a decision against the number of tables, and the memory of a long run."""

from __future__ import annotations

import random
import resource
import time
from pathlib import Path
from statistics import mean, median, quantiles

from bench.rates import rates
from bench.results import Report
from bench.workloads import alike
from freshtide.core.commands import Command, StartUpdate
from freshtide.core.costs import GivenCost
from freshtide.core.events import DataArrived, Event, UpdateFinished
from freshtide.scheduling import ORDERINGS, TARGET_LAGS, GlobalAllocation, Policy, ScheduledTable, Scheduler
from freshtide.simulation import SimulatedTable, Simulation, Stream, Workload, least_weighted_staleness


def run(folder: Path, *, quick: bool) -> Report:  # noqa: ARG001 - nothing is kept on disk
    report = Report(name="simulation")
    # First, while the process is still small: the peak of its memory is the run's.
    _measure_memory(report, events=100_000 if quick else 1_000_000)
    _measure_rate(report, events=40_000 if quick else 400_000)
    _measure_decisions(report, decisions=2_000 if quick else 20_000)
    _measure_quality(report, instances=20 if quick else 200)
    return report


def _measure_memory(report: Report, *, events: int) -> None:
    Simulation(alike(1_000, load=0.8, tracks=100), Policy(), tracks=100).run(events=events)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report.table(f"{events:,} events with 1,000 tables", ("", "MB"), [("peak of the process (goal: below 500)", peak)])
    report.figures["peak_mb"] = peak


def _measure_rate(report: Report, *, events: int) -> None:
    compiled, written = rates(events, compiled=True), rates(events, compiled=False)
    rows = []
    for load, (own, peer) in compiled.items():
        ratio, (interpreted, beside) = own / peer, written[load]
        rows.append((f"U_tot = {float(load):.0%}", own, peer, ratio, interpreted, interpreted / beside))
        report.figures[f"rate_ratio_{load}"] = ratio
        report.figures[f"rate_ratio_interpreted_{load}"] = interpreted / beside
    report.table(
        "30 tables, 4 tracks, slowdowns of factor 3 half of the time: events per second",
        ("", "Freshtide, compiled", "SimPy", "ratio (goal: 3)", "interpreted", "ratio"),
        rows,
    )


def _measure_decisions(report: Report, *, decisions: int) -> None:
    typical, worst = {}, {}
    for tables in (100, 1_000, 10_000, 100_000):
        taken = _decision_times(tables, decisions)
        typical[tables], worst[tables] = median(taken) * 1e6, quantiles(taken, n=100)[98] * 1e6
        report.figures[f"decision_us_{tables}"] = typical[tables]
        report.figures[f"decision_p99_us_{tables}"] = worst[tables]
    report.table(
        "A decision by target lags, explained, with most tables waiting: microseconds "
        "(goal: p99 below 1,000 at 10,000 tables)",
        ("", "median", "p99"),
        [(f"{tables:,} tables", typical[tables], worst[tables]) for tables in typical],
    )
    ratio = typical[100_000] / typical[100]
    report.table("Growth", ("", ""), [("100,000 tables against 100 (goal: below 10)", ratio)])
    report.figures["decision_growth"] = ratio


def _measure_quality(report: Report, *, instances: int) -> None:
    """Against the best schedule found by search, which knows the future: three tables with three files each."""
    rows = []
    for ordering in ORDERINGS:
        policy = Policy(ordering=ordering, allocation=GlobalAllocation(), chopping=None)
        ratios = []
        for seed in range(instances):
            workload = _small_instance(seed)
            best = least_weighted_staleness(workload, tracks=1, horizon=40.0)
            ratios.append(Simulation(workload, policy, tracks=1).run(horizon=40.0).weighted_staleness / best)
        rows.append((ordering, mean(ratios), max(ratios)))
        report.figures[f"against_best_{ordering}"] = mean(ratios)
    report.table(f"Weighted staleness against the best schedule, {instances} instances", ("", "mean", "worst"), rows)


def _small_instance(seed: int) -> Workload:
    rng = random.Random(seed)
    tables = []
    for number in range(3):
        moments = sorted(rng.uniform(0.0, 30.0) for _ in range(3))
        tables.append(
            SimulatedTable(
                name=f"t{number}",
                stream=Stream(period=10.0, arrivals=tuple((moment, moment) for moment in moments)),
                alpha=rng.uniform(1.0, 6.0),
                beta=0.1,
                priority=rng.choice((1.0, 10.0)),
            )
        )
    return Workload(tables=tuple(tables), seed=seed)


def _decision_times(tables: int, decisions: int) -> list[float]:
    """An update ends, another begins, data arrives for a third: the time of each such call."""
    rng = random.Random(tables)
    scheduler = Scheduler(
        [
            ScheduledTable(
                name=f"t{number}",
                period=rng.choice((5.0, 60.0, 3_600.0)),
                priority=rng.choice((1.0, 10.0)),
                cost=GivenCost(rng.uniform(0.1, 2.0), 0.01),
                freshness=0.0,
                safe=0.0,
            )
            for number in range(tables)
        ],
        tracks=8,
        policy=TARGET_LAGS,
        uniform=rng.random,
    )
    running: list[StartUpdate] = _starts(
        scheduler.handle([DataArrived(f"t{number}", rng.uniform(1.0, 100.0)) for number in range(tables)], 100.0)
    )
    taken = []
    for turn in range(decisions):
        now = 101.0 + turn
        ended = running.pop(rng.randrange(len(running)))
        events: list[Event] = [
            UpdateFinished(ended.table, ended.track, ended.upto, ended.upto, 1.0),
            DataArrived(f"t{rng.randrange(tables)}", now),
        ]
        begun = time.perf_counter()
        commands = scheduler.handle(events, now)
        taken.append(time.perf_counter() - begun)
        running += _starts(commands)
    return taken


def _starts(commands: list[Command]) -> list[StartUpdate]:
    return [command for command in commands if isinstance(command, StartUpdate)]
