from __future__ import annotations

import random
from dataclasses import replace

from freshtide.simulation.experiments import golab
from freshtide.simulation.experiments.experiment import Experiment
from freshtide.simulation.experiments.lateness import Setting, lateness


def _setting(load: float, seed: int) -> Setting:
    rng = random.Random(seed)
    tables = [
        golab.base(f"t{number}", phase=rng.random(), priority=10.0 if number % 2 else 1.0)
        for number in range(golab.TABLES)
    ]
    workload = golab.loaded(tables, load=load, tracks=golab.TRACKS, seed=seed, slowdown=golab.slowdowns())
    single = golab.SINGLE_QUEUE
    policies = {
        "Max-Benefit": single,
        "EDF": replace(single, ordering="edf"),
        "Random": replace(single, ordering="random"),
    }
    return Setting(workload=workload, policies=policies, tracks=golab.TRACKS)


FIGURE = Experiment(
    name="golab-fig7",
    title="Effects of prioritized jobs",
    x_label=golab.X_LABEL,
    y_label=golab.Y_LABEL,
    points=golab.LOADS,
    labels=("Max-Benefit", "EDF", "Random"),
    measure=lateness(_setting),
)
"""Half of the tables have a priority of 1, half of 10."""
