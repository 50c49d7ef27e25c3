from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from freshtide.scheduling.allocations.partition import Lane, Load, Partition, mask

# Shares of tracks are sums of fractions: a border this close to a whole track is at it.
_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportional:
    """Gives clusters of similar tables shares of the tracks in proportion to their load (Golab et al. 2011, 3.2.3).

    The cluster of the longest updates begins at track 0. A cluster may share its first track with the next longer one,
    and its updates may be promoted to the tracks of longer ones, never the other way: short updates hardly delay long
    ones.
    """

    aggressive: bool = True
    tracks: Literal["all", "basic"] = "all"
    """Whether all tracks are shared out, or as few as hold the load, the others staying free."""
    k: float = 1.0
    """A table joins a cluster if it takes less than k times the shortest period there."""
    measure: Literal["execution", "period"] = "execution"
    """What is compared with that: the execution time, as the paper says, or the period, as its example does."""
    name: ClassVar[str] = "proportional"
    weighs_costs: ClassVar[bool] = True

    def partition(self, loads: Sequence[Load], tracks: int) -> Partition:
        clusters = self.clusters(loads)
        total = sum(load.utilisation for load in loads)
        given_out = tracks if self.tracks == "all" else min(tracks, math.ceil(round(total, _DIGITS)))
        free = mask(range(given_out, tracks))
        lanes, lane_of = [], {}
        low = 0.0
        for number, cluster in reversed(list(enumerate(clusters))):
            share = sum(load.utilisation for load in cluster) / total
            high = low + share * given_out
            lanes.append(_lane(f"cluster {number + 1} of {len(clusters)}", low, high, free))
            lane_of.update({load.table: len(lanes) - 1 for load in cluster})
            low = high
        return Partition(lanes=tuple(lanes), lane_of=lane_of, aggressive=self.aggressive)

    def clusters(self, loads: Sequence[Load]) -> list[list[Load]]:
        """Similar tables together, those with the shortest updates first."""
        clusters: list[list[Load]] = []
        shortest = 0.0
        for load in sorted(loads, key=self._measured):
            if not clusters or self._measured(load) >= self.k * shortest:
                clusters.append([])
                shortest = load.period
            clusters[-1].append(load)
            shortest = min(shortest, load.period)
        return clusters

    def _measured(self, load: Load) -> float:
        return load.execution if self.measure == "execution" else load.period


def _lane(label: str, low: float, high: float, free: int) -> Lane:
    low, high = round(low, _DIGITS), round(high, _DIGITS)
    first = math.floor(low)
    return Lane(
        label=label,
        own=mask(range(first + 1, math.ceil(high))),
        shared=1 << first,
        free=free,
        promotable=mask(range(first)),
    )
