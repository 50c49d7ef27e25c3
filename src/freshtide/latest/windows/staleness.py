"""How far results are behind the windows of their keys (Moga et al. 2009, sections 6.1.2 and 6.2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from freshtide.core.latest import WindowSemantics
from freshtide.latest.staleness import LatestStaleness
from freshtide.latest.windows.arithmetic import Window, WindowGrid


@dataclass(slots=True)
class _KeyWindows:
    """The windows of a key that have become updates and are not settled, each with the number of the update."""

    complete: int
    started: int
    newest_within: float | None = None
    to_commit: deque[tuple[int, int]] = field(default_factory=deque)
    to_deliver: deque[tuple[int, int]] = field(default_factory=deque)


class WindowStaleness:
    """Application and queue staleness where an update is a window as a whole.

    The application falls behind with each window that has fully arrived. A key begins to wait with a window that has
    closed (LAZY) or started (EAGER). Both go by the grid and by what arrives, whatever a queue does with it.
    """

    def __init__(self, grid: WindowGrid, semantics: WindowSemantics, begun: float) -> None:
        self._grid = grid
        self._eager = semantics is WindowSemantics.EAGER
        self._closed = LatestStaleness(begun)
        self._awaited = LatestStaleness(begun)
        self._keys: dict[Hashable, _KeyWindows] = {}

    def arrived(self, key: Hashable, time: float, now: float) -> None:
        """A tuple has come in. The times of a key do not go backwards."""
        grid, started = self._grid, self._grid.last_started(time)
        windows = self._keys.get(key)
        if windows is None:
            before_all = grid.first_of_key(time) - 1
            windows = self._keys[key] = _KeyWindows(complete=before_all, started=before_all)
        closed = grid.youngest_closed(time, before=windows.newest_within, reached=windows.complete)
        if closed is not None:
            windows.to_deliver.append((closed, self._closed.arrived(key, now)))
            if not self._eager:
                windows.to_commit.append((closed, self._awaited.arrived(key, now)))
        if grid.holds(started, time):
            windows.newest_within = time
            if self._eager and started > windows.started:
                windows.to_commit.append((started, self._awaited.arrived(key, now)))
        windows.complete = max(windows.complete, grid.last_complete(time))
        windows.started = max(windows.started, started)

    def committed(self, key: Hashable, window: Window, now: float) -> None:
        """A window of the key left the queue to be processed."""
        upto = self._settled(self._keys[key].to_commit, window)
        if upto is not None:
            self._awaited.dequeued(key, upto, now)

    def delivered(self, key: Hashable, window: Window, now: float) -> None:
        """The result of a window of the key is there."""
        upto = self._settled(self._keys[key].to_deliver, window)
        if upto is not None:
            self._closed.delivered(key, upto, now)

    def application(self, key: Hashable, now: float) -> float:
        """Since when a complete window of the key has had no result that is as new."""
        return self._closed.application(key, now)

    def queue(self, key: Hashable, now: float) -> float:
        """Since when the key has been waiting."""
        return self._awaited.queue(key, now)

    def mean_application(self, now: float) -> float:
        """Averaged over the time since the beginning, then over the keys that had a complete window."""
        return self._closed.mean_application(now)

    def mean_queue(self, now: float) -> float:
        """Averaged in the same way."""
        return self._awaited.mean_queue(now)

    def _settled(self, pending: deque[tuple[int, int]], window: Window) -> int | None:
        """The number of the newest update that is not newer than this window."""
        number, upto = self._grid.last_started(window.start), None
        while pending and pending[0][0] <= number:
            upto = pending.popleft()[1]
        return upto
