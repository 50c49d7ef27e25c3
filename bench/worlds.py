"""Random worlds: tables, views, loads, outages, priorities and targets, under schedulers that learn noisy costs."""

from __future__ import annotations

import multiprocessing
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from bench.results import RESULTS, Figure, Report
from freshtide.core.costs import CostModel
from freshtide.core.staleness import stretch_of
from freshtide.scheduling import TARGET_LAGS, TARGET_PERIODS, GlobalAllocation, Policy
from freshtide.simulation import SimulatedTable, Simulation, Slowdown, Staleness, Stream, Workload

_PERIODS = 120
"""How many of the longest period a run has."""
_BEFORE, _AFTER = "max-benefit, as before", "target-lag"
_POLICIES: Mapping[str, Policy] = {
    _AFTER: TARGET_LAGS,
    _BEFORE: Policy(),
    "max-benefit, all at once": Policy(allocation=GlobalAllocation(), chopping=None),
    "edf": Policy(ordering="edf", allocation=GlobalAllocation(), chopping=None),
    "edf-p": Policy(ordering="edf-p", allocation=GlobalAllocation(), chopping=None),
    "fifo": Policy(ordering="fifo", allocation=GlobalAllocation(), chopping=None),
}
_BANDS = ((0.5, 0.7), (0.7, 0.9), (0.9, 1.1), (1.1, 1.5), (0.5, 1.5))
_PANELS = {
    "beyond": ("time beyond target lags", 0.5),
    "weighted": ("weighted staleness", 1.05),
    "worst": ("worst staleness in targets", 0.5),
}
"""What is drawn, by its name among the figures, with what it should be at most over all loads."""
_BROKEN = 0.01
"""A target is taken for broken that is for more than this share of the time."""
_CALM = 0.9
"""Up to this load every target that some scheduler keeps should be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    workload: Workload
    tracks: int
    load: float
    horizon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a scheduler makes of a world."""

    beyond: Mapping[str, float]
    """By table with a target, the share of the time beyond it."""
    weighted: float
    worst: float
    """The largest staleness of a table, in terms of its target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    load: float
    outcomes: Mapping[str, Outcome]


def run(folder: Path, *, quick: bool) -> Report:  # noqa: ARG001 - nothing is kept on disk
    report = Report(name="worlds")
    worlds = 40 if quick else 1_000
    compared = list(_all_compared(worlds))
    _tell_bands(report, compared)
    _tell_kept(report, compared)
    report.notes.append(f"drawn in {_picture(report.figures)}")
    return report


def _all_compared(worlds: int) -> Iterator[Compared]:
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        yield from pool.imap(_compared, range(worlds), chunksize=5)


def _compared(seed: int) -> Compared:
    world = drawn(seed)
    return Compared(load=world.load, outcomes={name: _outcome(world, policy) for name, policy in _POLICIES.items()})


def _outcome(world: World, policy: Policy) -> Outcome:
    result = Simulation(world.workload, policy, tracks=world.tracks).run(horizon=world.horizon)
    beyond: dict[str, float] = {}
    worst = 0.0
    for table in world.workload.tables:
        found = result.staleness[table.name]
        target = table.target_lag or TARGET_PERIODS * world.workload.periods[table.name]
        if table.target_lag is not None:
            beyond[table.name] = 1.0 - _share_within(found, target, world.horizon)
        worst = max(worst, found.maximum / target)
    return Outcome(beyond=beyond, weighted=result.weighted_staleness, worst=worst)


def _share_within(found: Staleness, target: float, horizon: float) -> float:
    commits = list(zip(found.moments, found.freshnesses, strict=True))
    stretch = stretch_of(0.0, commits, since=0.0, until=horizon, target=target)
    assert stretch is not None, "all tables start with data"
    return stretch.share_within or 0.0


def drawn(seed: int) -> World:
    """A world by its seed: 5 to 60 tables, from half of what the tracks can do one by one to half as much again."""
    rng = random.Random(f"world {seed}")
    count, tracks, load = rng.randint(5, 60), rng.choice((1, 2, 2, 4)), rng.uniform(0.5, 1.5)
    bases = max(2, round(count * rng.uniform(0.4, 1.0)))
    tables = _shapes(rng, count, bases, spread=rng.choice((1.0, 1.0, 4.0, 10.0)))
    workload = Workload(tables=tuple(tables), seed=seed)
    periods = workload.periods
    scale = load * tracks / workload.utilisation()
    horizon = _PERIODS * max(periods.values())
    workload = replace(
        workload,
        tables=tuple(_burdened(rng, table, periods[table.name], scale, horizon) for table in tables),
        variability=rng.choice((0.2, 0.5, 0.8)),
        slowdown=rng.choice((None, None, Slowdown(factor=2.0, normal=horizon / 10.0, slow=horizon / 30.0))),
    )
    return World(workload=workload, tracks=tracks, load=load, horizon=horizon)


def _shapes(rng: random.Random, count: int, bases: int, *, spread: float) -> list[SimulatedTable]:
    """Base tables and views over anything before them, whose costs are not to scale yet."""
    tables: list[SimulatedTable] = []
    for number in range(count):
        stream, sources = None, tuple[str, ...]()
        if number < bases:
            period = 10.0 * spread ** rng.random()
            phase, jitter = rng.uniform(0.1, 1.0) * period, rng.choice((0.0, 0.3)) * period
            stream = Stream(period=period, phase=phase, jitter=jitter)
        else:
            names = [table.name for table in tables]
            sources = tuple(rng.sample(names, min(rng.choice((1, 1, 1, 2, 3)), len(names))))
            period = max(other.stream.period if other.stream else 10.0 for other in tables if other.name in sources)
        work, fixed = rng.lognormvariate(0.0, 1.0), rng.choice((0.9, 0.9, 0.5, 0.2))
        tables.append(
            SimulatedTable(
                name=f"t{number}",
                stream=stream,
                sources=sources,
                priority=rng.choice((1.0, 1.0, 1.0, 2.0, 5.0, 10.0)),
                alpha=work * fixed,
                beta=work * (1.0 - fixed) / period,
                believed=CostModel(),
            )
        )
    return tables


def _burdened(rng: random.Random, table: SimulatedTable, period: float, scale: float, horizon: float) -> SimulatedTable:
    """With costs to scale, an outage now and then, and a target lag most of the time."""
    alpha, beta, stream, target = table.alpha * scale, table.beta * scale, table.stream, None
    if stream is not None and rng.random() < 0.15:
        begin = rng.uniform(0.2, 0.6) * horizon
        stream = replace(stream, outages=((begin, begin + rng.uniform(5.0, 20.0) * period),))
    if rng.random() < 0.7:
        levels = 1 if stream is not None else 2
        target = levels * (rng.uniform(2.0, 6.0) * period + 3.0 * (alpha + beta * period))
    return replace(table, alpha=alpha, beta=beta, stream=stream, target_lag=target)


def _tell_bands(report: Report, compared: Sequence[Compared]) -> None:
    rows: list[tuple[Figure, ...]] = []
    for low, high in _BANDS:
        found = [world for world in compared if low <= world.load < high]
        if not found:
            continue
        before, after = ([world.outcomes[name] for world in found] for name in (_BEFORE, _AFTER))
        beyond = [mean(sum(outcome.beyond.values()) for outcome in side) for side in (before, after)]
        weighted = mean(new.weighted / old.weighted for old, new in zip(before, after, strict=True))
        worst = [mean(outcome.worst for outcome in side) for side in (before, after)]
        rows.append(
            (
                f"load {low:g} to {high:g}",
                len(found),
                *beyond,
                beyond[1] / beyond[0],
                weighted,
                *worst,
                worst[1] / worst[0],
            )
        )
        report.figures |= {
            f"beyond_{low:g}_{high:g}": beyond[1] / beyond[0],
            f"weighted_{low:g}_{high:g}": weighted,
            f"worst_{low:g}_{high:g}": worst[1] / worst[0],
        }
    columns = ("", "worlds", "beyond before", "after", "ratio", "weighted staleness", "worst before", "after", "ratio")
    title = (
        "Time beyond targets (tables at a time), weighted staleness against before, worst staleness in targets "
        "(goals: at most 0.5, 1.05 and 0.5 over all); outages included"
    )
    report.table(title, columns, rows)


def _tell_kept(report: Report, compared: Sequence[Compared]) -> None:
    """Of the targets that some scheduler keeps all the time, how many each of them breaks."""
    calm = [world for world in compared if world.load <= _CALM]
    keepable = [
        (world, table)
        for world in calm
        for table in world.outcomes[_AFTER].beyond
        if min(outcome.beyond[table] for outcome in world.outcomes.values()) == 0.0
    ]
    rows = []
    for name in _POLICIES:
        broken = sum(world.outcomes[name].beyond[table] > _BROKEN for world, table in keepable)
        rows.append((name, len(keepable), broken, broken / max(1, len(keepable))))
        report.figures[f"broken_{name}"] = broken
    title = f"Targets at loads up to {_CALM:g} that some scheduler keeps, and broken for more than 1 % of the time"
    report.table(title, ("", "targets", "broken", "share"), rows)


def _picture(figures: Mapping[str, Figure]) -> Path:
    """The bands as bars: what each measure is with target lags that steer, where it was 1 before."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    path = RESULTS / "worlds.svg"
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "worlds"}):
        drawing = Drawing(figsize=(9.0, 3.2), layout="constrained")
        FigureCanvasAgg(drawing)
        for axes, (measure, (title, goal)) in zip(drawing.subplots(1, len(_PANELS)), _PANELS.items(), strict=True):
            known = {band: figures.get(f"{measure}_{band[0]:g}_{band[1]:g}") for band in _BANDS}
            bars = {
                "all" if band == _BANDS[-1] else f"{band[0]:g}–{band[1]:g}": ratio
                for band, ratio in known.items()
                if isinstance(ratio, float)
            }
            axes.bar(list(bars), list(bars.values()), color=["#4477aa"] * (len(bars) - 1) + ["#223344"])
            axes.axhline(1.0, color="0.35", linewidth=1.0)
            axes.axhline(goal, color="#cc6677", linestyle="--", linewidth=1.2, label=f"goal over all: {goal:g}")
            axes.set_title(title, fontsize=10)
            axes.set_xlabel("load")
            axes.tick_params(axis="x", labelsize=8)
            axes.legend(frameon=False, fontsize=8)
        drawing.suptitle("target-lag in terms of max-benefit, which was the default before", fontsize=11)
        drawing.savefig(path, metadata={"Date": None})
    return path
