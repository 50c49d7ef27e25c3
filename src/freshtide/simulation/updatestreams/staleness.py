"""Observers that tell `UpdateStaleness` what a served queue does: of single tuples, and of windows."""

from __future__ import annotations

from freshtide.updates.staleness import UpdateStaleness
from freshtide.updates.tuples import StreamTuple


class TupleStaleness:
    """Each tuple is an update, and each tuple that was served a result (Moga et al. 2009, section 3.3).

    Tuples are tagged with their numbers, as `each_tick` does it.
    """

    def __init__(self) -> None:
        self._staleness = UpdateStaleness(0.0)

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
