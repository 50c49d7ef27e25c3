"""Append windowing: every window of every key (the baseline of Moga et al. 2009, section 6.3.1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from freshtide.latest.pages import PAGE_SIZE, ColumnKind, PagePool
from freshtide.latest.queues.append import AppendQueue
from freshtide.latest.tuples import UNTAGGED, StreamTuple
from freshtide.latest.windows.arithmetic import WindowGrid
from freshtide.latest.windows.marks import Mark, MarkedTuple


@dataclass(slots=True)
class _KeyProgress:
    """How far the windows of a key are."""

    begun: int
    """The youngest window that has started with what came."""
    taken: deque[int] = field(default_factory=deque)
    """Windows that are processed and have not been served to the end, the oldest first."""
    youngest_taken: int | None = None
    stored_to: float = float("-inf")
    """The time of the newest tuple that was stored."""
    opened: int | None = None
    """The youngest window that a tuple has been served for."""


class AppendWindowQueue(AppendQueue):
    """An append queue whose tuples go into all windows that they are in: the traditional way, nothing is dropped.

    A tuple is served once for each of its windows, and each time it costs as much as a tuple. So the more windows
    overlap, the longer each of them takes: `C_W` of section 6.1.2 with all its terms.
    """

    def __init__(
        self, pool: PagePool, values: Sequence[ColumnKind], *, grid: WindowGrid, page_size: int = PAGE_SIZE
    ) -> None:
        super().__init__(pool, values, page_size=page_size)
        self.grid = grid
        self._progress: dict[Hashable, _KeyProgress] = {}
        self._to_serve: deque[MarkedTuple] = deque()

    def read(self) -> StreamTuple | None:
        return next((marked.item for marked in self._to_serve if marked.item is not None), None) or super().read()

    def dequeue(self, now: float) -> StreamTuple | None:
        while (marked := self.dequeue_marked(now)) is not None:
            if marked.item is not None:
                return marked.item
        return None

    def dequeue_marked(self, now: float) -> MarkedTuple | None:
        """The next tuple for one of its windows, the oldest first, or that a window has turned out to be complete."""
        while not self._to_serve:
            item = super().dequeue(now)
            if item is None:
                return None
            self._to_serve.extend(self._for_its_windows(item))
        return self._to_serve.popleft()

    def _takes_window(self) -> bool:
        """Is a window that starts processed at all?"""
        return True

    def _put(self, key: Hashable, time: float, values: Sequence[Any], tag: int, now: float) -> Sequence[int]:
        grid, holding = self.grid, self.grid.holding(time)
        progress = self._progress.get(key)
        if progress is None:
            progress = self._progress[key] = _KeyProgress(begun=grid.first_of_key(time) - 1)
        new = [number for number in holding if number > progress.begun and self._takes_window()]
        youngest = new[-1] if new else progress.youngest_taken
        # A tuple in no window that is processed is still needed to tell that one is complete.
        if youngest is None or (youngest < holding.start and youngest <= grid.last_complete(progress.stored_to)):
            self.counts.enqueued += 1
            self.counts.shed += 1
            dropped: Sequence[int] = () if tag == UNTAGGED else (tag,)
        else:
            dropped = super()._put(key, time, values, tag, now)
            progress.stored_to = time
            progress.taken.extend(new)
            progress.youngest_taken = youngest
        progress.begun = max(progress.begun, holding.stop - 1)
        return dropped

    def _for_its_windows(self, item: StreamTuple) -> Iterator[MarkedTuple]:
        grid, progress = self.grid, self._progress[item.key]
        taken = progress.taken
        while taken and grid.window(taken[0]).end <= item.time:
            yield MarkedTuple(item.key, None, Mark.CONTINUES, grid.window(taken.popleft()), closes=True)
        # Those that start later come behind: under overload they are many.
        for number in list(takewhile(lambda number: grid.holds(number, item.time), taken)):
            opens = progress.opened is None or number > progress.opened
            if opens:
                progress.opened = number
            window = grid.window(number)
            closes = item.time >= window.closes_at
            if closes:
                taken.remove(number)
            yield MarkedTuple(item.key, item, Mark.OPENS if opens else Mark.CONTINUES, window, closes)
