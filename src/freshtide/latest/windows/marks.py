"""Window marks: what the queue tells the aggregate with each tuple (Moga et al. 2009, section 6.1.3 and table 1)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from enum import Enum
from typing import NamedTuple

from freshtide.latest.tuples import StreamTuple
from freshtide.latest.windows.arithmetic import Window, WindowGrid


class Mark(Enum):
    """What a tuple does to the windows of its key."""

    OPENS = "opens"
    """It opens the window that the queue has committed to."""
    DISALLOWED = "disallowed"
    """It is the first of a window that must not be opened."""
    CONTINUES = "continues"
    """It is the first of no window."""


class MarkedTuple(NamedTuple):
    """A tuple on its way to the aggregate, with the committed window that it is for.

    `closes` says that the window is complete with it: emit the result. There is no tuple where the window was found to
    be complete only after its last one had been handed out, or where a filter has taken it away.
    """

    key: Hashable
    item: StreamTuple | None
    mark: Mark
    window: Window
    closes: bool
    released: tuple[int, ...] = ()
    """The tags of tuples that no other window needs."""

    @property
    def win_spec(self) -> float:
        """The number that table 1 has for it: where the opened window closes, 0, or -1."""
        if self.mark is Mark.OPENS:
            return self.window.closes_at
        return 0.0 if self.mark is Mark.DISALLOWED else -1.0


class CommittedWindow(NamedTuple):
    """A complete window of a key with exactly the tuples that are in it."""

    key: Hashable
    window: Window
    tuples: tuple[StreamTuple, ...]
    released: tuple[int, ...] = ()
    """The tags of those of its tuples that no other window needs."""

    @property
    def start(self) -> float:
        """Where it begins in source time."""
        return self.window.start

    @property
    def end(self) -> float:
        """Before which source time it ends."""
        return self.window.end

    def marked(self, grid: WindowGrid) -> Iterator[MarkedTuple]:
        """Its tuples as the queue would have handed them out one by one."""
        before: float | None = None
        for place, item in enumerate(self.tuples, 1):
            mark = mark_of(item.time, before, grid)
            yield MarkedTuple(self.key, item, mark, self.window, closes=place == len(self.tuples))
            before = item.time


def mark_of(time: float, before: float | None, grid: WindowGrid) -> Mark:
    """The mark of a tuple of a committed window; `before` is the time of the tuple before it in that window."""
    if before is None:
        return Mark.OPENS
    starts = grid.last_started(time) > grid.last_started(before)
    return Mark.DISALLOWED if starts else Mark.CONTINUES
