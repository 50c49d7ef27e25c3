from __future__ import annotations

from freshtide.simulation.experiments import upstream
from freshtide.simulation.experiments.experiment import Experiment

FIGURE = Experiment(
    name="upstream-fig7b",
    title="Append queues and update queues, ten keys",
    x_label=upstream.X_LABEL,
    y_label=upstream.APPLICATION_LABEL,
    labels=tuple(upstream.QUEUES),
    points=upstream.LOADS,
    measure=upstream.all_queues(upstream.KEYS),
    events=upstream.EVENTS,
    logarithmic=True,
)
"""All keys alike (Moga et al. 2009, section 5.2)."""
