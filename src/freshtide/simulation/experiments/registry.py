"""All experiments in virtual time, by name. A figure of another paper is a module beside the others and a line here."""

from __future__ import annotations

from typing import Any

from freshtide.simulation.experiments import bateni, golab, leontyev, moga
from freshtide.simulation.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment[Any]] = {
    figure.name: figure for paper in (golab, leontyev, bateni, moga) for figure in paper.FIGURES
}
