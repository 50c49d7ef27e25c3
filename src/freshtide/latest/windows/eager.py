"""EAGER: the most recent update of a key is its youngest started window (Moga et al. 2009, section 6.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from freshtide.core.latest import WindowSemantics
from freshtide.latest.windows.arithmetic import WindowGrid
from freshtide.latest.windows.buffers import WindowBuffer


class Eager:
    """Commits to windows that have just started; a tuple that starts a window drops the one that started before it.

    The enqueue buffer holds the youngest window, so in ticks at most `delta` tuples. With the committed window, whose
    first tuple is handed out as it is committed to, that makes `omega + delta - 1`; one more if it is served whole.
    """

    name: ClassVar[WindowSemantics] = WindowSemantics.EAGER

    def __init__(self, grid: WindowGrid) -> None:
        self._grid = grid

    def enqueue(self, buffer: WindowBuffer, time: float, values: Sequence[Any], tag: int) -> bool:
        started = self._grid.last_started(time)
        if not self._grid.holds(started, time):
            buffer.turn_away(tag)
            return False
        if buffer.reached is None or started > buffer.reached:
            # What is erased makes room for this tuple. If nothing is, and there is none, nothing has changed.
            buffer.erase_accumulated()
            buffer.append(time, values, tag, keep=True)
            buffer.keep_from(time)
            buffer.reached = buffer.waiting = started
            if buffer.committed is None:
                buffer.quiet_before = min(self._grid.start(started + 1), self._grid.closes_at(started))
            return True
        if started == buffer.waiting:
            buffer.append(time, values, tag, keep=True)
        elif buffer.committed is not None and time < buffer.committed.end:
            buffer.append(time, values, tag, keep=False)
        else:
            buffer.turn_away(tag, outside=False)
        return False

    def commit(self, buffer: WindowBuffer) -> None:
        assert buffer.waiting is not None
        buffer.commit(buffer.waiting, keep_from=float("inf"))
        buffer.quiet_before = float("-inf")
