"""What an update takes out of a queue: rows of different keys, or whole windows of them."""

from __future__ import annotations

from collections.abc import Sequence
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

    def and_also(self, other: MicroBatch) -> MicroBatch:
        return MicroBatch(
            tuples=self.tuples + other.tuples,
            windows=self.windows + other.windows,
            released=self.released + other.released,
            keys=self.keys + other.keys,
        )


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

    def take(self, count: int, now: float) -> MicroBatch:
        """Serve up to so many keys."""
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

    def take(self, count: int, now: float) -> MicroBatch:
        tuples = self.queue.dequeue_many(count, now)
        return MicroBatch(tuples=tuples, released=tags(tuples), keys=len(tuples))

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

    def take(self, count: int, now: float) -> MicroBatch:
        batch = MicroBatch()
        while batch.keys < count and (served := self.queue.dequeue_window(now)) is not None:
            batch.tuples += served.tuples
            batch.windows += [served.window] * len(served.tuples)
            batch.released += served.released
            batch.keys += 1
        return batch

    def settle(self) -> None:
        """Commit to windows that have started, so that they are still there when they are complete."""
        self.queue.commit_started()

    def resume_after(self, key: Any, start: float) -> None:
        self.queue.resume_after(key, start)


def tags(tuples: Sequence[StreamTuple]) -> list[int]:
    return [item.tag for item in tuples if item.tag != UNTAGGED]
