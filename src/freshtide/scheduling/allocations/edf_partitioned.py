from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from freshtide.scheduling.allocations.partition import Lane, Load, Partition, Shortage, mask

# Sums of utilisations carry rounding errors: what is meant to fit exactly must fit.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class EdfPartitioned:
    """Gives each table a home track such that EDF would meet all deadlines there (Golab et al. 2011, 3.2.1, 3.2.2).

    Tables are packed in the order of their periods, and a new track is begun when the next one does not fit. An update
    whose home track is busy may use a free track, or be promoted to a track that would keep its promises with the
    update as one more of its own.
    """

    aggressive: bool = False
    name: ClassVar[str] = "edf-partitioned"
    weighs_costs: ClassVar[bool] = True

    def partition(self, loads: Sequence[Load], tracks: int) -> Partition:
        homes = _packed(loads)
        shortage = _shortage(homes, tracks)
        if shortage is not None:
            homes = _squeezed(homes, tracks)
        free = mask(range(len(homes), tracks))
        lanes: dict[Lane, int] = {}
        lane_of = {}
        for track, home in enumerate(homes):
            for load in home.loads:
                promotable = mask(r for r, other in enumerate(homes) if r != track and other.fits(load))
                lane = Lane(label=f"home track {track}", own=1 << track, free=free, promotable=promotable)
                lane_of[load.table] = lanes.setdefault(lane, len(lanes))
        return Partition(lanes=tuple(lanes), lane_of=lane_of, aggressive=self.aggressive, shortage=shortage)


class _Home:
    """The tables of a track, and what its schedulability hangs on."""

    def __init__(self) -> None:
        self.loads: list[Load] = []
        self.utilisation = 0.0
        self._longest = 0.0
        self._shortest = math.inf

    def fits(self, load: Load) -> bool:
        """Whether EDF without preemption would meet all deadlines with the table as one more of the track's own."""
        longest, shortest = max(self._longest, load.execution), min(self._shortest, load.period)
        return self.utilisation + load.utilisation <= 1.0 - longest / shortest + _ROUNDING

    def add(self, load: Load) -> None:
        self.loads.append(load)
        self.utilisation += load.utilisation
        self._longest, self._shortest = max(self._longest, load.execution), min(self._shortest, load.period)


def _packed(loads: Sequence[Load]) -> list[_Home]:
    homes: list[_Home] = []
    for load in sorted(loads, key=lambda load: load.period):
        if not homes or not homes[-1].fits(load):
            homes.append(_Home())
        homes[-1].add(load)
    return homes


def _shortage(homes: Sequence[_Home], tracks: int) -> Shortage | None:
    for home in homes:
        load = home.loads[0]
        if not _Home().fits(load):
            reason = (
                f"'{load.table}' takes {load.execution:.3g}s of every {load.period:.3g}s, "
                "and a table may take half of its period at most"
            )
            return Shortage(reason=reason, tracks_needed=None)
    if len(homes) > tracks:
        reason = f"the tables need {len(homes)} tracks to meet all deadlines and there are {tracks}"
        return Shortage(reason=reason, tracks_needed=len(homes))
    return None


def _squeezed(homes: Sequence[_Home], tracks: int) -> list[_Home]:
    """The best that can be done with too few tracks: what does not fit goes where least is asked."""
    kept = list(homes[:tracks])
    for home in homes[tracks:]:
        for load in home.loads:
            min(kept, key=lambda other: other.utilisation).add(load)
    return kept
