"""The points of an experiment, measured wherever there is room."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from freshtide.simulation.experiments.experiment import Curves, Experiment

PAPERS_EVENTS = 1_000_000
"""Each point of Golab et al. 2011 is the result of so many arrivals and completions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What is to be measured; the experiment goes by name, so that it is cheap to send away."""

    experiment: str
    x: float
    events: int
    seed: int
    stretch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A point with the value of each curve."""

    x: float
    values: dict[str, float]


Measure = Callable[[Point], Measured]
Spread = Callable[[Measure, Sequence[Point]], Iterable[Measured]]
"""Applies a function to all points, in any order, and gives the results as they come."""


def measure_point(point: Point) -> Measured:
    """Measure one point; called in whatever process the point was sent to."""
    from freshtide.simulation.experiments import EXPERIMENTS

    experiment = EXPERIMENTS[point.experiment]
    values = experiment.measure(point.x, events=point.events, seed=point.seed, stretch=point.stretch)
    return Measured(x=point.x, values=values)


def over_processes(measure: Measure, points: Sequence[Point]) -> Iterator[Measured]:
    """On all processors of this machine."""
    workers = min(len(points), os.cpu_count() or 1)
    # Spawned, because forking a process with threads, such as that of a progress bar, is asking for trouble.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(measure, point) for point in points]):
            yield future.result()


def run_experiment(
    experiment: Experiment,
    *,
    events: int,
    seed: int,
    stretch: float = 1.0,
    spread: Spread = over_processes,
    on_point: Callable[[], None] = lambda: None,
) -> Curves:
    """Measure all points, telling of each when it is there."""
    points = [Point(experiment=experiment.name, x=x, events=events, seed=seed, stretch=stretch) for x in experiment.xs]
    values: dict[float, dict[str, float]] = {}
    for measured in spread(measure_point, points):
        values[measured.x] = measured.values
        on_point()
    series = {label: [(x, values[x][label]) for x in experiment.xs] for label in experiment.labels}
    return Curves(experiment=experiment, events=events, seed=seed, series=series)
