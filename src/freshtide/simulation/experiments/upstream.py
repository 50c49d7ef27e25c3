"""What figures 5, 7 and 9 of Moga et al. 2009 have in common: queues of tuples under a load factor.

One update arrives per unit of time, so that staleness is "measured in units of number of updates" (section 5.1). The
load factor is the rate of arrivals times the cost of a tuple, which makes it the cost.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from freshtide.core.latest import KeyOrder
from freshtide.latest.orders import Order
from freshtide.latest.pages import PagePool
from freshtide.latest.queues import AppendQueue, LatestQueue, SheddingQueue
from freshtide.latest.statistics import TupleCost
from freshtide.latest.tuples import TupleQueue
from freshtide.simulation.experiments.experiment import Conditions, Series
from freshtide.simulation.latest import TupleStaleness, each_tick, keys, serve

EVENTS = 100_000
KEYS = 10
LOADS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)

X_LABEL = "Load factor"
Y_LABEL = "Mean staleness (updates)"
APPLICATION = "Application staleness"
QUEUE = "Queue staleness"
APPLICATION_LABEL = "Mean application staleness (updates)"

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


def both_kinds(count: int) -> Callable[[float, Conditions], Series]:
    """Application and queue staleness of so many keys that update equally often, in an IN-PLACE queue."""

    def measure(load: float, conditions: Conditions) -> Series:
        found = staleness(QUEUES["UQ-INPLACE"], keys.equal(count), load=load, conditions=conditions)
        return {APPLICATION: [(load, found.application)], QUEUE: [(load, found.queue)]}

    return measure


def all_queues(count: int) -> Callable[[float, Conditions], Series]:
    """Application staleness of so many keys that update equally often, in each of the queues."""

    def measure(load: float, conditions: Conditions) -> Series:
        return {
            label: [(load, staleness(make, keys.equal(count), load=load, conditions=conditions).application)]
            for label, make in QUEUES.items()
        }

    return measure
