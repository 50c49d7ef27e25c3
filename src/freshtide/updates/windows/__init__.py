"""Windows of keys under update semantics: an update is a window as a whole (Moga et al. 2009, sections 6 and 7.2).

`arithmetic` says where windows lie and when they are complete, `marks` what the queue tells the aggregate about them.
The queue puts together the `states` of keys, `buffers` over `blocks` of memory, and one of the semantics, `lazy` or
`eager`. `append` and `shedding` are what the paper compares with.
"""

from freshtide.updates.windows.append import AppendWindowQueue
from freshtide.updates.windows.arithmetic import Window, WindowError, WindowGrid
from freshtide.updates.windows.marks import CommittedWindow, Mark, MarkedTuple
from freshtide.updates.windows.queue import SEMANTICS, WindowCounts, WindowQueue
from freshtide.updates.windows.shedding import WindowSheddingQueue
from freshtide.updates.windows.staleness import WindowStaleness
from freshtide.updates.windows.standing import KeyStanding
from freshtide.updates.windows.states import KeyState

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
