"""Update streams: only the newest value of each key counts (Moga et al. 2009).

Tuples wait in queues behind one interface, on pages of one pool. Nothing here reads a clock or does I/O: moments and
random numbers are handed in.

The edges lie elsewhere: queries run in `spark/latest`, tables are merged in `storage`, single rows arrive through
`feeds`, and what users write is read in `project/tables`.
"""

from freshtide.latest.admission import Admission, Rejection, RejectKind
from freshtide.latest.batching import BatchSizes, best_batch
from freshtide.latest.manager import QueueStatistics, StorageManager
from freshtide.latest.memories import NaiveMemory, PagedMemory, TupleMemory
from freshtide.latest.pages import ColumnKind, MemoryLimitError, MemoryUse, PagePool, TupleLayout
from freshtide.latest.queues import AppendQueue, LatestQueue, SheddingQueue
from freshtide.latest.shapes import TupleShapeError
from freshtide.latest.staleness import LatestStaleness
from freshtide.latest.statistics import KeyGaps, TupleCost
from freshtide.latest.tuples import UNTAGGED, QueueCounts, StreamTuple, TupleQueue

__all__ = [
    "UNTAGGED",
    "Admission",
    "AppendQueue",
    "BatchSizes",
    "ColumnKind",
    "KeyGaps",
    "LatestQueue",
    "LatestStaleness",
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
    "TupleMemory",
    "TupleQueue",
    "TupleShapeError",
    "best_batch",
]
