"""The papers' experiments, one file per figure."""

from typing import Any

from freshtide.simulation.experiments import (
    bateni_competitive,
    bateni_stretch,
    golab_fig4,
    golab_fig5,
    golab_fig6,
    golab_fig7,
    golab_fig8,
    golab_fig9,
    golab_fig10,
    golab_fig11,
    leontyev_fig9a,
    leontyev_fig9a_worst,
    leontyev_fig9b,
    leontyev_fig9b_worst,
    upstream_fig5a,
    upstream_fig5b,
    upstream_fig7a,
    upstream_fig7b,
    upstream_fig9,
    upstream_fig13a,
    upstream_fig13b,
    upstream_fig14,
    upstream_fig16a,
    upstream_fig16b,
    upstream_fig17a,
    upstream_fig17b,
)
from freshtide.simulation.experiments.experiment import PAPERS_EVENTS, Conditions, Curves, Experiment, Panel, Series
from freshtide.simulation.experiments.plotting import plot, require_format
from freshtide.simulation.experiments.running import (
    Measured,
    Point,
    Spread,
    over_processes,
    run_experiment,
)

EXPERIMENTS: dict[str, Experiment[Any]] = {
    module.FIGURE.name: module.FIGURE
    for module in (
        golab_fig4,
        golab_fig5,
        golab_fig6,
        golab_fig7,
        golab_fig8,
        golab_fig9,
        golab_fig10,
        golab_fig11,
        leontyev_fig9a,
        leontyev_fig9b,
        leontyev_fig9a_worst,
        leontyev_fig9b_worst,
        bateni_competitive,
        bateni_stretch,
        upstream_fig5a,
        upstream_fig5b,
        upstream_fig7a,
        upstream_fig7b,
        upstream_fig9,
        upstream_fig13a,
        upstream_fig13b,
        upstream_fig14,
        upstream_fig16a,
        upstream_fig16b,
        upstream_fig17a,
        upstream_fig17b,
    )
}

__all__ = [
    "EXPERIMENTS",
    "PAPERS_EVENTS",
    "Conditions",
    "Curves",
    "Experiment",
    "Measured",
    "Panel",
    "Point",
    "Series",
    "Spread",
    "over_processes",
    "plot",
    "require_format",
    "run_experiment",
]
