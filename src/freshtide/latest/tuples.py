"""The tuples of a stream, and the queues that keep them until they are served (Moga et al. 2009, section 4)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from freshtide.latest.pages import MemoryUse

UNTAGGED = -1


class StreamTuple(NamedTuple):
    """(T, K, V) of section 7: the time that its source gave it, its update key, and its other values."""

    time: float
    key: Hashable
    values: tuple[object, ...]
    tag: int = UNTAGGED
    """Whatever the one who enqueues it wants to know it by, such as the file that it came from."""


@dataclass(slots=True, kw_only=True)
class QueueCounts:
    """What has become of the tuples of a queue so far."""

    enqueued: int = 0
    superseded: int = 0
    """Dropped because something newer of the same key came before they were served, or had come before them."""
    shed: int = 0
    """Dropped at random."""
    dequeued: int = 0


class TupleQueue(Protocol):
    """Where tuples wait, whatever the semantics: append or update, by tuple or by window.

    `now` is when a tuple arrives or is served, and does not go backwards. What is enqueued has been admitted. A tuple
    that is older than another one of its key which an update queue holds is superseded as it comes.
    """

    @property
    def counts(self) -> QueueCounts: ...

    @property
    def use(self) -> MemoryUse: ...

    def enqueue(self, item: StreamTuple, now: float) -> Sequence[int]:
        """Take a tuple in. The tags of the tuples that were dropped for it, as far as they had one.

        MemoryLimitError if there is no room for it: then the queue is as it was.
        """
        ...

    def enqueue_many(
        self,
        keys: Sequence[Hashable],
        times: Sequence[float],
        columns: Sequence[Sequence[Any]],
        now: float,
        tag: int = UNTAGGED,
    ) -> Sequence[int]:
        """Take tuples in, in this order, given by columns.

        MemoryLimitError if there is no room for one of them: it says how many were taken before.
        """
        ...

    def read(self) -> StreamTuple | None:
        """The tuple that would be served next. It stays."""
        ...

    def dequeue(self, now: float) -> StreamTuple | None:
        """Serve the next tuple; None if nothing waits."""
        ...

    def dequeue_many(self, count: int, now: float) -> list[StreamTuple]:
        """Serve up to so many tuples."""
        ...

    def __len__(self) -> int:
        """Residents: tuples of an append queue, keys of an update queue."""
        ...

    def discard(self) -> None:
        """Give all memory back: the queue is not used any more."""
        ...

    def oldest_pending(self) -> float | None:
        """When the oldest update arrived that nothing served reflects yet, be it superseded or not (section 3.3)."""
        ...
