"""A queue of an update stream in virtual time: tuples arrive, and one server works off what the queue gives it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from freshtide.latest import StreamTuple

WorkT = TypeVar("WorkT")
WorkT_contra = TypeVar("WorkT_contra", contravariant=True)


class Arrival(NamedTuple):
    """A tuple, and when it comes."""

    moment: float
    item: StreamTuple


class Observer(Protocol[WorkT_contra]):
    """Is told of what happens, in the order in which it does."""

    def arrived(self, item: StreamTuple, now: float) -> None: ...

    def dequeued(self, work: WorkT_contra, now: float) -> None: ...

    def delivered(self, work: WorkT_contra, now: float) -> None: ...


def each_tick(keys: Iterable[int], *, interval: float = 1.0) -> Iterator[Arrival]:
    """One update per interval, of these keys, stamped when it comes and tagged with its number, from 0 on."""
    for number, key in enumerate(keys):
        moment = (number + 1) * interval
        yield Arrival(moment, StreamTuple(moment, key, (), number))


def in_own_time(arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
    """The same, stamped by sources that each count their own updates: 1, 2, 3, ..."""
    counts: Counter[Hashable] = Counter()
    for moment, item in arrivals:
        counts[item.key] += 1
        yield Arrival(moment, item._replace(time=float(counts[item.key])))


def serve(
    arrivals: Iterator[Arrival],
    *,
    enqueue: Callable[[StreamTuple, float], object],
    dequeue: Callable[[float], WorkT | None],
    cost: Callable[[WorkT], float],
    observers: Iterable[Observer[WorkT]],
    events: float = math.inf,
    horizon: float = math.inf,
) -> float:
    """Let so many tuples arrive and be delivered, or all up to a moment, or all there are; when that ends.

    `enqueue` and `dequeue` are those of a queue: one of windows gives tuples with window marks to work on. What arrives
    at the moment at which the server becomes free is in the queue before the server takes something.
    """
    told = tuple(observers)
    now, happened = 0.0, 0
    work: WorkT | None = None
    free_at = math.inf
    coming = next(arrivals, None)
    while happened < events:
        arrives_at = math.inf if coming is None else coming.moment
        following = min(free_at, arrives_at)
        if following > horizon:
            return horizon
        if following == math.inf:
            break
        now, happened = following, happened + 1
        if work is not None and free_at <= arrives_at:
            for observer in told:
                observer.delivered(work, now)
            work, free_at = None, math.inf
        elif coming is not None:
            enqueue(coming.item, now)
            for observer in told:
                observer.arrived(coming.item, now)
            coming = next(arrivals, None)
        if work is None and (coming is None or coming.moment > now):
            work = dequeue(now)
            if work is not None:
                free_at = now + cost(work)
                for observer in told:
                    observer.dequeued(work, now)
    return now
