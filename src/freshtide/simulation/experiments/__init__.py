"""The papers' experiments in virtual time: a module for each paper, and each of its figures a value.

Here is what an experiment is, how its points are measured in parallel, and how its curves are drawn. What needs Spark
to be measured is in `freshtide.spark.experiments`, which builds its experiments of the same parts. What the papers' own
words and figures come to here is told in docs/experiments.md.
"""

from freshtide.simulation.experiments.experiment import (
    Axes,
    Conditions,
    Curves,
    Experiment,
    Panel,
    PointMeasure,
    Series,
)
from freshtide.simulation.experiments.plotting import plot, require_format
from freshtide.simulation.experiments.running import (
    EXPERIMENTS,
    Measured,
    Point,
    Spread,
    over_processes,
    run_experiment,
)

__all__ = [
    "EXPERIMENTS",
    "Axes",
    "Conditions",
    "Curves",
    "Experiment",
    "Measured",
    "Panel",
    "Point",
    "PointMeasure",
    "Series",
    "Spread",
    "over_processes",
    "plot",
    "require_format",
    "run_experiment",
]
