from __future__ import annotations

import random
from dataclasses import replace

from freshtide.scheduling import Inheritance, MaxInheritance, MaxPlusInheritance, NoInheritance, SumInheritance
from freshtide.simulation.experiments import golab
from freshtide.simulation.experiments.experiment import Experiment
from freshtide.simulation.experiments.lateness import Setting, lateness
from freshtide.simulation.workload import SimulatedTable

# As many chains for each priority at the end, which 30 tables in chains of three do not allow.
_CHAINS = 9
_K = 2.0


def _setting(load: float, seed: int) -> Setting:
    rng = random.Random(seed)
    tables = []
    for number in range(_CHAINS):
        bottom = golab.base(f"base{number}", phase=rng.random(), priority=0.001)
        middle = SimulatedTable(name=f"middle{number}", sources=(bottom.name,), alpha=golab.ALPHA, beta=golab.BETA)
        top = replace(middle, name=f"top{number}", sources=(middle.name,), priority=(1.0, 10.0, 100.0)[number % 3])
        tables += [bottom, middle, top]
    workload = golab.loaded(tables, load=load, tracks=golab.TRACKS, seed=seed, slowdown=golab.slowdowns())
    inheritances: dict[str, Inheritance] = {
        "None": NoInheritance(),
        "Sum": SumInheritance(),
        "Max": MaxInheritance(),
        "Max-plus": MaxPlusInheritance(k=_K),
    }
    policies = {label: replace(golab.SINGLE_QUEUE, inheritance=how) for label, how in inheritances.items()}
    return Setting(workload=workload, policies=policies, tracks=golab.TRACKS)


FIGURE = Experiment(
    name="golab-fig8",
    title="Hierarchies and inheriting priorities",
    x_label=golab.X_LABEL,
    y_label=golab.Y_LABEL,
    points=golab.LOADS,
    labels=("None", "Sum", "Max", "Max-plus"),
    measure=lateness(_setting),
)
"""Nine chains of three tables with priorities 0.001, 1 and 1, 10 or 100. Max-plus has K = 2."""
