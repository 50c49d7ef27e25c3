"""How long a table waits for its turn at most under the ordering `target-lag`, with any track for any update.

A table that has waited for t seconds counts for what it would lose in t seconds at least, which grows without end. One
that has had its turn begins anew: it counts for its target, for what it may be owed, and for the time since then, at
most. So each other table goes before it once for having waited longer; any number of times while even one that has
just had its turn counts for more; and from then on only after pauses that grow with t. All that keeps the tracks busy
for a bounded time.

This holds at any load: what a table waits for is the number of the others, their updates and their priorities. It
rests on what the scheduler takes updates to cost, and on what they take at most; on the table being able to be updated
all the while; and on surroundings that are well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from freshtide.core.objective import (
    RENEWED_AT_ONCE,
    avoided,
    most_avoided,
    most_credited,
    renewed_at,
    waited_at_least,
)

# Beyond so many seconds nobody cares how long it is.
_FOR_EVER: Final = 1e9
# Steps towards a number that is approached from the safe side.
_HALVINGS: Final = 40
_STEPS: Final = 4
# So many turns are counted one by one; of more, those of a share of the time that has passed at once.
_COUNTED: Final = 100
_AHEAD: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A table that competes for the tracks."""

    priority: float
    target: float
    least_cost: float
    """What the scheduler takes its update to cost at least."""
    most_cost: float
    """... and at most."""
    execution: float
    """What an update takes at most."""
    owed: float = 0.0
    """Seconds of waiting that a turn of it may leave to be made up for, at most."""
    piece: float = math.inf
    """How much data an update takes of what is pending: more is as much work as so many of them."""


def longest_wait(table: Contender, others: Sequence[Contender], tracks: int) -> float:
    """Seconds from when there is something to update, or from the end of the last update, to the start of the next.

    Infinite where nothing is promised: updates that cost nothing could always go first.
    """
    if len(others) < tracks:
        return 0.0
    if any(other.least_cost <= 0.0 for other in others):
        return math.inf
    longest = max(other.execution for other in others)
    # Of many tables not all ranks are renewed in the decision after they are due.
    late = (math.ceil((len(others) + 1) / RENEWED_AT_ONCE) - 1) * longest
    waiting = _Waiting(table, late)
    strongest = max(other.priority * most_avoided(other.owed, other.target) / other.least_cost for other in others)
    unequalled = waiting.counts_for_more_from(strongest)
    rivals = Counter(others)
    # What runs at that moment keeps the tracks, and then each other table has so many turns before this one.
    until = unequalled + longest
    while until <= _FOR_EVER:
        work = sum(number * _work(rival, waiting, unequalled, until) for rival, number in rivals.items())
        end = unequalled + longest + work / tracks
        if end <= until:
            return end
        until = end
    return math.inf


class _Waiting:
    """The table that waits, and what it counts for."""

    def __init__(self, table: Contender, late: float) -> None:
        self._table = table
        self._late = late
        """How long after it is due a rank may be renewed."""

    def counts(self, waited: float) -> float:
        """What it is ranked by at least."""
        table = self._table
        known = renewed_at(max(0.0, waited - self._late), table.target)
        pieces = max(1.0, most_credited(waited + table.owed, table.target) / table.piece)
        return table.priority * avoided(known, known, table.target) / (table.most_cost * pieces)

    def counts_for_more_from(self, strength: float) -> float:
        low, high = 0.0, 1.0
        while self.counts(high) <= strength:
            low, high = high, 2.0 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if self.counts(middle) > strength else (middle, high)
        return high


def _work(rival: Contender, waiting: _Waiting, since: float, until: float) -> float:
    """Seconds for which another table can keep tracks busy in that time: with updates that are as long as they get."""
    turns, last = 0, since
    while last <= until:
        turns += 1
        pause = _next_turn(rival, waiting, last) - last
        last += pause
        if turns > _COUNTED:
            # The pauses grow: for some time they are as long as now at least.
            ahead = min(_AHEAD * last, until + pause - last)
            turns += max(0, math.ceil(ahead / pause))
            last += max(0.0, ahead)
    return turns * rival.execution


def _next_turn(rival: Contender, waiting: _Waiting, last: float) -> float:
    """When it has waited long enough since its last turn, at the earliest; the one that waits grows meanwhile."""
    moment = last + rival.execution
    for _ in range(_STEPS):
        needed = waiting.counts(moment) * rival.least_cost / rival.priority
        moment = last + rival.execution + max(0.0, waited_at_least(needed, rival.target) - rival.owed)
    return moment
