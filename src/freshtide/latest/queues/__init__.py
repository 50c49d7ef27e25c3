"""Queues that keep tuples until they are served, all behind the interface `TupleQueue`.

One keeps the newest tuple of each key, one keeps all, and one all but a random share. Which key is next is up to the
orders, and where a tuple lies in memory to the pages. Queues of whole windows are in `freshtide.latest.windows`.
"""

from freshtide.latest.queues.append import AppendQueue
from freshtide.latest.queues.shedding import SheddingQueue
from freshtide.latest.queues.update import LatestQueue

__all__ = ["AppendQueue", "LatestQueue", "SheddingQueue"]
