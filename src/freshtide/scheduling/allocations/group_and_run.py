from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from freshtide.scheduling.allocations.partition import Lane, Load, Partition, Shortage, mask

# Periods that are meant to be twice as long must not fall out by their last digit.
_WITHIN = 2.0 * (1.0 + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAndRun:
    """Gives groups of tables with similar periods tracks of their own, by their number (Bateni et al. 2009, section 4).

    The periods of a group lie within a factor of 2. Of p tracks and t tables, a group of n among g gets
    ceil((p - g) n / t). Groups do not interact: no update leaves the tracks of its group, and what is left over, up to
    g tracks, stays idle. With `myopic` inside this bounds the stretch (theorem 4.3), provided that p is at least 2g.
    """

    name: ClassVar[str] = "group-and-run"
    weighs_costs: ClassVar[bool] = False

    def partition(self, loads: Sequence[Load], tracks: int) -> Partition:
        groups = self.groups(loads)
        shortage = _shortage(groups, tracks)
        if shortage is not None:
            groups = _squeezed(groups, tracks)
        spare = tracks - len(groups)
        lanes, lane_of, first = [], {}, 0
        for number, group in enumerate(groups):
            # With as many tracks as groups nothing is left to share out, and each still needs one.
            width = max(1, -(-spare * len(group) // len(loads)))
            lanes.append(Lane(label=f"group {number + 1} of {len(groups)}", own=mask(range(first, first + width))))
            lane_of.update({load.table: number for load in group})
            first += width
        return Partition(lanes=tuple(lanes), lane_of=lane_of, shortage=shortage)

    def groups(self, loads: Sequence[Load]) -> list[list[Load]]:
        """As few groups as possible whose periods lie within a factor of 2, those with the shortest periods first."""
        groups: list[list[Load]] = []
        for load in sorted(loads, key=lambda load: load.period):
            # Some group must hold the shortest period that is left, and may as well hold all that go with it.
            if not groups or load.period > _WITHIN * groups[-1][0].period:
                groups.append([])
            groups[-1].append(load)
        return groups


def _shortage(groups: Sequence[Sequence[Load]], tracks: int) -> Shortage | None:
    needed = 2 * len(groups)
    if tracks >= needed:
        return None
    periods = ", ".join(_periods(group) for group in groups)
    one = len(groups) == 1
    reason = (
        f"the tables form {len(groups)} group{'' if one else 's'} of similar periods ({periods}), "
        f"which need{'s' if one else ''} two tracks{'' if one else ' each'}, and there {_are(tracks)}"
    )
    return Shortage(reason=reason, tracks_needed=needed)


def _periods(group: Sequence[Load]) -> str:
    shortest, longest = group[0].period, group[-1].period
    return f"{shortest:g}s" if shortest == longest else f"{shortest:g}s to {longest:g}s"


def _are(tracks: int) -> str:
    return "is 1" if tracks == 1 else f"are {tracks}"


def _squeezed(groups: Sequence[list[Load]], tracks: int) -> list[list[Load]]:
    """The best that can be done with fewer tracks than groups: neighbours whose periods differ least become one."""
    kept = list(groups)
    while len(kept) > tracks:
        at = min(range(len(kept) - 1), key=lambda at: kept[at + 1][-1].period / kept[at][0].period)
        kept[at : at + 2] = [kept[at] + kept[at + 1]]
    return kept
