"""What figures 13 and 14 of Moga et al. 2009 have in common: queues of windows (section 6.3).

One tuple arrives per unit of time, and processing a tuple for a window takes as long (C_t = 1). Sources stamp the
tuples of each key 1, 2, 3, and so on, so that a window of size omega has omega tuples.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from typing import Literal

from freshtide.core.latest import KeyOrder, WindowSemantics
from freshtide.latest.pages import PagePool
from freshtide.latest.windows import AppendWindowQueue, MarkedTuple, WindowGrid, WindowQueue, WindowSheddingQueue
from freshtide.simulation.experiments.experiment import Conditions, Series
from freshtide.simulation.latest import ResultStaleness, each_tick, in_own_time, serve

EVENTS = 20_000
COST = 1.0
TICK = 1.0
# Of the windows that could be processed in time, as many as leave room to catch up after a streak of them.
KEPT = 0.95

SIZES = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)

X_LABEL = "Window size (updates)"
Y_LABEL = "Mean application staleness (updates)"

Windowing = Literal["Append", "Random window shedding", "LAZY", "EAGER"]
APPEND: tuple[Windowing, ...] = ("Append", "Random window shedding")
UPDATE: tuple[Windowing, ...] = ("LAZY", "EAGER")


def staleness(windowing: Windowing, keys: Iterable[int], *, size: float, slide: float, conditions: Conditions) -> float:
    """Application staleness, the mean over time and keys."""
    grid = WindowGrid(size, slide, TICK)
    semantics = WindowSemantics.EAGER if windowing == "EAGER" else WindowSemantics.LAZY
    queue = _queue(windowing, grid, semantics, random.Random(f"{conditions.seed}/shedding"))
    observer = ResultStaleness(grid, semantics)
    end = serve(
        in_own_time(each_tick(keys)),
        enqueue=queue.enqueue,
        dequeue=queue.dequeue_marked,
        cost=_cost,
        observers=[observer],
        events=conditions.events,
    )
    return observer.application(end)


def single_key(windowings: Iterable[Windowing], *, slide: float | None) -> Callable[[float, Conditions], Series]:
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
