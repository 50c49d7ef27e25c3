from __future__ import annotations

import random

from freshtide.simulation.experiments import golab
from freshtide.simulation.experiments.experiment import Experiment
from freshtide.simulation.experiments.lateness import Setting, lateness

_LOAD = 0.9
# With a large factor nine tenths of the time are normal: short cycles let even a short run see many.
_SLOW_LENGTH = 10 * golab.PERIOD


def _setting(factor: float, seed: int) -> Setting:
    rng = random.Random(seed)
    tables = [golab.base(f"t{number}", phase=rng.random()) for number in range(golab.TABLES)]
    workload = golab.loaded(
        tables, load=_LOAD, tracks=golab.TRACKS, seed=seed, slowdown=golab.slowdowns(factor, slow=_SLOW_LENGTH)
    )
    return Setting(workload=workload, policies={"Max-Benefit": golab.SINGLE_QUEUE}, tracks=golab.TRACKS)


FIGURE = Experiment(
    name="golab-fig4",
    title="Effects of slowdown on relative lateness",
    x_label="Slowdown factor S",
    y_label=golab.Y_LABEL,
    points=(2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0),
    labels=("Max-Benefit",),
    measure=lateness(_setting),
)
"""Identical tables, one queue, a mean load of 90 %; at S = 2 it is slow all the time."""
