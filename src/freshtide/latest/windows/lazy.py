"""LAZY: the most recent update of a key is its youngest complete window (Moga et al. 2009, section 6.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from freshtide.core.latest import WindowSemantics
from freshtide.latest.windows.arithmetic import WindowGrid
from freshtide.latest.windows.buffers import WindowBuffer


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
        grid, before = self._grid, buffer.newest_within
        within = grid.holds(grid.last_started(time), time)
        if within:
            buffer.append(time, values, tag, keep=True)
            buffer.newest_within = time
        else:
            buffer.turn_away(tag)
        reached = buffer.reached
        if reached is None or buffer.is_new:
            before_all = grid.first_of_key(time) - 1
            reached = before_all if reached is None else max(reached, before_all)
        closed = grid.youngest_closed(time, before=before, reached=reached)
        if closed is not None:
            buffer.waiting = closed
        buffer.reached = max(reached, grid.last_complete(time))
        following = buffer.reached + 1
        buffer.keep_from(grid.start(following if buffer.waiting is None else buffer.waiting))
        buffer.quiet_before = grid.closes_at(following) if time >= grid.start(following) else float("-inf")
        return closed is not None

    def commit(self, buffer: WindowBuffer) -> None:
        assert buffer.waiting is not None
        assert buffer.reached is not None
        buffer.commit(buffer.waiting, keep_from=self._grid.start(buffer.reached + 1))
