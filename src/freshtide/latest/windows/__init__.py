"""Windows of keys under update semantics: an update is a window as a whole (Moga et al. 2009, sections 6 and 7.2).

`arithmetic` says where windows lie and when they are complete, `marks` what the queue tells the aggregate about them.
The queue puts together the `states` of keys, `buffers` over `blocks` of memory, and one of the semantics, `lazy` or
`eager`. `append` and `shedding` are what the paper compares with.

Results are not computed here: aggregates are in `freshtide.latest.operators`, or run on Spark.
"""

from freshtide.latest.windows.append import AppendWindowQueue
from freshtide.latest.windows.arithmetic import Window, WindowError, WindowGrid
from freshtide.latest.windows.buffers import KeyStanding
from freshtide.latest.windows.marks import CommittedWindow, Mark, MarkedTuple
from freshtide.latest.windows.queue import SEMANTICS, WindowCounts, WindowQueue
from freshtide.latest.windows.shedding import WindowSheddingQueue
from freshtide.latest.windows.staleness import WindowStaleness
from freshtide.latest.windows.states import KeyState

__all__ = [
    "SEMANTICS",
    "AppendWindowQueue",
    "CommittedWindow",
    "KeyStanding",
    "KeyState",
    "Mark",
    "MarkedTuple",
    "Window",
    "WindowCounts",
    "WindowError",
    "WindowGrid",
    "WindowQueue",
    "WindowSheddingQueue",
    "WindowStaleness",
]
