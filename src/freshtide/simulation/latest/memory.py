"""How much memory a queue holds, and how much of it is in use (Moga et al. 2009, section 7.3)."""

from __future__ import annotations

from typing import Protocol

from freshtide.latest import MemoryUse, StreamTuple


class Stored(Protocol):
    """What keeps its tuples in memory that it asks for."""

    @property
    def use(self) -> MemoryUse: ...


class MemoryGauge:
    """Observes a queue: locations used and allocated, integrated over time."""

    def __init__(self, queue: Stored) -> None:
        self._queue = queue
        self._since = 0.0
        self._use = queue.use
        self._used_area = 0.0
        self._allocated_area = 0.0

    def arrived(self, _item: StreamTuple, now: float) -> None:
        self._look(now)

    def dequeued(self, _work: object, now: float) -> None:
        self._look(now)

    def delivered(self, _work: object, now: float) -> None:
        """A tuple leaves the queue when it is dequeued: nothing changes."""

    def mean_allocated(self, end: float) -> float:
        """Locations, on average over the time up to the end."""
        self._look(end)
        return self._allocated_area / end

    def effective_use(self, end: float) -> float:
        """The share of what was allocated, on average, that was in use."""
        self._look(end)
        return self._used_area / self._allocated_area

    def _look(self, now: float) -> None:
        passed = now - self._since
        self._used_area += passed * self._use.used
        self._allocated_area += passed * self._use.allocated
        self._since, self._use = now, self._queue.use
