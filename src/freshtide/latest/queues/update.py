"""The update queue: of each key the newest tuple, in the order of the keys (Moga et al. 2009, sections 4.1 and 7)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from freshtide.core.latest import KeyOrder
from freshtide.latest.keycells import MOST_IDLE, KeyCells, KeyList
from freshtide.latest.memories import PagedMemory, TupleMemory
from freshtide.latest.orders import ORDERS, Order
from freshtide.latest.orders.order import STAY, TAIL
from freshtide.latest.pages import NOWHERE, ColumnKind, MemoryUse, PagePool, TupleLayout
from freshtide.latest.queues.stored import StoredQueue
from freshtide.latest.statistics import KeyGaps, TupleCost
from freshtide.latest.tuples import UNTAGGED, StreamTuple


class LatestQueue(StoredQueue):
    """A tuple queue that keeps the newest tuple of each key, and serves the keys in one of three orders."""

    def __init__(
        self,
        pool: PagePool,
        values: Sequence[ColumnKind],
        *,
        order: KeyOrder | Callable[[TupleCost], Order] = KeyOrder.LINECUTTING,
        cost: TupleCost | None = None,
        memory: Callable[[PagePool, TupleLayout], TupleMemory] = PagedMemory,
        most_idle: int = MOST_IDLE,
    ) -> None:
        """`most_idle` keys are remembered of which nothing waits."""
        super().__init__(values)
        self._most_idle = most_idle
        self.cost = cost or TupleCost()
        self.gaps = KeyGaps()
        self.cells = KeyCells()
        self._order = (ORDERS[order] if isinstance(order, KeyOrder) else order)(self.cost)
        self._queue = KeyList()
        # Where keys are served oldest first the two orders are one.
        self._waiting = self._queue if self._order.oldest_first else KeyList()
        self._memory = memory(pool, TupleLayout(columns=("float", "float", "int", *values)))
        self._locations = self._memory.locations
        self._times, self._since, self._tags, *columns = self._memory.store.columns
        self._values = tuple(enumerate(columns))
        self._residents = 0

    @property
    def use(self) -> MemoryUse:
        return self._memory.use

    def discard(self) -> None:
        self._memory.store.reclaim(self._memory)

    def read(self) -> StreamTuple | None:
        cell = self._queue.first
        return None if cell is None else self._tuple(cell)

    def dequeue(self, now: float) -> StreamTuple | None:  # noqa: ARG002 - keys are in order when they arrive
        cell = self._queue.first
        if cell is None:
            return None
        served = self._tuple(cell)
        self._queue.remove(cell)
        if self._waiting is not self._queue:
            self._waiting.remove(cell)
        self._memory.remove(cell)
        self._residents -= 1
        self.counts.dequeued += 1
        return served

    def __len__(self) -> int:
        return self._residents

    def oldest_pending(self) -> float | None:
        cell = self._waiting.first
        if cell is None:
            return None
        since: float = self._since[self._locations[cell]]
        return since

    def _put(self, key: Hashable, time: float, values: Sequence[Any], tag: int, now: float) -> Sequence[int]:
        cell = self.cells.numbers.get(key)
        if cell is None:
            if len(self.cells) - self._residents > self._most_idle:
                self._forget_silent()
            cell = self.cells.add(key)
        locations, counts, residents = self._locations, self.counts, self._residents
        oldest = self._waiting.first
        waited = 0.0 if oldest is None else now - self._since[locations[oldest]]
        location = locations[cell] if cell < len(locations) else NOWHERE
        if location != NOWHERE and time < self._times[location]:
            counts.enqueued += 1
            counts.superseded += 1
            return () if tag == UNTAGGED else (tag,)
        if location == NOWHERE:
            location = self._memory.add(cell)
            self._since[location] = now
            self._residents = residents + 1
            resident, superseded = False, UNTAGGED
            if self._waiting is not self._queue:
                self._waiting.append(cell)
        else:
            counts.superseded += 1
            resident, superseded = True, self._tags[location]
        counts.enqueued += 1
        self._times[location] = time
        self._tags[location] = tag
        for position, column in self._values:
            column[location] = values[position]
        place = self._order.place(resident, self.gaps.observe(cell, now), residents, waited)
        if place is not STAY:
            if resident:
                self._queue.remove(cell)
            if place is TAIL:
                self._queue.append(cell)
            else:
                self._queue.prepend(cell)
        return () if superseded == UNTAGGED else (superseded,)

    def _forget_silent(self) -> None:
        """Forget half of the keys of which nothing waits: those that have been silent longest."""
        idle = [cell for cell in self.cells.numbers.values() if cell not in self._queue]
        idle.sort(key=self.gaps.latest)
        for cell in idle[: len(idle) // 2]:
            self.cells.forget(cell)
            self.gaps.forget(cell)

    def _tuple(self, cell: int) -> StreamTuple:
        location = self._locations[cell]
        values = tuple([column[location] for _, column in self._values])
        return StreamTuple(self._times[location], self.cells.keys[cell], values, self._tags[location])
