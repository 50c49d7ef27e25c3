"""Figure 16: of what is allocated for 100 keys almost all is in use, however unevenly they update."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from freshtide.core.latest import KeyOrder
from freshtide.latest.memories import NaiveMemory, PagedMemory
from freshtide.latest.pages import PagePool
from freshtide.latest.queues import LatestQueue
from freshtide.latest.statistics import TupleCost
from freshtide.latest.tuples import StreamTuple


@pytest.mark.parametrize("order", list(KeyOrder))
@pytest.mark.parametrize("theta", [0.0, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("arrivals", [2, 10, 40])
def test_more_than_95_percent_of_what_is_allocated_is_in_use(order: KeyOrder, theta: float, arrivals: int) -> None:
    paged, naive = (
        LatestQueue(PagePool(), ("float",), order=order, cost=TupleCost(1.0), memory=memory)
        for memory in (PagedMemory, NaiveMemory)
    )
    rng = random.Random(16)
    weights = [1.0 / rank**theta for rank in range(1, 101)]
    effective: list[tuple[float, float]] = []
    for second in range(200):
        for key in rng.choices(range(100), weights, k=arrivals):
            for queue in (paged, naive):
                queue.enqueue(StreamTuple(second, key, (0.5,)), second)
            effective.append((paged.use.effective, naive.use.effective))
        assert paged.dequeue(second) == naive.dequeue(second)
        effective.append((paged.use.effective, naive.use.effective))
    of_paged, of_naive = (fmean(uses) for uses in zip(*effective, strict=True))
    assert of_paged > 0.95
    assert of_paged > of_naive
