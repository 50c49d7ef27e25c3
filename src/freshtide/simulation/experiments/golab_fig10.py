from __future__ import annotations

from dataclasses import replace

from freshtide.scheduling import Proportional
from freshtide.simulation.experiments import golab
from freshtide.simulation.experiments.experiment import Experiment
from freshtide.simulation.experiments.golab_fig9 import FIGURE as FIGURE_9
from freshtide.simulation.experiments.heterogeneous import workload
from freshtide.simulation.experiments.lateness import Setting, lateness


def _setting(load: float, seed: int) -> Setting:
    variants = {
        "basic": Proportional(tracks="basic", aggressive=False),
        "all": Proportional(tracks="all", aggressive=False),
        "all, aggr.": Proportional(tracks="all", aggressive=True),
    }
    policies = {label: replace(golab.SINGLE_QUEUE, allocation=variant) for label, variant in variants.items()}
    return Setting(workload=workload(load, seed), policies=policies, tracks=golab.TRACKS)


FIGURE = Experiment(
    name="golab-fig10",
    title="Proportional scheduling variations",
    x_label=golab.X_LABEL,
    y_label=golab.Y_LABEL,
    points=FIGURE_9.points,
    labels=("basic", "all", "all, aggr."),
    measure=lateness(_setting),
)
"""The tables of figure 9 under variants of Proportional."""
