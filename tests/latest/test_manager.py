"""The storage manager: queues of both kinds side by side."""

from __future__ import annotations

import pytest

from freshtide.core.errors import UsageError
from freshtide.latest import AppendQueue, LatestQueue, MemoryLimitError, StorageManager, StreamTuple


def test_append_and_update_queues_share_the_memory_and_are_told_apart_by_name() -> None:
    manager = StorageManager(limit=1_000)
    trades = manager.add("trades", lambda pool: AppendQueue(pool, ("float",)))
    quotes = manager.add("quotes", lambda pool: LatestQueue(pool, ("float",)))
    with pytest.raises(MemoryLimitError):
        for time in range(1_000):
            trades.enqueue(StreamTuple(time, "IBM", (float(time),)), float(time))
    assert 0 < manager.pool.used_bytes <= 1_000
    with pytest.raises(MemoryLimitError):
        quotes.enqueue(StreamTuple(0.0, "IBM", (1.0,)), 0.0)
    trades.dequeue_many(1_000, 0.0)
    for price in (1.0, 2.0):
        quotes.enqueue(StreamTuple(price, "IBM", (price,)), 10.0 + price)
    statistics = manager.statistics()
    assert list(manager) == list(statistics) == ["trades", "quotes"]
    assert (statistics["trades"].residents, statistics["trades"].oldest_pending) == (0, None)
    assert (statistics["quotes"].residents, statistics["quotes"].oldest_pending) == (1, 11.0)
    assert statistics["quotes"].counts.superseded == 1
    assert statistics["quotes"].use.used == 1
    assert manager["quotes"].dequeue(13.0) == StreamTuple(2.0, "IBM", (2.0,))
    assert statistics["quotes"].counts.dequeued == 0  # as it was then


def test_a_name_that_is_taken_or_unknown_is_told() -> None:
    manager = StorageManager()
    manager.add("quotes", lambda pool: LatestQueue(pool, ()))
    with pytest.raises(UsageError, match="'quotes' already"):
        manager.add("quotes", lambda pool: AppendQueue(pool, ()))
    with pytest.raises(UsageError, match="Did you mean 'quotes'"):
        manager["quote"]
