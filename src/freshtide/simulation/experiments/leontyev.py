"""Figure 9 of Leontyev et al. 2010 and its variants: tables that fall behind in an outage, and others (section VII).

Two classes of seven tables, with periods of 300 and 900 seconds, on two tracks; the feeds of V1 to V4 are cut from
5,000 to 10,000. An update of n seconds of data takes 0.01 periods and 0.1 n, give or take a fifth. The paper does not
give the phases: they are drawn from the seed. Beyond the paper: the same with tables that use idle tracks to recover.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Iterable
from functools import partial
from typing import Literal

from freshtide.scheduling import PRP, Adaptive, Policy, adaptive_policy
from freshtide.simulation.engine import Simulation
from freshtide.simulation.experiments.experiment import Axes, Conditions, Experiment, Panel, Series
from freshtide.simulation.streams import files_until
from freshtide.simulation.workload import SimulatedTable, Stream, Workload

TRACKS = 2
HORIZON = 30_000.0
OUTAGE = (5_000.0, 10_000.0)
PERIODS = (300.0,) * 7 + (900.0,) * 7
CUT = ("V1", "V2", "V3", "V4")
HEALTHY = ("V8", "V9", "V10", "V11")
VARIABILITY = 0.2

Costs = Literal["average", "worst"]


def workload(seed: int) -> Workload:
    rng = random.Random(seed)
    tables = []
    for number, period in enumerate(PERIODS, start=1):
        name = f"V{number}"
        stream = Stream(period=period, phase=rng.random() * period, outages=(OUTAGE,) if name in CUT else ())
        tables.append(SimulatedTable(name=name, stream=stream, alpha=0.01 * period, beta=0.1))
    return Workload(tables=tuple(tables), seed=seed, variability=VARIABILITY)


def figure(
    number: str, title: str, *, caption: str, shown: tuple[str, ...], costs: Costs, early: bool = False
) -> Experiment[str]:
    """TE - F over time for these tables, under PRP above and under AUS below.

    Recovery periods go by average costs, as in the paper's figures, or by the worst. With `early`, which the paper does
    not have, tables that are behind use tracks that are idle.
    """
    policies = {"PRP": PRP, "AUS": adaptive_policy(Adaptive(recovery="fastest", costs=costs, early=early))}

    def measure(scheduler: str, conditions: Conditions) -> Series:
        found = backlogs(workload(conditions.seed), policies[scheduler], shown)
        return {f"{scheduler} {table}": curve for table, curve in found.items()}

    labels = {scheduler: tuple(f"{scheduler} {table}" for table in shown) for scheduler in policies}
    return Experiment(
        name=f"leontyev-fig{number}" + ("-worst" if costs == "worst" else "") + ("-early" if early else ""),
        title=f"{title}, {costs}-case" + (", idle tracks used" if early else ""),
        paper="Leontyev et al. 2010, section VII",
        caption=f"{caption} Recovery periods are provisioned for the {costs} case."
        + (" Tables that are behind use tracks that are idle." if early else ""),
        axes=Axes(x="Time (s)", y="TE - F (s)"),
        labels=tuple(label for several in labels.values() for label in several),
        points=tuple(policies),
        measure=measure,
        events=math.inf,
        panels=tuple(Panel(title=scheduler, labels=several) for scheduler, several in labels.items()),
    )


def backlogs(world: Workload, policy: Policy, shown: Iterable[str]) -> Series:
    """How far base tables are behind what has arrived for them, as steps over time."""
    reached: dict[str, list[tuple[float, float]]] = {table: [] for table in shown}
    simulation = Simulation(world, policy, tracks=TRACKS)
    simulation.run(
        horizon=HORIZON,
        on_update=lambda update: reached.setdefault(update.table, []).append((update.end, update.upto)),
    )
    streams = {table.name: files_until(table, world.seed, HORIZON) for table in world.tables}
    return {table: _steps(streams[table], reached[table]) for table in shown}


def _steps(arrived: list[tuple[float, float]], reached: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The newest time stamp that has arrived less the one that was reached, before and after each change of either."""
    curve: list[tuple[float, float]] = [(0.0, 0.0)]
    for moment in sorted({moment for moment, _ in (*arrived, *reached)}):
        gap = _newest(arrived, moment) - _newest(reached, moment)
        curve += [(moment, curve[-1][1]), (moment, gap)]
    return [*curve, (HORIZON, curve[-1][1])]


def _newest(steps: list[tuple[float, float]], moment: float) -> float:
    """Time stamps come and are reached in order, here where no file is late."""
    place = bisect_right(steps, (moment, math.inf))
    return steps[place - 1][1] if place else 0.0


_recovering = partial(
    figure,
    "9a",
    "Tables whose feeds were cut",
    caption="V1 to V4, which get everything at once when the outage is over.",
    shown=CUT,
)
_healthy = partial(
    figure,
    "9b",
    "Healthy tables while others recover",
    caption="V8 to V11, which had no outage.",
    shown=HEALTHY,
)

FIGURES: tuple[Experiment[str], ...] = (
    _recovering(costs="average"),
    _healthy(costs="average"),
    _recovering(costs="worst"),
    _healthy(costs="worst"),
    _recovering(costs="worst", early=True),
    _healthy(costs="worst", early=True),
)
