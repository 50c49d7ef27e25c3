"""What GROUPANDRUN promises for quasiperiodic tables (Bateni et al. 2009, sections 4 and 5).

A table is B-quasiperiodic if all its updates have lengths between B/2 and B. Tables form groups, each with its own B
and tracks of its own, in which MYOPIC runs. `alpha` is such that no table takes longer than alpha * L to load L seconds
of data. No two updates are released at just the same moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from freshtide.guarantees.reservations import Breach

STRETCH = 3.0
"""The stretch stays below it (theorem 4.3)."""
WEIGHTED_FACTOR = 9.0
"""Weighted staleness is at most so many times the least possible (theorem 5.1; see `weighted_staleness_bound`)."""
_LARGEST_ALPHA = 1.0 / 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Tables of similar periods and the tracks they have to themselves."""

    tables: int
    """t'."""
    tracks: int
    """p'."""
    longest: float
    """B: no update is longer."""
    shortest: float
    """No update is shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedLoad:
    """What the theorems go by."""

    alpha: float
    """Seconds to load a second of data, of the slowest table."""
    tracks: int
    """p."""
    tables: int
    """t."""
    groups: int
    """g."""


def waiting_breaches(group: Group, *, alpha: float) -> list[Breach]:
    """What lemma 4.2 asks of a group and does not find."""
    found = _not_quasiperiodic(group) + _too_slow(alpha)
    largest = group.tracks / (8.0 * group.tables)
    if alpha > largest:
        needed = math.ceil(8.0 * alpha * group.tables)
        found.append(
            Breach(
                table=None,
                reason=(
                    f"with {group.tables} tables on the {group.tracks} tracks of the group alpha must be at most "
                    f"p'/(8t') = {largest:.3g}, and is {alpha:.3g}"
                ),
                way_out=f"{needed} tracks for the group would do, or an alpha of {largest:.3g}.",
                tracks_needed=needed,
            )
        )
    return found


def waiting_bound(group: Group) -> float:
    """How long an update waits at most from its release to its start, and all tracks are busy at a stretch (lemma 4.2).

    The proof uses no more of quasiperiodicity than that no update is longer than B.
    """
    return group.longest / 6.0


def grouped_breaches(load: GroupedLoad) -> list[Breach]:
    """What theorems 4.3 and 5.1 ask besides quasiperiodic groups, and do not find."""
    found = _too_slow(load.alpha)
    # alpha <= (p - g) / (8t) and p >= 2g, solved for p.
    needed = max(2 * load.groups, math.ceil(8.0 * load.alpha * load.tables) + load.groups)
    if load.tracks < 2 * load.groups:
        found.append(
            Breach(
                table=None,
                reason=f"{load.groups} groups need twice as many tracks, and there are {load.tracks}",
                way_out=f"{needed} tracks would do.",
                tracks_needed=needed,
            )
        )
    largest = max(0.0, (load.tracks - load.groups) / (8.0 * load.tables))
    if load.alpha > largest:
        found.append(
            Breach(
                table=None,
                reason=(
                    f"with {load.tables} tables in {load.groups} groups on {load.tracks} tracks alpha must be at most "
                    f"(p - g)/(8t) = {largest:.3g}, and is {load.alpha:.3g}"
                ),
                way_out=f"{needed} tracks would do, or an alpha of {largest:.3g}.",
                tracks_needed=needed,
            )
        )
    return found


def stretch_bound(group: Group, *, alpha: float) -> float:
    """The largest stretch of a group without breaches; below 3 if it is quasiperiodic (theorem 4.3).

    An update is at most B long and waits B/6 at most, so that a batch is no longer than 7B/6 and takes alpha times as
    long. Through the shortest length, B/2, this is (7/3)(1 + alpha), at most 2.625 for an alpha of 1/8. In a group of
    different periods lengths may differ by a factor of 4; updates wait no longer there, and twice as large a stretch is
    possible.
    """
    return staleness_bound(group, alpha=alpha) / group.shortest


def staleness_bound(group: Group, *, alpha: float) -> float:
    """How stale a table of the group ever is, as long as updates keep coming: (7/6)(1 + alpha) B.

    While nothing is pending, the table has all that was released. It is as stale as the last release is old, and the
    next is due within B: at most B. Otherwise consider the batch that is to come next, pending or running. The table is
    current up to the start of the interval of the batch's first update. So it is stalest when the batch ends, and then
    its staleness is the flow time of that first update:

        its length, at most B
        + its wait, at most B/6 (lemma 4.2)
        + the time to load the batch, at most alpha times its length. All of the batch was released by the time
          it started, and its first interval began B + B/6 before that at most: so it is at most 7B/6 long.

    These add up to (7/6)(1 + alpha) B. The interval that a table waits for is in it: nothing is to be added for it.
    """
    return (7.0 / 6.0) * (1.0 + alpha) * group.longest


def weighted_staleness_bound(weighted_squares: float) -> float:
    """The total weighted staleness, from the sum of w a^2 over all updates of length a (theorem 5.1).

    The staleness charged for a batch is at most half the squared flow time of its first update, which is less than 3a:
    4.5 times the sum. The paper sets this against the sum itself. But the least possible is half of it (section 2.2),
    to which the bound has a ratio of 9.
    """
    return STRETCH**2 / 2.0 * weighted_squares


def least_weighted_staleness(weighted_squares: float) -> float:
    """What no schedule can go below (section 2.2), from the same sum."""
    return weighted_squares / 2.0


def _too_slow(alpha: float) -> list[Breach]:
    if alpha <= _LARGEST_ALPHA:
        return []
    return [
        Breach(
            table=None,
            reason=f"alpha must be at most 1/8, and is {alpha:.3g}",
            way_out="Updates must be faster: no number of tracks makes up for it.",
        )
    ]


def _not_quasiperiodic(group: Group) -> list[Breach]:
    if 2.0 * group.shortest >= group.longest:
        return []
    return [
        Breach(
            table=None,
            reason=(
                f"the lengths of updates lie between {group.shortest:.3g}s and {group.longest:.3g}s, "
                "and the longest may be twice the shortest at most"
            ),
            way_out="Put tables of different periods into different groups.",
        )
    ]
