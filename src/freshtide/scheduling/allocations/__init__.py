"""Allocations: which track an update may run on (Golab et al. 2011, section 3.2; Bateni et al. 2009, section 4).

One file each. An allocation divides the tracks among tables, from their periods and loads. Which update goes first is
an ordering's affair, and which tracks are free the scheduler's.
"""

from freshtide.scheduling.allocations.all_tracks import GlobalAllocation
from freshtide.scheduling.allocations.edf_partitioned import EdfPartitioned
from freshtide.scheduling.allocations.group_and_run import GroupAndRun
from freshtide.scheduling.allocations.partition import (
    Allocation,
    Lane,
    Load,
    Partition,
    Shortage,
    lowest,
    mask,
    tracks_of,
)
from freshtide.scheduling.allocations.proportional import Proportional

__all__ = [
    "Allocation",
    "EdfPartitioned",
    "GlobalAllocation",
    "GroupAndRun",
    "Lane",
    "Load",
    "Partition",
    "Proportional",
    "Shortage",
    "lowest",
    "mask",
    "tracks_of",
]
