"""The append queue with random load shedding (the second baseline of Moga et al. 2009, section 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from freshtide.latest.pages import PAGE_SIZE, ColumnKind, PagePool
from freshtide.latest.queues.append import AppendQueue
from freshtide.latest.statistics import KeyGaps, TupleCost
from freshtide.latest.tuples import UNTAGGED

_STREAM = 0


class SheddingQueue(AppendQueue):
    """An append queue that drops arrivals at random, so many that what is left can be processed.

    It goes by the mean time between two arrivals of the whole stream and by the cost of a tuple. `utilisation` is the
    share of the time that processing may take: a queue that is busy all the time never gets shorter.
    """

    def __init__(
        self,
        pool: PagePool,
        values: Sequence[ColumnKind],
        *,
        uniform: Callable[[], float],
        cost: TupleCost | None = None,
        utilisation: float = 0.95,
        page_size: int = PAGE_SIZE,
    ) -> None:
        super().__init__(pool, values, page_size=page_size)
        self.cost = cost or TupleCost()
        self._uniform = uniform
        self._utilisation = utilisation
        self._gaps = KeyGaps(memory=1_000)

    def _put(self, key: Hashable, time: float, values: Sequence[Any], tag: int, now: float) -> Sequence[int]:
        gap, cost = self._gaps.observe(_STREAM, now), self.cost.seconds
        if cost is not None and self._uniform() * cost > self._utilisation * gap:
            self.counts.enqueued += 1
            self.counts.shed += 1
            return () if tag == UNTAGGED else (tag,)
        return super()._put(key, time, values, tag, now)
