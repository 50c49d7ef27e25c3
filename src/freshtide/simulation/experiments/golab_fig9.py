from __future__ import annotations

from dataclasses import replace

from freshtide.scheduling import EdfPartitioned, Proportional
from freshtide.simulation.experiments import golab
from freshtide.simulation.experiments.experiment import Experiment
from freshtide.simulation.experiments.heterogeneous import workload
from freshtide.simulation.experiments.lateness import Setting, lateness


def _setting(load: float, seed: int) -> Setting:
    single = golab.SINGLE_QUEUE
    policies = {
        "Max-Benefit": single,
        "Partitioned": replace(single, allocation=EdfPartitioned(aggressive=False)),
        "Proportional": replace(single, allocation=Proportional(tracks="basic", aggressive=False, k=1.0)),
    }
    return Setting(workload=workload(load, seed), policies=policies, tracks=golab.TRACKS)


FIGURE = Experiment(
    name="golab-fig9",
    title="Effects of heterogeneous jobs",
    x_label=golab.X_LABEL,
    y_label=golab.Y_LABEL,
    points=(0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    labels=("Max-Benefit", "Partitioned", "Proportional"),
    measure=lateness(_setting),
)
"""Two classes of tables, with periods of 100 and 10,000. Partitioned and Proportional are not aggressive."""
