from __future__ import annotations

import random
from dataclasses import replace

from freshtide.scheduling import NoInheritance
from freshtide.simulation.experiments import golab
from freshtide.simulation.experiments.experiment import Experiment
from freshtide.simulation.experiments.lateness import Setting, lateness
from freshtide.simulation.workload import SimulatedTable


def _setting(load: float, seed: int) -> Setting:
    rng = random.Random(seed)
    tables = []
    for number in range(golab.TABLES // 2):
        bottom = golab.base(f"base{number}", phase=rng.random())
        top = SimulatedTable(
            name=f"top{number}", sources=(bottom.name,), priority=10.0, alpha=golab.ALPHA, beta=golab.BETA
        )
        tables += [bottom, top]
    workload = golab.loaded(tables, load=load, tracks=golab.TRACKS, seed=seed, slowdown=golab.slowdowns())
    # Two classes there are only as long as base tables do not inherit the priority of what is computed from them.
    plain = replace(golab.SINGLE_QUEUE, inheritance=NoInheritance())
    policies = {"No chopping": plain, "Chopping": replace(plain, chopping=3.0)}
    return Setting(workload=workload, policies=policies, tracks=golab.TRACKS)


FIGURE = Experiment(
    name="golab-fig11",
    title="Update chopping with two priority classes",
    x_label=golab.X_LABEL,
    y_label=golab.Y_LABEL,
    points=golab.LOADS,
    labels=("No chopping", "Chopping"),
    measure=lateness(_setting),
)
"""Fifteen chains of two tables with priorities 1 and 10. Chopping allows three periods per update."""
