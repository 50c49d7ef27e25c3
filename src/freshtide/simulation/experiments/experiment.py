"""What an experiment is: points to be measured, and how the curves that come of them are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

PAPERS_EVENTS = 1_000_000
"""Each point of Golab et al. 2011 is the result of so many arrivals and completions."""

PointT = TypeVar("PointT")
Series = Mapping[str, list[tuple[float, float]]]
"""Of each label, places on the x axis and values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a point is measured under."""

    events: float
    """Arrivals and completions to simulate; infinite where the experiment itself says how long it runs."""
    seed: int
    stretch: float = 1.0
    """Makes slow and normal times so many times as long: what a paper does not give must not matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One of several graphs, one above the other, over the same x axis."""

    title: str
    labels: tuple[str, ...]
    """Of the curves in it."""
    y_label: str | None = None
    """None: that of the experiment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment(Generic[PointT]):
    """A figure of a paper."""

    name: str
    title: str
    x_label: str
    y_label: str
    labels: tuple[str, ...]
    """Of the curves, in the order of the paper's legend."""
    points: tuple[PointT, ...]
    """What is measured apart, and in parallel: places on the x axis, for instance, or names of policies."""
    measure: Callable[[PointT, Conditions], Series]
    """One point: it gives each of the curves one place, or many, or none."""
    events: float = PAPERS_EVENTS
    """For each point, unless the user says otherwise; infinite where only the experiment can say."""
    references: tuple[str, ...] = ()
    """The curves that nobody ran, such as the bound of a theorem."""
    scattered: tuple[str, ...] = ()
    """Those that are places apart, with nothing between them."""
    panels: tuple[Panel, ...] = ()
    """None: all curves in one graph."""
    logarithmic: bool = False
    """Whether values lie orders of magnitude apart."""
    top: float | None = None
    """Where the y axis ends, if a curve would go off far beyond the others."""

    @property
    def counts_events(self) -> bool:
        """Whether a point can be the result of more or fewer events."""
        return math.isfinite(self.events)

    @property
    def graphs(self) -> tuple[Panel, ...]:
        """What is drawn, from top to bottom."""
        return self.panels or (Panel(title=self.title, labels=self.labels),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """The outcome of an experiment."""

    experiment: Experiment[Any]
    events: float
    seed: int
    series: Series

    def as_json(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment.name,
            "x_label": self.experiment.x_label,
            "y_label": self.experiment.y_label,
            "events": self.events if math.isfinite(self.events) else None,
            "seed": self.seed,
            "series": {label: [list(point) for point in points] for label, points in self.series.items()},
        }
