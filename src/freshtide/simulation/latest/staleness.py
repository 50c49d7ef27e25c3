"""Observers of a served queue that integrate staleness: of single tuples, and of windows."""

from __future__ import annotations

from freshtide.core.latest import WindowSemantics
from freshtide.latest import LatestStaleness, StreamTuple
from freshtide.latest.operators import Aggregate, ContinuousQuery, Step, count
from freshtide.latest.windows import Mark, MarkedTuple, WindowGrid, WindowStaleness

_STREAM = "tuples"


class TupleStaleness:
    """Each tuple is an update, and each tuple that was served a result (Moga et al. 2009, section 3.3).

    Tuples are tagged with their numbers, as `each_tick` does it.
    """

    def __init__(self) -> None:
        self._staleness = LatestStaleness(0.0)

    def arrived(self, item: StreamTuple, now: float) -> None:
        self._staleness.arrived(item.key, now)

    def dequeued(self, work: StreamTuple, now: float) -> None:
        self._staleness.dequeued(work.key, work.tag, now)

    def delivered(self, work: StreamTuple, now: float) -> None:
        self._staleness.delivered(work.key, work.tag, now)

    def application(self, end: float) -> float:
        """The mean over time and keys of how far results are behind."""
        return self._staleness.mean_application(end)

    def queue(self, end: float) -> float:
        """The same without the time of processing."""
        return self._staleness.mean_queue(end)


class ResultStaleness:
    """Each complete window is an update, and what an aggregate makes of one is a result (section 6.1.2)."""

    def __init__(self, grid: WindowGrid, semantics: WindowSemantics) -> None:
        self._staleness = WindowStaleness(grid, semantics, 0.0)
        self._query = ContinuousQuery(Step(Aggregate(count()), _STREAM))

    def arrived(self, item: StreamTuple, now: float) -> None:
        self._staleness.arrived(item.key, item.time, now)

    def dequeued(self, work: MarkedTuple, now: float) -> None:
        if work.mark is Mark.OPENS:
            self._staleness.committed(work.key, work.window, now)

    def delivered(self, work: MarkedTuple, now: float) -> None:
        for _ in self._query.push(_STREAM, work):
            self._staleness.delivered(work.key, work.window, now)

    def application(self, end: float) -> float:
        """The mean over time and keys of how far results are behind."""
        return self._staleness.mean_application(end)

    def queue(self, end: float) -> float:
        """The mean over time and keys of how long keys have been waiting."""
        return self._staleness.mean_queue(end)
