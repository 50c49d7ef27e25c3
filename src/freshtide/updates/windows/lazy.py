"""LAZY: the most recent update of a key is its youngest complete window (Moga et al. 2009, section 6.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from freshtide.core.updatestreams import WindowSemantics
from freshtide.updates.windows.arithmetic import WindowGrid
from freshtide.updates.windows.buffers import WindowBuffer


class Lazy:
    """Commits to windows that have fully arrived; a window that closes drops the one that closed before it.

    The enqueue buffer begins with the window that waits, or else with the oldest that is not complete. In ticks that
    is at most `omega + delta - 1` tuples: the window that waits closed less than a slide ago. The rest of a committed
    window, at most `omega - 1` tuples, comes on top while it is handed out one by one.

    The windows of a key begin with the youngest one that its first tuple is in, since older ones were not seen from
    their start. Windows without a tuple are no updates.
    """

    name: ClassVar[WindowSemantics] = WindowSemantics.LAZY

    def __init__(self, grid: WindowGrid) -> None:
        self._grid = grid

    def enqueue(self, buffer: WindowBuffer, time: float, values: Sequence[Any], tag: int) -> bool:
        grid, started = self._grid, self._grid.last_started(time)
        within = grid.holds(started, time)
        if within:
            buffer.append(time, values, tag, keep=True)
        else:
            buffer.turn_away(tag)
        before = buffer.newest_within
        if before is None:
            first = started if within else started + 1
            buffer.reached = first - 1 if buffer.reached is None else max(buffer.reached, first - 1)
        if within:
            buffer.newest_within = time
        closed = self._closed(buffer, time, before)
        if closed is not None:
            buffer.waiting = closed
        assert buffer.reached is not None
        needed = buffer.reached + 1 if buffer.waiting is None else buffer.waiting
        buffer.keep_from(grid.start(needed))
        return closed is not None

    def commit(self, buffer: WindowBuffer) -> None:
        assert buffer.waiting is not None
        assert buffer.reached is not None
        buffer.commit(buffer.waiting, keep_from=self._grid.start(buffer.reached + 1))

    def _closed(self, buffer: WindowBuffer, time: float, before: float | None) -> int | None:
        """The youngest window with a tuple that this tuple closes, if it closes any; `before` is the one before it."""
        grid, reached = self._grid, buffer.reached
        complete = grid.last_complete(time)
        assert reached is not None
        if complete <= reached:
            return None
        buffer.reached = complete
        # In ticks the closing tuple is the last of the window. Else it is beyond its end, and the one before was the last.
        last = buffer.newest_within if grid.holds(complete, time) else before
        if last is None:
            return None
        closed = min(complete, grid.last_started(last))
        return closed if closed > reached else None
