"""Allocations: which track an update may run on (Golab et al. 2011, section 3.2). One file each."""

from freshtide.scheduling.allocations.all_tracks import GlobalAllocation
from freshtide.scheduling.allocations.edf_partitioned import EdfPartitioned
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
    "Lane",
    "Load",
    "Partition",
    "Proportional",
    "Shortage",
    "lowest",
    "mask",
    "tracks_of",
]
