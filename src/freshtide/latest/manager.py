"""The storage manager: append queues and update queues side by side on one pool (Moga et al. 2009, section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from freshtide.core.errors import UsageError, suggestion
from freshtide.latest.pages import MemoryUse, PagePool
from freshtide.latest.tuples import QueueCounts, TupleQueue

_Queue = TypeVar("_Queue", bound=TupleQueue)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatistics:
    """A queue at a moment."""

    residents: int
    counts: QueueCounts
    oldest_pending: float | None
    use: MemoryUse


class StorageManager:
    """Queues by name. What one of them gives back another can use, up to the limit of the pool in bytes.

    Queues of one manager share memory: who uses them from several threads does so under one lock.
    """

    def __init__(self, *, limit: int | None = None) -> None:
        self.pool = PagePool(limit=limit)
        self._queues: dict[str, TupleQueue] = {}

    def add(self, name: str, make: Callable[[PagePool], _Queue]) -> _Queue:
        """A further queue, made on the pool, such as `lambda pool: LatestQueue(pool, ("float",))`."""
        if name in self._queues:
            raise UsageError(f"There is a queue '{name}' already.", way_out="Give each queue a name of its own.")
        queue = make(self.pool)
        self._queues[name] = queue
        return queue

    def discard(self, name: str) -> None:
        """Forget a queue, if it is there: others can use its memory."""
        queue = self._queues.pop(name, None)
        if queue is not None:
            queue.discard()

    def __getitem__(self, name: str) -> TupleQueue:
        try:
            return self._queues[name]
        except KeyError:
            raise UsageError(f"There is no queue '{name}'.", way_out=suggestion(name, self._queues)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._queues)

    def statistics(self) -> dict[str, QueueStatistics]:
        """All queues as they are now."""
        return {
            name: QueueStatistics(
                residents=len(queue),
                counts=replace(queue.counts),
                oldest_pending=queue.oldest_pending(),
                use=queue.use,
            )
            for name, queue in self._queues.items()
        }
