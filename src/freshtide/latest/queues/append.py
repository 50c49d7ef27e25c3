"""The append queue: all tuples, in the order of arrival (the baseline of Moga et al. 2009, section 4.1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any

from freshtide.latest.pages import PAGE_SIZE, ColumnKind, MemoryUse, PagePool, TupleLayout
from freshtide.latest.queues.stored import StoredQueue
from freshtide.latest.tuples import StreamTuple


class AppendQueue(StoredQueue):
    """A tuple queue that drops nothing. It fills page after page, and gives each back once it has been served."""

    def __init__(self, pool: PagePool, values: Sequence[ColumnKind], *, page_size: int = PAGE_SIZE) -> None:
        super().__init__(values)
        self._store = pool.store(TupleLayout(columns=("float", "float", "int", "object", *values)), page_size)
        self._times, self._arrivals, self._tags, self._keys, *columns = self._store.columns
        self._values = tuple(enumerate(columns))
        self._page_size = page_size
        self._pages: deque[int] = deque()
        self._served = 0
        """Tuples of the first page that have been served."""
        self._residents = 0

    @property
    def use(self) -> MemoryUse:
        return MemoryUse(used=self._residents, allocated=len(self._pages) * self._page_size)

    def discard(self) -> None:
        self._store.reclaim(self)

    def read(self) -> StreamTuple | None:
        if not self._residents:
            return None
        location = self._pages[0] + self._served
        values = tuple([column[location] for _, column in self._values])
        return StreamTuple(self._times[location], self._keys[location], values, self._tags[location])

    def dequeue(self, now: float) -> StreamTuple | None:  # noqa: ARG002 - tuples are in order when they arrive
        served = self.read()
        if served is None:
            return None
        location = self._pages[0] + self._served
        for column in self._store.objects:
            column[location] = None
        self._residents -= 1
        self._served += 1
        if self._served == self._page_size or not self._residents:
            self._store.give_back(self._pages.popleft())
            self._served = 0
        self.counts.dequeued += 1
        return served

    def __len__(self) -> int:
        return self._residents

    def oldest_pending(self) -> float | None:
        if not self._residents:
            return None
        arrival: float = self._arrivals[self._pages[0] + self._served]
        return arrival

    def page_moved(self, page: int, target: int) -> None:
        self._pages[self._pages.index(page)] = target

    def _put(self, key: Hashable, time: float, values: Sequence[Any], tag: int, now: float) -> Sequence[int]:
        offset = (self._served + self._residents) % self._page_size
        if not offset:
            self._pages.append(self._store.take(self))
        location = self._pages[-1] + offset
        self._times[location] = time
        self._arrivals[location] = now
        self._tags[location] = tag
        self._keys[location] = key
        for position, column in self._values:
            column[location] = values[position]
        self._residents += 1
        self.counts.enqueued += 1
        return ()
