from __future__ import annotations

import math

from freshtide.simulation.experiments import upstream_memory
from freshtide.simulation.experiments.experiment import Experiment

FIGURE = Experiment(
    name="upstream-fig16a",
    title="Effective memory usage under various update rate distributions",
    x_label=upstream_memory.SKEW,
    y_label=upstream_memory.EFFECTIVE,
    labels=tuple(upstream_memory.MEMORIES),
    points=upstream_memory.THETAS,
    measure=upstream_memory.by_skew("effective"),
    events=math.inf,
)
"""The mean over load factors from 2 to 100 (Moga et al. 2009, section 7.3)."""
