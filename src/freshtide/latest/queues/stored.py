"""What all queues on pages have in common: tuples are checked before they are stored, one by one or in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from itertools import islice
from typing import Any

from freshtide.latest.pages import ColumnKind, MemoryLimitError
from freshtide.latest.shapes import MISFIT, TupleShapeError, checked_rows, value_check
from freshtide.latest.tuples import UNTAGGED, QueueCounts, StreamTuple


class StoredQueue(ABC):
    """A tuple queue whose values have columns of these kinds."""

    def __init__(self, values: Sequence[ColumnKind]) -> None:
        self.counts = QueueCounts()
        self._kinds = tuple(values)
        self._check = value_check(("float", "int", *values))

    def enqueue(self, item: StreamTuple, now: float) -> Sequence[int]:
        time, key, values, tag = item
        try:
            self._check(time, tag, *values)
        except MISFIT:
            raise TupleShapeError(f"A tuple of {key!r} at {time!r} with {len(values)} values", self._kinds) from None
        return self._put(key, time, values, tag, now)

    def enqueue_many(
        self,
        keys: Sequence[Hashable],
        times: Sequence[float],
        columns: Sequence[Sequence[Any]],
        now: float,
        tag: int = UNTAGGED,
    ) -> Sequence[int]:
        put, dropped = self._put, list[int]()
        before = self.counts.enqueued
        try:
            for key, time, values in checked_rows(keys, times, columns, self._kinds):
                dropped += put(key, time, values, tag, now)
        except MemoryLimitError as refusal:
            taken = self.counts.enqueued - before
            raise MemoryLimitError(refusal.limit, taken=taken, dropped=dropped) from None
        return dropped

    def dequeue_many(self, count: int, now: float) -> list[StreamTuple]:
        return list(islice(iter(lambda: self.dequeue(now), None), count))

    @abstractmethod
    def discard(self) -> None:
        """Give all memory back: the queue is not used any more."""

    @abstractmethod
    def dequeue(self, now: float) -> StreamTuple | None: ...

    @abstractmethod
    def _put(self, key: Hashable, time: float, values: Sequence[Any], tag: int, now: float) -> Sequence[int]:
        """Take in a tuple that fits; the tags of what is dropped for it."""
