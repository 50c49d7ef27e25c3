"""Update streams: only the newest value of each key counts (Moga et al. 2009).

Tuples wait in queues behind one interface, on pages of one pool. Nothing here reads a clock or does I/O: moments and
random numbers are handed in.
"""

from freshtide.updates.admission import Admission, Rejection, RejectKind
from freshtide.updates.batching import BatchSizes, best_batch
from freshtide.updates.manager import QueueStatistics, StorageManager
from freshtide.updates.pages import (
    ColumnKind,
    MemoryLimitError,
    MemoryUse,
    NaiveMemory,
    PagedMemory,
    PagePool,
    TupleLayout,
)
from freshtide.updates.queues import AppendQueue, SheddingQueue, UpdateQueue
from freshtide.updates.shapes import TupleShapeError
from freshtide.updates.staleness import UpdateStaleness
from freshtide.updates.statistics import KeyGaps, TupleCost
from freshtide.updates.tuples import UNTAGGED, QueueCounts, StreamTuple, TupleQueue

__all__ = [
    "UNTAGGED",
    "Admission",
    "AppendQueue",
    "BatchSizes",
    "ColumnKind",
    "KeyGaps",
    "MemoryLimitError",
    "MemoryUse",
    "NaiveMemory",
    "PagePool",
    "PagedMemory",
    "QueueCounts",
    "QueueStatistics",
    "RejectKind",
    "Rejection",
    "SheddingQueue",
    "StorageManager",
    "StreamTuple",
    "TupleCost",
    "TupleLayout",
    "TupleQueue",
    "TupleShapeError",
    "UpdateQueue",
    "UpdateStaleness",
    "best_batch",
]
