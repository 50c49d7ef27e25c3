"""Figures 13 and 14 of Moga et al. 2009: queues of windows (section 6.3).

One tuple arrives per unit of time, and processing a tuple for a window takes as long (C_t = 1). Sources stamp the
tuples of each key 1, 2, 3, and so on, so that a window of size omega has omega tuples.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from typing import Literal

from freshtide.core.latest import KeyOrder, WindowSemantics
from freshtide.latest import PagePool
from freshtide.latest.windows import AppendWindowQueue, MarkedTuple, WindowGrid, WindowQueue, WindowSheddingQueue
from freshtide.simulation.experiments.experiment import Axes, Conditions, Experiment, PointMeasure, Series
from freshtide.simulation.latest import ResultStaleness, each_tick, in_own_time, keys, serve

EVENTS = 20_000
COST = 1.0
TICK = 1.0
# Of the windows that could be processed in time, as many as leave room to catch up after a streak of them.
KEPT = 0.95

SIZES = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)

Windowing = Literal["Append", "Random window shedding", "LAZY", "EAGER"]
APPEND: tuple[Windowing, ...] = ("Append", "Random window shedding")
UPDATE: tuple[Windowing, ...] = ("LAZY", "EAGER")


def staleness(
    windowing: Windowing, drawn: Iterable[int], *, size: float, slide: float, conditions: Conditions
) -> float:
    """Application staleness, the mean over time and the keys drawn."""
    grid = WindowGrid(size, slide, TICK)
    semantics = WindowSemantics.EAGER if windowing == "EAGER" else WindowSemantics.LAZY
    queue = _queue(windowing, grid, semantics, random.Random(f"{conditions.seed}/shedding"))
    observer = ResultStaleness(grid, semantics)
    end = serve(
        in_own_time(each_tick(drawn)),
        enqueue=queue.enqueue,
        dequeue=queue.dequeue_marked,
        cost=_cost,
        observers=[observer],
        events=conditions.events,
    )
    return observer.application(end)


def single_key(windowings: Iterable[Windowing], *, slide: float | None) -> PointMeasure[float]:
    """Of one key over the window size, in each of these ways; without a slide, windows do not overlap."""

    def measure(size: float, conditions: Conditions) -> Series:
        def at_size(windowing: Windowing) -> float:
            tuples = itertools.repeat(0)
            return staleness(windowing, tuples, size=size, slide=slide or size, conditions=conditions)

        return {windowing: [(size, at_size(windowing))] for windowing in windowings}

    return measure


def _queue(
    windowing: Windowing, grid: WindowGrid, semantics: WindowSemantics, rng: random.Random
) -> WindowQueue | AppendWindowQueue:
    if windowing == "Append":
        return AppendWindowQueue(PagePool(), (), grid=grid)
    if windowing == "Random window shedding":
        # A window starts with each slide, and takes the time of all its tuples.
        dropped = max(0.0, 1.0 - KEPT * grid.slide / (grid.size * COST))
        return WindowSheddingQueue(PagePool(), (), grid=grid, share=dropped, uniform=rng.random)
    return WindowQueue(PagePool(), (), grid=grid, semantics=semantics, order=KeyOrder.IN_PLACE)


def _cost(work: MarkedTuple) -> float:
    """To find that a window is complete, without a tuple of it, costs nothing."""
    return 0.0 if work.item is None else COST


KEYS = 10
DrawKeys = Callable[[int], Iterable[int]]
"""From a seed."""


def _zipf(theta: float) -> DrawKeys:
    return lambda seed: keys.drawn(keys.zipf(KEYS, theta), random.Random(f"{seed}/keys"))


ARRIVALS: dict[str, DrawKeys] = {
    "Zipf, theta 0": _zipf(0.0),
    "Zipf, theta 0.5": _zipf(0.5),
    "Zipf, theta 0.9": _zipf(0.9),
    "Uniform order": lambda _seed: keys.round_robin(KEYS),
}


def eager_through_lazy(size: float, conditions: Conditions) -> Series:
    """Of ten keys over the window size, however they arrive."""

    def ratio(draw: DrawKeys) -> float:
        lazy, eager = (
            staleness(windowing, draw(conditions.seed), size=size, slide=1.0, conditions=conditions)
            for windowing in UPDATE
        )
        return eager / lazy

    return {label: [(size, ratio(draw))] for label, draw in ARRIVALS.items()}


_SIZE = "Window size (updates)"
_STALENESS = "Mean application staleness (updates)"

FIGURES: tuple[Experiment[float], ...] = (
    Experiment(
        name="upstream-fig13a",
        title="LAZY and EAGER, tumbling windows",
        paper="Moga et al. 2009, section 6.3.1",
        caption="One key.",
        axes=Axes(x=_SIZE, y=_STALENESS),
        labels=UPDATE,
        points=SIZES,
        measure=single_key(UPDATE, slide=None),
        events=EVENTS,
    ),
    Experiment(
        name="upstream-fig13b",
        title="Append and update windowing, windows that slide by 1",
        paper="Moga et al. 2009, section 6.3.1",
        caption="One key. Without shedding, how stale it gets depends on how long it runs.",
        axes=Axes(x=_SIZE, y=_STALENESS, logarithmic=True),
        labels=(*APPEND, *UPDATE),
        points=SIZES,
        measure=single_key((*APPEND, *UPDATE), slide=1.0),
        events=EVENTS,
    ),
    Experiment(
        name="upstream-fig14",
        title="EAGER against LAZY, ten keys, windows that slide by 1",
        paper="Moga et al. 2009, section 6.3.2",
        caption="Below 1 where EAGER is better.",
        axes=Axes(x=_SIZE, y="Application staleness, EAGER / LAZY"),
        labels=tuple(ARRIVALS),
        points=SIZES,
        measure=eager_through_lazy,
        events=EVENTS,
    ),
)
