"""Queues that keep tuples until they are served, all behind the interface `TupleQueue`."""

from freshtide.updates.queues.append import AppendQueue
from freshtide.updates.queues.shedding import SheddingQueue
from freshtide.updates.queues.update import UpdateQueue

__all__ = ["AppendQueue", "SheddingQueue", "UpdateQueue"]
