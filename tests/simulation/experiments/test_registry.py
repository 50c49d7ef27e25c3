from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from freshtide.simulation.experiments import EXPERIMENTS, Experiment

EXPERIMENTS_PAGE = Path(__file__).parents[3] / "docs" / "experiments.md"

each_experiment = pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda each: each.name)


@each_experiment
def test_a_figure_says_where_it_comes_from_and_what_is_set_up(experiment: Experiment[Any]) -> None:
    paper, section = experiment.paper.split(", section ")
    assert f": {paper}" in EXPERIMENTS_PAGE.read_text(), "the page has a chapter for each paper"
    assert section
    assert experiment.caption.endswith(".")


@each_experiment
def test_every_curve_is_drawn(experiment: Experiment[Any]) -> None:
    drawn = [label for graph in experiment.graphs for label in graph.labels]
    assert sorted(drawn) == sorted(experiment.labels)
    assert {*experiment.references, *experiment.scattered} <= set(drawn)
