from __future__ import annotations

from freshtide.simulation.experiments import upstream_windows
from freshtide.simulation.experiments.experiment import Experiment

FIGURE = Experiment(
    name="upstream-fig13b",
    title="Append and update windowing, windows that slide by 1",
    x_label=upstream_windows.X_LABEL,
    y_label=upstream_windows.Y_LABEL,
    labels=(*upstream_windows.APPEND, *upstream_windows.UPDATE),
    points=upstream_windows.SIZES,
    measure=upstream_windows.single_key((*upstream_windows.APPEND, *upstream_windows.UPDATE), slide=1.0),
    events=upstream_windows.EVENTS,
    logarithmic=True,
)
"""One key. Without shedding, how stale it gets depends on how long it runs (Moga et al. 2009, section 6.3.1)."""
