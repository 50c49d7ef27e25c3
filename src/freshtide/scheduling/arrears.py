"""Tables that are given less than comes: how much of their waiting a turn has not made up for."""

from __future__ import annotations

from typing import Final

from freshtide.scheduling.known import KnownTable
from freshtide.scheduling.slack import Slack

# What turns brought lately counts by so much less with each further one.
_MEMORY: Final = 0.97


class Arrears:
    """Pieces are cut by time, and what chance makes of costs makes some larger than others.

    If all tables that cannot catch up had as many turns, those with the larger pieces would be fresh and their equals
    fall behind for good. So a piece makes up for the waiting of as much time as it brings data for. Where nobody gets
    what comes, it makes up for more, by as much as all fall behind together: what is left is what a table is behind the
    others.
    """

    def __init__(self, slack: Slack | None, tracks: int) -> None:
        self._slack = slack
        self._tracks = tracks
        self._waited = 0.0
        self._brought = 0.0
        """Both over the last pieces of all tables, in seconds."""

    def settle(self, table: KnownTable, freshness: float | None, now: float) -> None:
        """The table's turn ends, having brought it as far as this."""
        condition, stamps = table.condition, table.pending.stamps
        before = condition.freshness
        if before is None or freshness is None or freshness <= before or not stamps or stamps[-1] <= freshness:
            # It has got all there was, or it was something else that it had to do.
            condition.unpaid = 0.0
            return
        released_at, served_at = table.candidate.released_at, condition.served_at
        waited, brought = now - (served_at if served_at > released_at else released_at), freshness - before
        self._waited = _MEMORY * self._waited + waited
        self._brought = _MEMORY * self._brought + brought
        behind = self._waited / self._brought
        unpaid = condition.unpaid + waited - (behind if behind > 1.0 else 1.0) * brought
        condition.unpaid = max(0.0, min(unpaid, self.most(table)))

    def most(self, table: KnownTable) -> float:
        """Seconds that a table can be owed: a target, and the time in which each table has a piece.

        There is an end to it, so that nobody is kept waiting by what others are owed.
        """
        return table.candidate.target + (0.0 if self._slack is None else self._slack.work / self._tracks)
