"""Figures 4 to 11 of Golab et al. 2011: relative lateness under a load (section 4).

Where nothing else is said there are the tables and tracks of table 2, slow every now and then. `U_tot` is the share of
the tracks that the tables keep busy on average if each is updated once a period, slowdowns included. Files come at
fixed periods with phases drawn from the seed; the paper does not say.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from freshtide.core.costs import GivenCost
from freshtide.scheduling import (
    EdfPartitioned,
    GlobalAllocation,
    MaxInheritance,
    MaxPlusInheritance,
    NoInheritance,
    Policy,
    Proportional,
    SumInheritance,
)
from freshtide.simulation.engine import Simulation, without_contention
from freshtide.simulation.experiments.experiment import Axes, Conditions, Experiment, PointMeasure, Series
from freshtide.simulation.results import Result, relative_lateness
from freshtide.simulation.workload import SimulatedTable, Slowdown, Stream, Workload

EVENTS = 1_000_000
"""Each point of the paper is the result of so many arrivals and completions."""
TABLES = 30
TRACKS = 4
TRACKS_OF_FIGURE_6 = 5
PERIOD = 100.0
ALPHA = 1.0
BETA = 0.1
VARIABILITY = 0.5
SLOWDOWN = 3.0
# The paper does not give the lengths of slow and normal times. In a hundred periods a backlog grows and is worked off.
SLOW_LENGTH = 100 * PERIOD

LOADS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05)
LOADS_OF_CLASSES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Tables of very different periods are late at loads at which others are not."""

SINGLE_QUEUE = Policy(allocation=GlobalAllocation(), inheritance=MaxInheritance(), chopping=None)
"""Max Benefit over one queue for all tracks, everything that is pending at once."""

Tables = Iterable[SimulatedTable]
MakeTables = Callable[[random.Random], Tables]
MakeWorkload = Callable[[Tables, float, int], Workload]
"""From tables, a place on the x axis and a seed."""


def loaded(tables: Tables, *, load: float, seed: int, slowdown: Slowdown | None, tracks: int = TRACKS) -> Workload:
    """The tables with execution times scaled so that they load the tracks by this much on average."""
    plain = Workload(tables=tuple(tables), seed=seed, variability=VARIABILITY, slowdown=slowdown)
    usual = plain.utilisation() * (1.0 if slowdown is None else _mean_factor(slowdown))
    scale = load * tracks / usual
    scaled = tuple(replace(table, alpha=scale * table.alpha, beta=scale * table.beta) for table in plain.tables)
    return replace(plain, tables=scaled)


def slowdowns(factor: float = SLOWDOWN, *, slow: float = SLOW_LENGTH) -> Slowdown:
    """Slow for a share of 1 / (S - 1) of the time, so that an update takes twice as long as normal on average."""
    return Slowdown(factor=factor, normal=slow * (factor - 2.0), slow=slow)


def _mean_factor(slowdown: Slowdown) -> float:
    return (slowdown.normal + slowdown.factor * slowdown.slow) / (slowdown.normal + slowdown.slow)


def at_load(tables: Tables, load: float, seed: int) -> Workload:
    """Slow every now and then, as in most of the figures."""
    return loaded(tables, load=load, seed=seed, slowdown=slowdowns())


def lateness(
    tables: MakeTables, policies: Mapping[str, Policy], *, at: MakeWorkload, tracks: int
) -> PointMeasure[float]:
    """Measures each policy at x: weighted staleness against that of the same run without contention (section 4.1)."""

    def measure(x: float, conditions: Conditions) -> Series:
        workload = _stretched(at(tables(random.Random(conditions.seed)), x, conditions.seed), conditions.stretch)
        uncontended = without_contention(workload).run(events=conditions.events)
        return {
            label: [(x, _relative(Simulation(workload, policy, tracks=tracks), uncontended))]
            for label, policy in policies.items()
        }

    return measure


def _relative(simulation: Simulation, uncontended: Result) -> float:
    return relative_lateness(simulation.run(horizon=uncontended.end), uncontended)


def _stretched(workload: Workload, factor: float) -> Workload:
    slowdown = workload.slowdown
    if slowdown is None:
        return workload
    longer = replace(slowdown, normal=factor * slowdown.normal, slow=factor * slowdown.slow)
    return replace(workload, slowdown=longer)


def figure(
    number: int,
    title: str,
    *,
    section: str,
    caption: str,
    tables: MakeTables,
    policies: Mapping[str, Policy],
    points: tuple[float, ...] = LOADS,
    x_label: str = "Utot",
    at: MakeWorkload = at_load,
    tracks: int = TRACKS,
) -> Experiment[float]:
    """A curve for each policy, over the load if nothing else is said."""
    return Experiment(
        name=f"golab-fig{number}",
        title=title,
        paper=f"Golab et al. 2011, section {section}",
        caption=caption,
        axes=Axes(x=x_label, y="Relative lateness"),
        labels=tuple(policies),
        points=points,
        measure=lateness(tables, policies, at=at, tracks=tracks),
        events=EVENTS,
    )


def base(
    name: str, *, phase: float, period: float = PERIOD, priority: float = 1.0, beta: float = BETA
) -> SimulatedTable:
    """A base table with the values of table 2 where nothing else is said; the phase is a share of the period."""
    stream = Stream(period=period, phase=phase * period)
    return SimulatedTable(name=name, stream=stream, priority=priority, alpha=ALPHA, beta=beta)


def above(source: SimulatedTable, name: str, *, priority: float = 1.0) -> SimulatedTable:
    """A table that is computed from one other."""
    return SimulatedTable(name=name, sources=(source.name,), priority=priority, alpha=ALPHA, beta=BETA)


def alike(rng: random.Random) -> Tables:
    return [base(f"t{number}", phase=rng.random()) for number in range(TABLES)]


def of_two_speeds(rng: random.Random) -> Tables:
    return [base(f"t{number}", phase=rng.random(), beta=0.1 if number % 2 else 0.01) for number in range(TABLES)]


def of_two_priorities(rng: random.Random) -> Tables:
    return [base(f"t{number}", phase=rng.random(), priority=10.0 if number % 2 else 1.0) for number in range(TABLES)]


def of_two_periods(rng: random.Random) -> Tables:
    """Half of the tables have a period of 100 and a priority of 100, half a period of 10,000 and a priority of 1.

    The long ones come together, as nightly dumps do: only then do they take all tracks at once.
    """
    return [
        base(f"short{number}", phase=rng.random(), period=100.0, priority=100.0)
        if number % 2
        else base(f"long{number}", phase=0.0, period=10_000.0, priority=1.0)
        for number in range(TABLES)
    ]


def in_pairs(rng: random.Random) -> Tables:
    for number in range(TABLES // 2):
        bottom = base(f"base{number}", phase=rng.random())
        yield from (bottom, above(bottom, f"top{number}", priority=10.0))


def in_threes(rng: random.Random) -> Tables:
    # As many chains for each priority at the end, which 30 tables in chains of three do not allow.
    for number in range(9):
        bottom = base(f"base{number}", phase=rng.random(), priority=0.001)
        middle = above(bottom, f"middle{number}")
        yield from (bottom, middle, above(middle, f"top{number}", priority=(1.0, 10.0, 100.0)[number % 3]))


def with_slowdown_factor(tables: Tables, factor: float, seed: int) -> Workload:
    # With a large factor nine tenths of the time are normal: short cycles let even a short run see many.
    return loaded(tables, load=0.9, seed=seed, slowdown=slowdowns(factor, slow=10 * PERIOD))


def slower_than_planned(tables: Tables, load: float, seed: int) -> Workload:
    # Six tables fit on a track as long as each takes at most a seventh of its period: so the partition is planned, and
    # kept when the machine turns out to be slower.
    tables = tuple(tables)
    planned = loaded(tables, load=6.0 / 7.0, seed=seed, slowdown=None, tracks=TRACKS_OF_FIGURE_6)
    actual = loaded(tables, load=load, seed=seed, slowdown=None, tracks=TRACKS_OF_FIGURE_6)
    believed = [GivenCost(table.alpha, table.beta, VARIABILITY) for table in planned.tables]
    return replace(
        actual,
        tables=tuple(replace(table, believed=cost) for table, cost in zip(actual.tables, believed, strict=True)),
    )


# Two classes of priority there are only as long as base tables do not inherit that of what is computed from them.
_UNINHERITED = replace(SINGLE_QUEUE, inheritance=NoInheritance())

FIGURES: tuple[Experiment[float], ...] = (
    figure(
        4,
        "Effects of slowdown on relative lateness",
        section="4.1",
        caption="Identical tables, one queue, a mean load of 90 %; at S = 2 it is slow all the time.",
        tables=alike,
        policies={"Max-Benefit": SINGLE_QUEUE},
        points=(2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0),
        x_label="Slowdown factor S",
        at=with_slowdown_factor,
    ),
    figure(
        5,
        "Max-Benefit versus EDF-P",
        section="4.2",
        caption="Half of the tables have a beta of 0.1, half of 0.01.",
        tables=of_two_speeds,
        policies={"EDF-P": replace(SINGLE_QUEUE, ordering="edf-p"), "Max-Benefit": SINGLE_QUEUE},
    ),
    figure(
        6,
        "No slowdowns, uniform jobs, five tracks",
        section="4.3",
        caption="The load rises by a constant slowdown that the scheduler does not know of (the paper's first type).",
        tables=alike,
        policies={
            "Max-Benefit": SINGLE_QUEUE,
            "Random": replace(SINGLE_QUEUE, ordering="random"),
            "Partitioned": replace(SINGLE_QUEUE, allocation=EdfPartitioned()),
            "Proportional": replace(SINGLE_QUEUE, allocation=Proportional(tracks="basic", aggressive=False)),
        },
        points=(0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97, 1.0, 1.01),
        at=slower_than_planned,
        tracks=TRACKS_OF_FIGURE_6,
    ),
    figure(
        7,
        "Effects of prioritized jobs",
        section="4.4",
        caption="Half of the tables have a priority of 1, half of 10.",
        tables=of_two_priorities,
        policies={
            "Max-Benefit": SINGLE_QUEUE,
            "EDF": replace(SINGLE_QUEUE, ordering="edf"),
            "Random": replace(SINGLE_QUEUE, ordering="random"),
        },
    ),
    figure(
        8,
        "Hierarchies and inheriting priorities",
        section="4.5",
        caption="Nine chains of three tables with priorities 0.001, 1 and 1, 10 or 100. Max-plus has K = 2.",
        tables=in_threes,
        policies={
            "None": _UNINHERITED,
            "Sum": replace(SINGLE_QUEUE, inheritance=SumInheritance()),
            "Max": SINGLE_QUEUE,
            "Max-plus": replace(SINGLE_QUEUE, inheritance=MaxPlusInheritance(k=2.0)),
        },
    ),
    figure(
        9,
        "Effects of heterogeneous jobs",
        section="4.6",
        caption="Tables with periods of 100 and of 10,000. Partitioned and Proportional are not aggressive.",
        tables=of_two_periods,
        policies={
            "Max-Benefit": SINGLE_QUEUE,
            "Partitioned": replace(SINGLE_QUEUE, allocation=EdfPartitioned(aggressive=False)),
            "Proportional": replace(SINGLE_QUEUE, allocation=Proportional(tracks="basic", aggressive=False, k=1.0)),
        },
        points=LOADS_OF_CLASSES,
    ),
    figure(
        10,
        "Proportional scheduling variations",
        section="4.6",
        caption="The tables of figure 9 under variants of Proportional.",
        tables=of_two_periods,
        policies={
            "basic": replace(SINGLE_QUEUE, allocation=Proportional(tracks="basic", aggressive=False)),
            "all": replace(SINGLE_QUEUE, allocation=Proportional(tracks="all", aggressive=False)),
            "all, aggr.": replace(SINGLE_QUEUE, allocation=Proportional(tracks="all", aggressive=True)),
        },
        points=LOADS_OF_CLASSES,
    ),
    figure(
        11,
        "Update chopping with two priority classes",
        section="4.7",
        caption="Fifteen chains of two tables with priorities 1 and 10. Chopping allows three periods per update.",
        tables=in_pairs,
        policies={"No chopping": _UNINHERITED, "Chopping": replace(_UNINHERITED, chopping=3.0)},
    ),
)
