"""What an experiment is: points to be measured, and how the curves that come of them are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

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


PointMeasure = Callable[[PointT, Conditions], Series]
"""Of a point: what it gives each of the curves, which is one place, or many, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What is drawn against what."""

    x: str
    y: str
    logarithmic: bool = False
    """Whether values lie orders of magnitude apart."""
    top: float | None = None
    """Where the y axis ends, if a curve would go off far beyond the others."""


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
    paper: str
    """And its section: where the figure is, or what it is about."""
    caption: str
    """What is set up, in a sentence or two, and what to look at."""
    axes: Axes
    labels: tuple[str, ...]
    """Of the curves, in the order of the paper's legend."""
    points: tuple[PointT, ...]
    """What is measured apart, and in parallel: places on the x axis, for instance, or names of policies."""
    measure: PointMeasure[PointT]
    events: float
    """For each point, unless the user says otherwise; infinite where only the experiment can say."""
    references: tuple[str, ...] = ()
    """The curves that nobody ran, such as the bound of a theorem."""
    scattered: tuple[str, ...] = ()
    """Those that are places apart, with nothing between them."""
    panels: tuple[Panel, ...] = ()
    """None: all curves in one graph."""

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
            "x_label": self.experiment.axes.x,
            "y_label": self.experiment.axes.y,
            "events": self.events if math.isfinite(self.events) else None,
            "seed": self.seed,
            "series": {label: [list(point) for point in points] for label, points in self.series.items()},
        }
