from __future__ import annotations

import math

from freshtide.simulation.experiments import upstream_memory
from freshtide.simulation.experiments.experiment import Experiment

FIGURE = Experiment(
    name="upstream-fig17b",
    title="Memory usage under various load factors",
    x_label=upstream_memory.LOAD,
    y_label=upstream_memory.ALLOCATED,
    labels=tuple(upstream_memory.MEMORIES),
    points=upstream_memory.LOADS,
    measure=upstream_memory.by_load("allocated"),
    events=math.inf,
)
"""The mean over Zipf distributions with theta from 0 to 0.9 (Moga et al. 2009, section 7.3)."""
