"""Queues that keep tuples until they are served, all behind the interface `TupleQueue`."""

from freshtide.latest.queues.append import AppendQueue
from freshtide.latest.queues.shedding import SheddingQueue
from freshtide.latest.queues.update import LatestQueue

__all__ = ["AppendQueue", "LatestQueue", "SheddingQueue"]
