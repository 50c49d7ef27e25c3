from __future__ import annotations

from freshtide.simulation.experiments import upstream
from freshtide.simulation.experiments.experiment import Experiment

FIGURE = Experiment(
    name="upstream-fig5b",
    title="Application and queue staleness of ten keys",
    x_label=upstream.X_LABEL,
    y_label=upstream.Y_LABEL,
    labels=(upstream.APPLICATION, upstream.QUEUE),
    points=upstream.LOADS,
    measure=upstream.both_kinds(upstream.KEYS),
    events=upstream.EVENTS,
)
"""An IN-PLACE queue, all keys alike (Moga et al. 2009, section 5.1)."""
