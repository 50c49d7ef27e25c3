from __future__ import annotations

import random
from dataclasses import replace

from freshtide.simulation.experiments import golab
from freshtide.simulation.experiments.experiment import Experiment
from freshtide.simulation.experiments.lateness import Setting, lateness


def _setting(load: float, seed: int) -> Setting:
    rng = random.Random(seed)
    tables = [
        golab.base(f"t{number}", phase=rng.random(), beta=0.1 if number % 2 else 0.01) for number in range(golab.TABLES)
    ]
    workload = golab.loaded(tables, load=load, tracks=golab.TRACKS, seed=seed, slowdown=golab.slowdowns())
    policies = {"EDF-P": replace(golab.SINGLE_QUEUE, ordering="edf-p"), "Max-Benefit": golab.SINGLE_QUEUE}
    return Setting(workload=workload, policies=policies, tracks=golab.TRACKS)


FIGURE = Experiment(
    name="golab-fig5",
    title="Max-Benefit versus EDF-P",
    x_label=golab.X_LABEL,
    y_label=golab.Y_LABEL,
    points=golab.LOADS,
    labels=("EDF-P", "Max-Benefit"),
    measure=lateness(_setting),
)
"""Half of the tables have a beta of 0.1, half of 0.01."""
