"""Queues as plain as they can be: a dictionary and a list. What they serve is what the real ones must serve."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from freshtide.core.updatestreams import KeyOrder
from freshtide.updates.tuples import StreamTuple


@dataclass(slots=True, kw_only=True)
class PlainUpdateQueue:
    """The newest tuple of each key, and the keys in the order in which they are served."""

    order: KeyOrder
    cost: float
    newest: dict[Hashable, StreamTuple] = field(default_factory=dict)
    since: dict[Hashable, float] = field(default_factory=dict)
    keys: list[Hashable] = field(default_factory=list)
    arrivals: list[tuple[float, Hashable]] = field(default_factory=list)

    def enqueue(self, item: StreamTuple, now: float) -> StreamTuple | None:
        """What it supersedes."""
        superseded = self.newest.get(item.key)
        residents = len(self.keys)
        self.arrivals.append((now, item.key))
        self.newest[item.key] = item
        self.since.setdefault(item.key, now)
        if self.order is KeyOrder.LINECUTTING and self._mean_gap(item.key, now) > self.cost * residents:
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

    def _mean_gap(self, key: Hashable, now: float) -> float:
        return (now - self.arrivals[0][0]) / sum(1 for _, other in self.arrivals if other == key)
