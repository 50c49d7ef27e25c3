"""All experiments by name, and the points of one, measured wherever there is room."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from freshtide.simulation.experiments import bateni, golab, leontyev, moga
from freshtide.simulation.experiments.experiment import Conditions, Curves, Experiment, Series

EXPERIMENTS: dict[str, Experiment[Any]] = {
    figure.name: figure for paper in (golab, leontyev, bateni, moga) for figure in paper.FIGURES
}
"""All experiments in virtual time, by name: of another paper there is a module beside these, and its name here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What is to be measured; the experiment goes by name, so that it is cheap to send away."""

    experiment: str
    number: int
    """Which of the experiment's points."""
    conditions: Conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a point gives to each curve."""

    number: int
    series: Series


Measure = Callable[[Point], Measured]
Spread = Callable[[Measure, Sequence[Point]], Iterable[Measured]]
"""Applies a function to all points, in any order, and gives the results as they come."""


def measure_point(point: Point) -> Measured:
    """Measure one point; called in whatever process the point was sent to."""
    experiment = EXPERIMENTS[point.experiment]
    return Measured(number=point.number, series=experiment.measure(experiment.points[point.number], point.conditions))


def over_processes(measure: Measure, points: Sequence[Point]) -> Iterator[Measured]:
    """On all processors of this machine."""
    workers = min(len(points), os.cpu_count() or 1)
    # Spawned, because forking a process with threads, such as that of a progress bar, is asking for trouble.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(measure, point) for point in points]):
            yield future.result()


def run_experiment(
    experiment: Experiment[Any],
    *,
    conditions: Conditions,
    spread: Spread = over_processes,
    on_point: Callable[[], None] = lambda: None,
) -> Curves:
    """Measure all points, telling of each when it is there."""
    points = [
        Point(experiment=experiment.name, number=number, conditions=conditions)
        for number in range(len(experiment.points))
    ]
    found: dict[int, Series] = {}
    for measured in spread(measure_point, points):
        found[measured.number] = measured.series
        on_point()
    series = {label: _together(label, [found[point.number] for point in points]) for label in experiment.labels}
    return Curves(experiment=experiment, events=conditions.events, seed=conditions.seed, series=series)


def _together(label: str, parts: Sequence[Series]) -> list[tuple[float, float]]:
    """What the points give to a curve, from left to right."""
    return sorted((pair for part in parts for pair in part.get(label, [])), key=lambda pair: pair[0])
