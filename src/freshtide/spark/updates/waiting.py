"""What an update takes out of a queue: rows of different keys, or whole windows of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from freshtide.updates.tuples import UNTAGGED, StreamTuple, TupleQueue
from freshtide.updates.windows import Window, WindowQueue


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
    superseded: int = 0
    """Tuples that were taken out and made way for others of the batch."""


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

    def drain(self, now: float) -> list[StreamTuple]:
        """Take out all that waits, whether it could be served or not."""
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

    @property
    def keys(self) -> int:
        return len(self.queue)

    @property
    def since(self) -> float | None:
        return self.queue.oldest_pending()

    def take(self, count: int, now: float, held: MicroBatch) -> MicroBatch:
        """Of each key the newest row alone, before any query sees it: if that is left out, the key has none."""
        served = self.queue.dequeue_many(count, now)
        newest = newest_of_keys([*held.tuples, *served])
        return MicroBatch(
            tuples=newest,
            released=held.released + tags(served),
            keys=len(newest),
            superseded=held.superseded + len(held.tuples) + len(served) - len(newest),
        )

    def drain(self, now: float) -> list[StreamTuple]:
        return self.queue.dequeue_many(len(self.queue), now)

    def settle(self) -> None:
        """Rows are served as they are: there is nothing to prepare."""

    def resume_after(self, key: Any, start: float) -> None:
        """Rows are in no window, and the table itself lets no older one in."""


class WaitingWindows:
    """Of each key a complete window."""

    def __init__(self, queue: WindowQueue) -> None:
        self.queue = queue

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

    def drain(self, now: float) -> list[StreamTuple]:  # noqa: ARG002 - nothing is served
        return [item for key in self.queue.cells.numbers for item in self.queue.stored(key)]

    def settle(self) -> None:
        """Commit to windows that have started, so that they are still there when they are complete."""
        self.queue.commit_started()

    def resume_after(self, key: Any, start: float) -> None:
        self.queue.resume_after(key, start)


def newest_of_keys(tuples: Iterable[StreamTuple]) -> list[StreamTuple]:
    """Of the tuples of each key the newest; of those with the same time the last."""
    newest: dict[Hashable, StreamTuple] = {}
    for item in tuples:
        other = newest.get(item.key)
        if other is None or item.time >= other.time:
            newest[item.key] = item
    return list(newest.values())


def tags(tuples: Sequence[StreamTuple]) -> list[int]:
    return [item.tag for item in tuples if item.tag != UNTAGGED]
