from __future__ import annotations

from freshtide.simulation.experiments import upstream
from freshtide.simulation.experiments.experiment import Experiment

FIGURE = Experiment(
    name="upstream-fig7a",
    title="Append queues and update queues, a single key",
    x_label=upstream.X_LABEL,
    y_label=upstream.APPLICATION_LABEL,
    labels=tuple(upstream.QUEUES),
    points=upstream.LOADS,
    measure=upstream.all_queues(1),
    events=upstream.EVENTS,
    logarithmic=True,
)
"""Without shedding, how stale it gets depends on how long it runs (Moga et al. 2009, section 5.2)."""
