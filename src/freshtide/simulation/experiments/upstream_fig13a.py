from __future__ import annotations

from freshtide.simulation.experiments import upstream_windows
from freshtide.simulation.experiments.experiment import Experiment

FIGURE = Experiment(
    name="upstream-fig13a",
    title="LAZY and EAGER, tumbling windows",
    x_label=upstream_windows.X_LABEL,
    y_label=upstream_windows.Y_LABEL,
    labels=upstream_windows.UPDATE,
    points=upstream_windows.SIZES,
    measure=upstream_windows.single_key(upstream_windows.UPDATE, slide=None),
    events=upstream_windows.EVENTS,
)
"""One key (Moga et al. 2009, section 6.3.1)."""
