from __future__ import annotations

import random
from dataclasses import replace

from freshtide.scheduling import EdfPartitioned, Proportional
from freshtide.simulation.experiments import golab
from freshtide.simulation.experiments.experiment import Experiment
from freshtide.simulation.experiments.lateness import Setting, lateness

_TRACKS = 5
# Six tables fit on a track as long as each takes at most a seventh of its period: so the partition is planned, and
# kept when the machine turns out to be slower.
_PLANNED_LOAD = 6.0 / 7.0


def _setting(load: float, seed: int) -> Setting:
    rng = random.Random(seed)
    tables = [golab.base(f"t{number}", phase=rng.random()) for number in range(golab.TABLES)]
    workload = golab.loaded(tables, load=load, tracks=_TRACKS, seed=seed, slowdown=None)
    planned = golab.loaded(tables, load=_PLANNED_LOAD, tracks=_TRACKS, seed=seed, slowdown=None)
    single = golab.SINGLE_QUEUE
    return Setting(
        workload=replace(workload, planned_costs={table.name: (table.alpha, table.beta) for table in planned.tables}),
        policies={
            "Max-Benefit": single,
            "Random": replace(single, ordering="random"),
            "Partitioned": replace(single, allocation=EdfPartitioned()),
            "Proportional": replace(single, allocation=Proportional(tracks="basic", aggressive=False)),
        },
        tracks=_TRACKS,
    )


FIGURE = Experiment(
    name="golab-fig6",
    title="No slowdowns, uniform jobs, five tracks",
    x_label=golab.X_LABEL,
    y_label=golab.Y_LABEL,
    points=(0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97, 1.0, 1.01),
    labels=("Max-Benefit", "Random", "Partitioned", "Proportional"),
    measure=lateness(_setting),
)
"""The load is raised by a constant slowdown that the scheduler does not know of (the paper's first type)."""
