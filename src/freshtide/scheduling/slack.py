"""Chopping by time: an update takes no longer than the tables beside it can wait."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from freshtide.scheduling.conditions import TableStatus
from freshtide.scheduling.known import KnownTable

# An update may take so much of what the tightest target leaves: what comes just after its start waits for all of it,
# and perhaps for another one.
_AFFORDED: Final = 1.0 / 3.0
# A target that leaves nothing, or less than nothing, counts as if it left this share: it cannot be kept by cutting.
_LEAST_SLACK: Final = 0.125
# A piece takes so many times the fixed cost of an update at least, so that cutting costs an eighth at most.
_FIXED_COSTS: Final = 8.0
# So many periods are loaded at once unless that takes too long; more only step by step.
_FREELY: Final = 8.0


class Slack:
    """How much freshness one update of each table may gain, from the target lags of the others."""

    def __init__(self, tables: Sequence[KnownTable]) -> None:
        self._tables = tables
        self._pieces = [0.0] * len(tables)
        """By place: what the longest update is expected to take."""
        self.work = 0.0
        """That of all tables together."""
        self.share_out()

    def share_out(self) -> None:
        """Tables take part or do so no longer, or costs or targets have moved."""
        taking_part = [table for table in self._tables if table.condition.status is TableStatus.ACTIVE]
        tightest = sorted((slack_of(table), table.place) for table in taking_part)[:2]
        self._tightest = [*tightest, (math.inf, -1), (math.inf, -1)]
        self._pieces = [0.0] * len(self._tables)
        self.work = 0.0
        for table in self._tables:
            self.limit(table)

    def afforded(self, table: KnownTable) -> float:
        """Seconds that an update of the table may take, for all that the others can wait."""
        (slack, place), (second, _), *_ = self._tightest
        return _AFFORDED * (second if place == table.place else slack)

    def limit(self, table: KnownTable) -> None:
        """The table's costs may have moved: how long one update may take, and what it may gain, follows from them."""
        seconds = self.afforded(table)
        if not table.spec.computes_whole:
            self._cut(table, seconds)
        if table.condition.status is TableStatus.ACTIVE and not math.isinf(seconds):
            self._count(table)

    def _cut(self, table: KnownTable, seconds: float) -> None:
        is_limited = not math.isinf(seconds)
        cost = table.estimate.steps
        within = max(seconds, _FIXED_COSTS * cost.certainly_fixed)
        # What limits an update that cannot be cut by time stamps is for whoever carries it out. That takes ten seconds
        # at most, so it may as well believe that most of the cost is fixed where nobody can tell.
        table.within = max(within, _FIXED_COSTS * table.estimate.alpha) if is_limited else None
        if table.spec.update_stream:
            return
        if not is_limited:
            table.stride = seconds
            return
        period = table.candidate.period
        table.stride = max(period, cost.data_within(within, freely=_FREELY * period))

    def _count(self, table: KnownTable) -> None:
        """One more piece of each table takes so long."""
        stride, period = table.stride, table.candidate.period
        piece = table.estimate.of(period if math.isinf(stride) else stride)
        if table.within is not None:
            piece = max(min(piece, table.within), table.estimate.per_period)
        self.work += piece - self._pieces[table.place]
        self._pieces[table.place] = piece


def slack_of(table: KnownTable) -> float:
    """How long a table can wait within its target: it is a period stale by itself, and its update takes time."""
    candidate = table.candidate
    left = candidate.target - candidate.period - table.estimate.per_period
    return max(left, _LEAST_SLACK * candidate.target)
