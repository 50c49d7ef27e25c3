from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from freshtide.scheduling.allocations.partition import Lane, Load, Partition, mask


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalAllocation:
    """Any update may run on any track (Golab et al. 2011, section 3.2)."""

    name: ClassVar[str] = "global"
    weighs_costs: ClassVar[bool] = False

    def partition(self, loads: Sequence[Load], tracks: int) -> Partition:
        lane = Lane(label="any track", own=mask(range(tracks)))
        return Partition(lanes=(lane,), lane_of={load.table: 0 for load in loads})
