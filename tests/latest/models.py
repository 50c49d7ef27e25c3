"""Queues as plain as they can be: a dictionary and a list. What they serve is what the real ones must serve."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import pairwise

from freshtide.core.latest import KeyOrder
from freshtide.latest.tuples import StreamTuple


@dataclass(slots=True, kw_only=True)
class PlainUpdateQueue:
    """The newest tuple of each key, and the keys in the order in which they are served."""

    order: KeyOrder
    cost: float
    as_printed: bool = False
    newest: dict[Hashable, StreamTuple] = field(default_factory=dict)
    since: dict[Hashable, float] = field(default_factory=dict)
    keys: list[Hashable] = field(default_factory=list)
    begun: float | None = None
    arrivals: dict[Hashable, list[float]] = field(default_factory=dict)

    def enqueue(self, item: StreamTuple, now: float) -> StreamTuple | None:
        """What it supersedes."""
        superseded = self.newest.get(item.key)
        slow = self._is_slow(item.key, now)
        self.newest[item.key] = item
        self.since.setdefault(item.key, now)
        if self.order is KeyOrder.LINECUTTING and slow:
            self.keys = [item.key, *(key for key in self.keys if key != item.key)]
        elif superseded is None or self.order is KeyOrder.FIFO:
            self.keys = [*(key for key in self.keys if key != item.key), item.key]
        return superseded

    def dequeue(self) -> StreamTuple | None:
        if not self.keys:
            return None
        key = self.keys.pop(0)
        del self.since[key]
        return self.newest.pop(key)

    def dequeue_many(self, count: int) -> list[StreamTuple]:
        served = [self.dequeue() for _ in range(min(count, len(self.keys)))]
        return [item for item in served if item is not None]

    def oldest_pending(self) -> float | None:
        return min(self.since.values(), default=None)

    def _is_slow(self, key: Hashable, now: float) -> bool:
        self.begun = now if self.begun is None else self.begun
        arrivals = self.arrivals.setdefault(key, [self.begun])
        arrivals.append(now)
        gap = 0.0
        # One by one, so that it is rounded like the real one: the two may be compared where gap and limit are equal.
        for count, (earlier, later) in enumerate(pairwise(arrivals), start=1):
            gap += (later - earlier - gap) / min(count, 32)
        if self.as_printed:
            return gap > self.cost * len(self.keys)
        waited = now - min(self.since.values(), default=now)
        return gap > 3.0 * self.cost * len(self.keys) and gap > 3.0 * waited
