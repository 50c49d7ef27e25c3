"""The update queue of windows: of each key the most recent window, whole (Moga et al. 2009, sections 6 and 7.2)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freshtide.core.latest import KeyOrder, WindowSemantics
from freshtide.latest.keycells import KeyCells
from freshtide.latest.orders import ORDERS, Place
from freshtide.latest.pages import PAGE_SIZE, ColumnKind, MemoryUse, PagePool
from freshtide.latest.queues.stored import StoredQueue
from freshtide.latest.statistics import KeyGaps, TupleCost
from freshtide.latest.tuples import QueueCounts, StreamTuple
from freshtide.latest.windows.arithmetic import WindowGrid
from freshtide.latest.windows.blocks import BLOCK_SIZE, Blocks
from freshtide.latest.windows.buffers import KeyStanding, WindowBuffer
from freshtide.latest.windows.departures import Departures, TupleFates
from freshtide.latest.windows.eager import Eager
from freshtide.latest.windows.lazy import Lazy
from freshtide.latest.windows.marks import CommittedWindow, MarkedTuple
from freshtide.latest.windows.semantics import Semantics
from freshtide.latest.windows.states import KeyState, KeyStates

SEMANTICS: Mapping[WindowSemantics, Callable[[WindowGrid], Semantics]] = {Lazy.name: Lazy, Eager.name: Eager}


@dataclass(slots=True, kw_only=True)
class WindowCounts(QueueCounts):
    """Also of windows. A tuple that is handed out with several windows is dequeued several times."""

    outside: int = 0
    """Tuples in no window, because the slide is longer than the window: counted among those that were superseded."""
    windows: int = 0
    """Windows that were handed out to the end."""
    superseded_windows: int = 0
    """Windows that waited, and were dropped for a newer one of their key."""


class WindowQueue(StoredQueue):
    """A tuple queue whose updates are windows of a key, served tuple by tuple with marks, or whole.

    Every window that is handed out has exactly the tuples that its key got within it; of windows that are dropped
    nothing is handed out. The tag of a tuple comes back once, when the tuple leaves: from `enqueue`, if it made way for
    a newer one, or with the window that was the last to need it.

    `cost` is what a window costs: LINECUTTING compares it with the time between the updates of a key.
    """

    counts: WindowCounts

    def __init__(
        self,
        pool: PagePool,
        values: Sequence[ColumnKind],
        *,
        grid: WindowGrid,
        semantics: WindowSemantics = WindowSemantics.LAZY,
        order: KeyOrder = KeyOrder.LINECUTTING,
        cost: TupleCost | None = None,
        block_size: int = BLOCK_SIZE,
        page_size: int = PAGE_SIZE,
    ) -> None:
        super().__init__(values)
        self.counts = WindowCounts()
        self.grid = grid
        self.cost = cost or TupleCost()
        self.gaps = KeyGaps()
        self.cells = KeyCells()
        self._semantics = SEMANTICS[semantics](grid)
        self._order = ORDERS[order](self.cost)
        self._blocks = Blocks(pool, values, block_size=block_size, page_size=page_size)
        self._departures = Departures()
        self._buffers: list[WindowBuffer] = []
        """By cell; cells are numbered from 1."""
        self._states = KeyStates()
        self._complete_since: OrderedDict[int, float] = OrderedDict()
        """By cell, in the order of these moments."""

    @property
    def use(self) -> MemoryUse:
        """In blocks: those that hold a tuple which a window needs, and those of all pages that are held."""
        return self._blocks.memory.use

    @property
    def stored_tuples(self) -> int:
        """How many tuples are there."""
        return self._departures.stored

    def take_fates(self) -> TupleFates:
        """What has become of tuples since this was last asked."""
        return self._departures.take_fates()

    def states(self, key: Hashable) -> frozenset[KeyState]:
        """The states of figure 10 that a key is in."""
        cell = self.cells.numbers.get(key)
        return frozenset() if cell is None else self._states.of(cell)

    def waiting_since(self, key: Hashable) -> float | None:
        """When the first update arrived that the key waits with: a window that closed (LAZY) or started (EAGER)."""
        cell = self.cells.numbers.get(key)
        return None if cell is None else self._states.waiting_since(cell)

    def stored(self, key: Hashable) -> tuple[StreamTuple, ...]:
        """The tuples that the buffer of a key holds, the oldest first."""
        cell = self.cells.numbers.get(key)
        return () if cell is None else tuple(self._buffers[cell - 1].stored())

    def resume_after(self, key: Hashable, start: float) -> None:
        """The window of a key that begins here was served in an earlier run: it and older ones are no updates."""
        buffer = self._buffers[self._cell(key) - 1]
        served = self.grid.last_started(start)
        buffer.reached = served if buffer.reached is None else max(buffer.reached, served)
        buffer.quiet_before = float("-inf")

    def standings(self) -> Iterator[KeyStanding]:
        """How all keys stand, to be put down. Windows are served whole."""
        return (self._buffers[cell - 1].standing() for cell in self.cells.numbers.values())

    def restore(self, standing: KeyStanding, now: float) -> None:
        """Take up a key that was put down and is not there. MemoryLimitError if there is no room for its tuples."""
        cell = self._cell(standing.key)
        buffer = self._buffers[cell - 1]
        buffer.restore(standing)
        if buffer.committed is not None:
            self._states.updated(cell, Place.TAIL, now)
            self._states.committed(cell)
        if buffer.waiting is not None:
            self._states.updated(cell, Place.TAIL, now)
        self._note_complete(cell, now)

    def discard(self) -> None:
        self._blocks.memory.store.reclaim(self._blocks.memory)

    def read(self) -> StreamTuple | None:
        """The tuple that would be served next; None also while the next news is only that a window is complete."""
        cell = self._states.processing
        while cell is not None and not self._buffers[cell - 1].available:
            self._states.ran_dry(cell)
            cell = self._states.processing
        if cell is None:
            cell = self._states.next_waiting()
        return None if cell is None else self._buffers[cell - 1].peek()

    def dequeue(self, now: float) -> StreamTuple | None:
        while (marked := self.dequeue_marked(now)) is not None:
            if marked.item is not None:
                return marked.item
        return None

    def dequeue_marked(self, now: float) -> MarkedTuple | None:
        """Serve the next tuple of the window under processing, or else of the next window: the operator is free.

        A key whose window has run dry becomes idle, and another one is served.
        """
        while (cell := self._ready()) is not None:
            buffer = self._buffers[cell - 1]
            marked = buffer.hand_out()
            if marked is None:
                self._states.ran_dry(cell)
                continue
            if marked.item is not None:
                self.counts.dequeued += 1
            if marked.closes:
                self._finish(cell, now)
            return marked._replace(released=tuple(self._departures.take()))
        return None

    def dequeue_window(self, now: float) -> CommittedWindow | None:
        """Serve the next complete window; None if none is.

        On the way EAGER commits to windows that are not complete: from then on they are kept until they are. A window
        of which a tuple was served by itself is not given.
        """
        passed_by: list[int] = []
        found: CommittedWindow | None = None
        while found is None and (cell := self._ready()) is not None:
            buffer = self._buffers[cell - 1]
            if not buffer.complete:
                self._states.ran_dry(cell)
            elif not buffer.untouched:
                self._states.ran_dry(cell)
                passed_by.append(cell)
            else:
                found = self._whole(buffer)
                self._finish(cell, now)
        for cell in passed_by:
            self._states.promoted(cell)
        return found

    def commit_started(self) -> None:
        """With EAGER: commit to the windows that wait, as far as their keys have no other under processing.

        A started window that is not committed to is dropped when the next one starts. Who serves whole windows calls
        this while there is nothing else to do, so that started windows are still there when they are complete.
        """
        while self._semantics.name is WindowSemantics.EAGER and (cell := self._states.next_waiting()) is not None:
            self._commit(cell)

    def oldest_complete(self) -> float | None:
        """Since when `dequeue_window` has had a window to give; of several keys, the longest."""
        return next(iter(self._complete_since.values()), None)

    def __len__(self) -> int:
        return self._states.waiting

    def oldest_pending(self) -> float | None:
        return self._states.oldest_since

    def _put(self, key: Hashable, time: float, values: Sequence[Any], tag: int, now: float) -> Sequence[int]:
        cell = self._cell(key)
        buffer = self._buffers[cell - 1]
        if buffer.newest_time < time < buffer.quiet_before:
            buffer.append(time, values, tag, keep=True)
            buffer.newest_time = buffer.newest_within = time
            self.counts.enqueued += 1
            return ()
        if time < buffer.newest_time:
            buffer.turn_away(tag, outside=False)
        elif time == buffer.newest_time:
            buffer.replace_newest(values, tag)
        else:
            overtaken = buffer.waiting is not None
            newer = self._semantics.enqueue(buffer, time, values, tag)
            buffer.newest_time = time
            if newer:
                self.counts.superseded_windows += overtaken
                states, since = self._states, self._states.oldest_since
                waited = 0.0 if since is None else now - since
                states.updated(cell, self._order.place(overtaken, self.gaps.observe(cell, now), len(self), waited), now)
            if buffer.available:
                self._states.promoted(cell)
            self._note_complete(cell, now)
        self.counts.enqueued += 1
        self.counts.superseded = self._departures.superseded
        self.counts.outside = self._departures.outside
        return self._departures.take()

    def _cell(self, key: Hashable) -> int:
        cell = self.cells.numbers.get(key)
        if cell is None:
            cell = self.cells.add(key)
            self._buffers.append(WindowBuffer(key, self.grid, self._blocks, self._departures))
        return cell

    def _ready(self) -> int | None:
        """The key under processing, or else the next one that waits, which is committed to."""
        cell = self._states.processing
        if cell is None:
            cell = self._states.next_waiting()
            if cell is not None:
                self._commit(cell)
        return cell

    def _commit(self, cell: int) -> None:
        self._semantics.commit(self._buffers[cell - 1])
        self._states.committed(cell)

    def _whole(self, buffer: WindowBuffer) -> CommittedWindow:
        window = buffer.committed
        assert window is not None
        tuples: list[StreamTuple] = []
        closes = False
        while not closes and (marked := buffer.hand_out()) is not None:
            closes = marked.closes
            if marked.item is not None:
                tuples.append(marked.item)
        self.counts.dequeued += len(tuples)
        return CommittedWindow(buffer.key, window, tuple(tuples), tuple(self._departures.take()))

    def _finish(self, cell: int, now: float) -> None:
        self.counts.windows += 1
        self._states.done(cell)
        del self._complete_since[cell]
        self._note_complete(cell, now)

    def _note_complete(self, cell: int, now: float) -> None:
        """Keep in mind whether the window of a key that is to be served next is complete, and since when."""
        buffer = self._buffers[cell - 1]
        if buffer.committed is not None:
            complete = buffer.complete
        else:
            complete = buffer.waiting is not None and buffer.newest_time >= self.grid.closes_at(buffer.waiting)
        if complete:
            self._complete_since.setdefault(cell, now)
        else:
            self._complete_since.pop(cell, None)
