"""What reached the readers of a table, when, and how stale that was."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.ticks import Arrival
from freshtide.latest import LatestStaleness


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A commit: the number of the row that each of its keys has from then on."""

    at: float
    newest: Mapping[str, int]


class Deliveries:
    """The commits of one table, noted by the thread that makes them."""

    def __init__(self) -> None:
        self.all: list[Delivery] = []
        self._newest = -1
        self._more = threading.Condition()

    def note(self, newest: Mapping[str, int]) -> None:
        """Something has been committed just now."""
        with self._more:
            self.all.append(Delivery(at=time.time(), newest=newest))
            self._newest = max((self._newest, *newest.values()))
            self._more.notify_all()

    def wait_for(self, number: int, *, limit: float) -> bool:
        """Wait until this row or a later one has been committed; False if that takes longer than the limit."""
        with self._more:
            return self._more.wait_for(lambda: self._newest >= number, limit)


def one_by_one(arrivals: Sequence[Arrival], *, first: int, cost: float) -> list[Delivery]:
    """What an append queue would deliver at best: each row in its turn, at its cost and nothing else."""
    deliveries: list[Delivery] = []
    free = 0.0
    for arrival in arrivals:
        for key in arrival.keys:
            free = max(free, arrival.at) + cost
            deliveries.append(Delivery(at=free, newest={key: first + len(deliveries)}))
    return deliveries


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """Application staleness of Moga et al. 2009, section 3.3, averaged over keys."""

    mean: float
    """Over the whole time."""
    at_end: float


def staleness_of(
    arrivals: Sequence[Arrival], deliveries: Iterable[Delivery], *, first: int, begun: float, end: float
) -> Staleness:
    """How stale results were from `begun` to `end`, where the rows of the arrivals are numbered from `first` on."""
    staleness = LatestStaleness(begun)
    keys = {key for arrival in arrivals for key in arrival.keys}
    moments: Iterable[Arrival | Delivery] = heapq.merge(arrivals, deliveries, key=lambda moment: moment.at)
    for moment in moments:
        if moment.at > end:
            break
        if isinstance(moment, Arrival):
            for key in moment.keys:
                staleness.arrived(key, moment.at)
        else:
            for key, number in moment.newest.items():
                if number >= first:  # and not of the warm-up
                    staleness.delivered(key, number - first, moment.at)
    return Staleness(
        mean=staleness.mean_application(end), at_end=fmean(staleness.application(key, end) for key in keys)
    )
