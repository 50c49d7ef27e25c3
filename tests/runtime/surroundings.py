"""Surroundings for tests."""

from __future__ import annotations

import queue

from freshtide.core.events import Event
from freshtide.runtime.watching import SurroundingsWatch
from freshtide.scheduling import RetryPolicy
from freshtide.world import SystemClock, SystemThreads


def untroubled(events: queue.SimpleQueue[Event]) -> SurroundingsWatch:
    """A watch that has nothing to look at."""
    return SurroundingsWatch(
        [],
        events=events,
        tell=lambda _trouble, _told: None,
        backoff=RetryPolicy(),
        clock=SystemClock().now,
        threads=SystemThreads(),
    )
