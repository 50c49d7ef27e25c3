"""Figures 16 and 17 of Moga et al. 2009: on-demand paging against one location for each key (section 7.3).

100 keys, of which 10 a second are served, for as long as 1,000 results take. Tuples arrive 2 to 100 times as fast.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from functools import cache
from typing import Literal, NamedTuple

from freshtide.core.latest import KeyOrder
from freshtide.latest import NaiveMemory, PagedMemory, PagePool, TupleLayout, TupleMemory
from freshtide.latest.queues import LatestQueue
from freshtide.simulation.experiments.experiment import Axes, Conditions, Experiment, PointMeasure, Series
from freshtide.simulation.latest import MemoryGauge, each_tick, keys, serve

KEYS = 100
COST = 0.1
RESULTS = 1_000
THETAS = (0.0, 0.3, 0.6, 0.9)
LOADS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
MEMORIES: dict[str, Callable[[PagePool, TupleLayout], TupleMemory]] = {
    "On-demand paging": PagedMemory,
    "Naive": NaiveMemory,
}

Shown = Literal["effective", "allocated"]


class Usage(NamedTuple):
    """Of the memory of one run."""

    effective: float
    allocated: float


@cache
def usage(memory: str, theta: float, load: float, seed: int) -> Usage:
    """What one run takes. Kept, because two figures show it from two sides."""
    arrivals = each_tick(keys.drawn(keys.zipf(KEYS, theta), random.Random(f"{seed}/keys")), interval=COST / load)
    queue = LatestQueue(PagePool(), (), order=KeyOrder.IN_PLACE, memory=MEMORIES[memory])
    gauge = MemoryGauge(queue)
    end = serve(
        arrivals,
        enqueue=queue.enqueue,
        dequeue=queue.dequeue,
        cost=lambda _: COST,
        observers=[gauge],
        horizon=RESULTS * COST,
    )
    return Usage(gauge.effective_use(end), gauge.mean_allocated(end))


def by_skew(shown: Shown) -> PointMeasure[float]:
    """Over the skew, on average over the load factors."""
    return lambda theta, conditions: _means(theta, shown, [(theta, load) for load in LOADS], conditions)


def by_load(shown: Shown) -> PointMeasure[float]:
    """Over the load factor, on average over the distributions."""
    return lambda load, conditions: _means(load, shown, [(theta, load) for theta in THETAS], conditions)


def _means(x: float, shown: Shown, settings: Iterable[tuple[float, float]], conditions: Conditions) -> Series:
    runs = {memory: [usage(memory, *setting, conditions.seed) for setting in settings] for memory in MEMORIES}
    return {memory: [(x, sum(getattr(run, shown) for run in found) / len(found))] for memory, found in runs.items()}


class _Over(NamedTuple):
    """What a figure is drawn over."""

    number: str
    what: str
    axis: str
    caption: str
    points: tuple[float, ...]
    measure: Callable[[Shown], PointMeasure[float]]


_DRAWN = (
    _Over(
        number="16",
        what="update rate distributions",
        axis="Zipf theta of the update rates",
        caption="The mean over load factors from 2 to 100.",
        points=THETAS,
        measure=by_skew,
    ),
    _Over(
        number="17",
        what="load factors",
        axis="Load factor",
        caption="The mean over Zipf distributions with theta from 0 to 0.9.",
        points=LOADS,
        measure=by_load,
    ),
)


def _figure(over: _Over, part: str, shown: Shown, *, title: str, axis: str) -> Experiment[float]:
    return Experiment(
        name=f"upstream-fig{over.number}{part}",
        title=f"{title} under various {over.what}",
        paper="Moga et al. 2009, section 7.3",
        caption=over.caption,
        axes=Axes(x=over.axis, y=axis),
        labels=tuple(MEMORIES),
        points=over.points,
        measure=over.measure(shown),
        events=math.inf,
    )


FIGURES: tuple[Experiment[float], ...] = tuple(
    figure
    for over in _DRAWN
    for figure in (
        _figure(over, "a", "effective", title="Effective memory usage", axis="Effective use of allocated memory"),
        _figure(over, "b", "allocated", title="Memory usage", axis="Allocated locations"),
    )
)
