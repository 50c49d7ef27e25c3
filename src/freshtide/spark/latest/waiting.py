"""What an update takes out of a queue: rows of different keys, or whole windows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from freshtide.latest import UNTAGGED, StreamTuple, TupleQueue
from freshtide.latest.windows import KeyStanding, Window, WindowQueue
from freshtide.spark.latest.fates import ByTag, Fates


@dataclass(slots=True, kw_only=True)
class MicroBatch:
    """Tuples that are processed together."""

    tuples: list[StreamTuple] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    """That of each tuple, where windows are served; a tuple can be there in several."""
    released: list[int] = field(default_factory=list)
    """The tags of tuples that will not be served again."""
    keys: int = 0
    """How many keys or windows these are."""
    superseded: list[StreamTuple] = field(default_factory=list)
    """Tuples that were taken out and have made way for others: of the batch, or of the table."""


class Waiting(Protocol):
    """A queue as an update sees it."""

    @property
    def queue(self) -> TupleQueue: ...

    @property
    def keys(self) -> int:
        """About how many keys could be served now; 0 if none could."""
        ...

    @property
    def since(self) -> float | None:
        """When the oldest update arrived of those that could be served now."""
        ...

    def take(self, count: int, now: float, held: MicroBatch) -> MicroBatch:
        """Serve up to so many keys, together with what was taken out before and could not be processed."""
        ...

    def dropped(self, tags: Sequence[int]) -> None:
        """Tuples with these tags have made way for others in the queue."""
        ...

    def fates(self) -> ByTag:
        """What has become of tuples in the queue, or as they were taken out of it, since this was last asked."""
        ...

    def drain(self, now: float) -> list[StreamTuple]:
        """Take out all tuples that wait and are not told by how their keys stand."""
        ...

    @property
    def can_be_put_down(self) -> bool:
        """Whether tuples may wait for ever, so that how keys stand is put down from time to time."""
        ...

    @property
    def is_counted_when_put_down(self) -> bool:
        """Whether what has become of tuples is counted only when how keys stand is put down."""
        ...

    def is_worth_putting_down(self, rows: int) -> bool:
        """Whether it is time for that, if so many rows have come since the last time."""
        ...

    def standings(self) -> list[KeyStanding]:
        """How all keys stand."""
        ...

    def restore(self, standing: KeyStanding, now: float) -> None:
        """Take up a key as it stood."""
        ...

    def settle(self) -> None:
        """There is nothing else to do at the moment."""
        ...

    def resume_after(self, key: Any, start: float) -> None:
        """The window of a key that begins here was served in an earlier run."""
        ...


class WaitingRows:
    """Single rows: of each key its newest, if they wait in an update queue."""

    def __init__(self, queue: TupleQueue) -> None:
        self.queue = queue
        self._dropped: Counter[int] = Counter()
        self._told = 0
        """So many of those that the queue has superseded are told of."""

    @property
    def keys(self) -> int:
        return len(self.queue)

    @property
    def since(self) -> float | None:
        return self.queue.oldest_pending()

    def take(self, count: int, now: float, held: MicroBatch) -> MicroBatch:
        """Of each key the newest row alone, and of equal times the last, before any query sees it.

        If that is left out, the key has none.
        """
        served = self.queue.dequeue_many(count, now)
        newest: dict[Hashable, StreamTuple] = {}
        superseded = list(held.superseded)
        for item in (*held.tuples, *served):
            other = newest.get(item.key)
            is_newer = other is None or item.time >= other.time
            if other is not None:
                superseded.append(other if is_newer else item)
            if is_newer:
                newest[item.key] = item
        return MicroBatch(
            tuples=list(newest.values()),
            released=held.released + tags(served),
            keys=len(newest),
            superseded=superseded,
        )

    def dropped(self, tags: Sequence[int]) -> None:
        self._dropped.update(tags)

    def fates(self) -> ByTag:
        superseded, self._dropped = self._dropped, Counter()
        # The queue tells no tags of those that have none.
        untagged = self.queue.counts.superseded - self._told - superseded.total()
        self._told = self.queue.counts.superseded
        return {tag: Fates(superseded=count) for tag, count in {**superseded, UNTAGGED: untagged}.items()}

    def drain(self, now: float) -> list[StreamTuple]:
        return self.queue.dequeue_many(len(self.queue), now)

    can_be_put_down = False
    is_counted_when_put_down = False

    def is_worth_putting_down(self, rows: int) -> bool:  # noqa: ARG002 - each of them is served
        return False

    def standings(self) -> list[KeyStanding]:
        return []

    def restore(self, standing: KeyStanding, now: float) -> None:  # noqa: ARG002 - keys have no standing
        raise AssertionError("rows are in no window")

    def settle(self) -> None:
        """Rows are served as they are: there is nothing to prepare."""

    def resume_after(self, key: Any, start: float) -> None:
        """Rows are in no window, and the table itself lets no older one in."""


class WaitingWindows:
    """Of each key a complete window."""

    def __init__(self, queue: WindowQueue, *, is_read_again: bool) -> None:
        """`is_read_again` tells whether what has come since the queue was put down comes again after a crash.

        Then it has its fate a second time, and must not have been counted.
        """
        self.queue = queue
        self.is_counted_when_put_down = is_read_again

    @property
    def keys(self) -> int:
        return 0 if self.queue.oldest_complete() is None else max(1, len(self.queue))

    @property
    def since(self) -> float | None:
        return self.queue.oldest_complete()

    def take(self, count: int, now: float, held: MicroBatch) -> MicroBatch:
        batch, most = held, held.keys + count
        while batch.keys < most and (served := self.queue.dequeue_window(now)) is not None:
            batch.tuples += served.tuples
            batch.windows += [served.window] * len(served.tuples)
            batch.released += served.released
            batch.keys += 1
        return batch

    def dropped(self, tags: Sequence[int]) -> None:
        """The queue keeps count of them."""

    def fates(self) -> ByTag:
        found = self.queue.take_fates()
        return {
            tag: Fates(superseded=found.superseded[tag], came_in=found.served[tag])
            for tag in found.superseded | found.served
        }

    def drain(self, now: float) -> list[StreamTuple]:  # noqa: ARG002 - how keys stand tells all
        return []

    can_be_put_down = True

    def is_worth_putting_down(self, rows: int) -> bool:
        """When as many have come as are put down, that is a share of the work that does not grow."""
        return rows >= self.queue.stored_tuples + len(self.queue.cells)

    def standings(self) -> list[KeyStanding]:
        return list(self.queue.standings())

    def restore(self, standing: KeyStanding, now: float) -> None:
        self.queue.restore(standing, now)

    def settle(self) -> None:
        """Commit to windows that have started, so that they are still there when they are complete."""
        self.queue.commit_started()

    def resume_after(self, key: Any, start: float) -> None:
        self.queue.resume_after(key, start)


def tags(tuples: Sequence[StreamTuple]) -> list[int]:
    return [item.tag for item in tuples if item.tag != UNTAGGED]
