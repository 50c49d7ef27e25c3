"""Figures 5, 7 and 9 of Moga et al. 2009: queues of tuples under a load factor (section 5).

One update arrives per unit of time, so that staleness is "measured in units of number of updates" (section 5.1). The
load factor is the rate of arrivals times the cost of a tuple, which makes it the cost.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from freshtide.core.latest import KeyOrder
from freshtide.latest import PagePool, TupleCost, TupleQueue
from freshtide.latest.orders import Linecutting, Order
from freshtide.latest.queues import AppendQueue, LatestQueue, SheddingQueue
from freshtide.simulation.experiments.experiment import Axes, Conditions, Experiment, Panel, PointMeasure, Series
from freshtide.simulation.latest import TupleStaleness, each_tick, keys, serve

EVENTS = 100_000
KEYS = 10
LOADS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)

APPLICATION = "Application staleness"
QUEUE = "Queue staleness"

MakeQueue = Callable[[TupleCost, random.Random], TupleQueue]
ChosenOrder = KeyOrder | Callable[[TupleCost], Order]


def update_queue(order: ChosenOrder) -> MakeQueue:
    return lambda cost, _rng: LatestQueue(PagePool(), (), order=order, cost=cost)


QUEUES: Mapping[str, MakeQueue] = {
    "AQ": lambda _cost, _rng: AppendQueue(PagePool(), ()),
    "AQ-RLS": lambda cost, rng: SheddingQueue(PagePool(), (), uniform=rng.random, cost=cost),
    "UQ-FIFO": update_queue(KeyOrder.FIFO),
    "UQ-INPLACE": update_queue(KeyOrder.IN_PLACE),
}
"""By the names of figure 7."""


class MeanStaleness(NamedTuple):
    """Over time and keys."""

    application: float
    queue: float


def staleness(make: MakeQueue, weights: Sequence[float], *, load: float, conditions: Conditions) -> MeanStaleness:
    """Of keys that update in proportion to these weights. Every queue sees the same arrivals."""
    cost = TupleCost(load)
    queue = make(cost, random.Random(f"{conditions.seed}/shedding"))
    arrivals = each_tick(keys.drawn(weights, random.Random(f"{conditions.seed}/keys")))
    observer = TupleStaleness()
    end = serve(
        arrivals,
        enqueue=queue.enqueue,
        dequeue=queue.dequeue,
        cost=lambda _: load,
        observers=[observer],
        events=conditions.events,
    )
    return MeanStaleness(observer.application(end), observer.queue(end))


def both_kinds(count: int) -> PointMeasure[float]:
    """Application and queue staleness of so many keys that update equally often, in an IN-PLACE queue."""

    def measure(load: float, conditions: Conditions) -> Series:
        found = staleness(QUEUES["UQ-INPLACE"], keys.equal(count), load=load, conditions=conditions)
        return {APPLICATION: [(load, found.application)], QUEUE: [(load, found.queue)]}

    return measure


def all_queues(count: int) -> PointMeasure[float]:
    """Application staleness of so many keys that update equally often, in each of the queues."""

    def measure(load: float, conditions: Conditions) -> Series:
        return {
            label: [(load, staleness(make, keys.equal(count), load=load, conditions=conditions).application)]
            for label, make in QUEUES.items()
        }

    return measure


# LINECUTTING against IN-PLACE (section 5.3). The paper says "very slow and fast", gives 10 times as an example, and
# leaves open what the figure was drawn with.
TIMES = (10, 50, 100)
"""How many times as often as slow keys the fast ones update."""
CUTTING_LOAD = 5.0
RULES: dict[str, ChosenOrder] = {
    "LINECUTTING": KeyOrder.LINECUTTING,
    "As printed": partial(Linecutting, as_printed=True),
}
RULE_LABELS = {rule: {times: f"{rule}, rates {times} : 1" for times in TIMES} for rule in RULES}


def gain_of_cutting_in(slow: int, conditions: Conditions) -> Series:
    """Queue staleness of IN-PLACE through that of each rule, with so many slow keys among the ten."""

    def mean_wait(order: ChosenOrder, times: int) -> float:
        weights = keys.two_classes(fast=KEYS - slow, slow=slow, ratio=times)
        return staleness(update_queue(order), weights, load=CUTTING_LOAD, conditions=conditions).queue

    found: dict[str, list[tuple[float, float]]] = {}
    for times in TIMES:
        in_place = mean_wait(KeyOrder.IN_PLACE, times)
        for rule, order in RULES.items():
            found[RULE_LABELS[rule][times]] = [(float(slow), in_place / mean_wait(order, times))]
    return found


_STALENESS = Axes(x="Load factor", y="Mean staleness (updates)")
_APPLICATION_STALENESS = Axes(x="Load factor", y="Mean application staleness (updates)", logarithmic=True)

FIGURES: tuple[Experiment[float] | Experiment[int], ...] = (
    Experiment(
        name="upstream-fig5a",
        title="Application and queue staleness of a single key",
        paper="Moga et al. 2009, section 5.1",
        caption="An IN-PLACE queue.",
        axes=_STALENESS,
        labels=(APPLICATION, QUEUE),
        points=LOADS,
        measure=both_kinds(1),
        events=EVENTS,
    ),
    Experiment(
        name="upstream-fig5b",
        title="Application and queue staleness of ten keys",
        paper="Moga et al. 2009, section 5.1",
        caption="An IN-PLACE queue, all keys alike.",
        axes=_STALENESS,
        labels=(APPLICATION, QUEUE),
        points=LOADS,
        measure=both_kinds(KEYS),
        events=EVENTS,
    ),
    Experiment(
        name="upstream-fig7a",
        title="Append queues and update queues, a single key",
        paper="Moga et al. 2009, section 5.2",
        caption="Without shedding, how stale it gets depends on how long it runs.",
        axes=_APPLICATION_STALENESS,
        labels=tuple(QUEUES),
        points=LOADS,
        measure=all_queues(1),
        events=EVENTS,
    ),
    Experiment(
        name="upstream-fig7b",
        title="Append queues and update queues, ten keys",
        paper="Moga et al. 2009, section 5.2",
        caption="All keys alike.",
        axes=_APPLICATION_STALENESS,
        labels=tuple(QUEUES),
        points=LOADS,
        measure=all_queues(KEYS),
        events=EVENTS,
    ),
    Experiment(
        name="upstream-fig9",
        title="IN-PLACE against LINECUTTING, load factor 5",
        paper="Moga et al. 2009, section 5.3",
        caption="Queue staleness, above 1 where LINECUTTING is better.",
        axes=Axes(x="Slow updaters among ten keys", y="IN-PLACE / LINECUTTING"),
        labels=tuple(label for labels in RULE_LABELS.values() for label in labels.values()),
        points=tuple(range(KEYS + 1)),
        measure=gain_of_cutting_in,
        events=EVENTS,
        panels=tuple(Panel(title=rule, labels=tuple(labels.values())) for rule, labels in RULE_LABELS.items()),
    ),
)
