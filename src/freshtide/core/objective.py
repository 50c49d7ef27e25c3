"""The objective: what staleness costs, measured against target lags.

A table whose staleness is r times its target lag loses r + 16 * max(0, r - 1/2)^2 for each second that it stays so,
times its priority. Below half of its target staleness counts for what it is. From there on it counts the more the
nearer the target comes, five times as much as it is at the target, and beyond it without end: no table is given up
for the sake of the others. All of it is relative to the target: a table that may be an hour stale, and is, does not
outweigh one that may be ten seconds stale, and is a minute.
"""

from __future__ import annotations

import math
from typing import Final

# How much the square of what is beyond half of the target counts.
_URGENCY: Final = 16.0
# Who comes up to date by its next update counts for so many targets at most, however stale it is.
_BELIEVED: Final = 1.0
# Who does not, because that is cut, competes like a table whose target is not at risk: it is broken for a while anyway.
_BELIEVED_IF_CUT: Final = 0.5
# An update that makes a table of at least half a target's staleness quite fresh avoids 2/3 * 16 * x^3 / T^2, less
# 7.5 * x^2 / T, and two thirds of T more: never more than the first part.
_STEEPEST: Final = 2.0 / 3.0 * _URGENCY
# A rank holds until what it is made of has grown by this share, and at least for so many seconds.
_GROWTH: Final = 0.1
_LEAST: Final = 0.05
RENEWED_AT_ONCE: Final = 32
"""How many ranks one decision renews at most, those that have been due for longest first: it stays short."""


def loss(staleness: float, target: float) -> float:
    """What a table of priority 1 loses per second while it is so stale."""
    over = staleness - target / 2.0
    return (staleness + (_URGENCY * over * over / target if over > 0.0 else 0.0)) / target


def avoided(staleness: float, gained: float, target: float) -> float:
    """The loss that an update avoids which makes a table fresher by g: g * L(x) less the integral of L from x - g to x.

    Per second of work that is the index of Whittle (1988) for tables that all grow stale at the same pace, of which
    some are served at a time: to serve the largest is optimal for each alone at the same price of work, and close to it
    for all together.
    """
    saved = gained * gained / 2.0
    over = staleness - target / 2.0
    if over > 0.0:
        # Written so that nothing is subtracted from what is nearly as large.
        if gained < over:
            saved += _URGENCY / target * gained * gained * (over - gained / 3.0)
        else:
            saved += _URGENCY / target * over * over * (gained - over / 3.0)
    return saved / target


def credited(staleness: float, waited: float, target: float, *, is_cut: bool) -> float:
    """The staleness that a table is ranked by: at most its target, and how long it has waited for its turn.

    Who has a backlog of a year would otherwise keep all others waiting until it has caught up. And who has waited
    counts at least for that, whatever its time stamps say.
    """
    believed = (_BELIEVED_IF_CUT if is_cut else _BELIEVED) * target + waited
    return max(waited, min(staleness, believed))


def most_credited(waited: float, target: float) -> float:
    """The staleness that a table which has waited so long is ranked by at most, however stale it is."""
    return _BELIEVED * target + waited


def most_avoided(waited: float, target: float) -> float:
    """What an update avoids at most of a table that has waited so long, however stale it is."""
    credit = most_credited(waited, target)
    return _STEEPEST * credit * credit * credit / (target * target)


def waited_at_least(saved: float, target: float) -> float:
    """How long a table must have waited at least whose update avoids so much, however stale it is."""
    credit = math.cbrt(saved * target * target / _STEEPEST)
    return max(0.0, credit - _BELIEVED * target)


def rank_holds(credit: float) -> float:
    """For how long a rank holds while its table grows staler, in seconds."""
    return max(_GROWTH * credit, _LEAST)


def renewed_at(waited: float, target: float) -> float:
    """How long a table that waits had waited when its rank was last due to be renewed, at least."""
    return max(0.0, (waited - _GROWTH * _BELIEVED * target - _LEAST) / (1.0 + _GROWTH))
