from __future__ import annotations

from freshtide.simulation.experiments import upstream
from freshtide.simulation.experiments.experiment import Experiment

FIGURE = Experiment(
    name="upstream-fig5a",
    title="Application and queue staleness of a single key",
    x_label=upstream.X_LABEL,
    y_label=upstream.Y_LABEL,
    labels=(upstream.APPLICATION, upstream.QUEUE),
    points=upstream.LOADS,
    measure=upstream.both_kinds(1),
    events=upstream.EVENTS,
)
"""An IN-PLACE queue (Moga et al. 2009, section 5.1)."""
