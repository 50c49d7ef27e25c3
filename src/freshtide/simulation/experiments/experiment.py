"""What an experiment is, and how a point of it is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from freshtide.scheduling import Policy
from freshtide.simulation.engine import Simulation, without_contention
from freshtide.simulation.results import relative_lateness
from freshtide.simulation.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is simulated at one place of the x axis: one workload, a policy for each curve."""

    workload: Workload
    policies: Mapping[str, Policy]
    tracks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A figure of a paper: curves of relative lateness."""

    name: str
    title: str
    x_label: str
    xs: tuple[float, ...]
    labels: tuple[str, ...]
    """Of the curves, in the order of the paper's legend."""
    setting: Callable[[float, int], Setting]
    """From a place on the x axis and a seed."""
    y_label: str = "Relative lateness"

    def measure(self, x: float, *, events: int, seed: int, stretch: float = 1.0) -> dict[str, float]:
        """The value of each curve at x: weighted staleness against that of the same run without contention.

        `stretch` makes slow and normal times so many times as long: what a paper does not give must not matter.
        """
        setting = self.setting(x, seed)
        workload = _stretched(setting.workload, stretch)
        uncontended = without_contention(workload, Policy()).run(events=events)
        return {
            label: relative_lateness(
                Simulation(workload, setting.policies[label], tracks=setting.tracks).run(horizon=uncontended.end),
                uncontended,
            )
            for label in self.labels
        }


def _stretched(workload: Workload, factor: float) -> Workload:
    slowdown = workload.slowdown
    if slowdown is None:
        return workload
    longer = replace(slowdown, normal=factor * slowdown.normal, slow=factor * slowdown.slow)
    return replace(workload, slowdown=longer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """The outcome of an experiment."""

    experiment: Experiment
    events: int
    seed: int
    series: Mapping[str, list[tuple[float, float]]]

    def as_json(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment.name,
            "x_label": self.experiment.x_label,
            "y_label": self.experiment.y_label,
            "events": self.events,
            "seed": self.seed,
            "series": {label: [list(point) for point in points] for label, points in self.series.items()},
        }
