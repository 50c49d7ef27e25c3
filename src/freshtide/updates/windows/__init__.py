"""Windows of keys under update semantics: an update is a window as a whole (Moga et al. 2009, sections 6 and 7.2).

`arithmetic` says where windows lie and when they are complete, `marks` what the queue tells the aggregate about them.
"""

from freshtide.updates.windows.arithmetic import Window, WindowError, WindowGrid
from freshtide.updates.windows.marks import CommittedWindow, Mark, MarkedTuple

__all__ = ["CommittedWindow", "Mark", "MarkedTuple", "Window", "WindowError", "WindowGrid"]
