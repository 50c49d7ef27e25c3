"""Chopping by time: an update takes no longer than the tables beside it can wait."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from freshtide.core.pieces import LONGEST_PIECE
from freshtide.scheduling.conditions import TableStatus
from freshtide.scheduling.fixedcosts import KnownFixedCosts
from freshtide.scheduling.known import KnownTable

# An update may take so much of what the tightest target leaves: what comes just after its start waits for all of it,
# and perhaps for another one.
_AFFORDED: Final = 1.0 / 3.0
# A target that leaves nothing, or less than nothing, counts as if it left this share: it cannot be kept by cutting.
_LEAST_SLACK: Final = 0.125
# A piece takes so many times the fixed cost of an update at least, so that cutting costs an eighth at most ...
_FIXED_COSTS: Final = 8.0
# ... or up to so many times as many, where that eighth is what keeps tables from keeping up.
_MORE: Final = 4.0
# Of what the data itself leaves of the tracks, fixed costs may take this share.
_FOR_FIXED: Final = 0.5
# Where the data alone asks for so much more than the tracks have, nothing is gained by saving fixed costs.
_HOPELESS: Final = 0.1
# Beyond so many fixed costs longer pieces save next to nothing, and others wait for them.
_LONG: Final = 64.0
# So many periods are loaded at once unless that takes too long; more only step by step.
_FREELY: Final = 8.0


@dataclass(slots=True)
class _Load:
    """Shares of a track that are asked for, by pieces that are as short as may be."""

    fixed: float = 0.0
    data: float = 0.0

    def add(self, more: _Load, less: _Load) -> None:
        self.fixed += more.fixed - less.fixed
        self.data += more.data - less.data


class Slack:
    """How much freshness one update of each table may gain, from the target lags of the others."""

    def __init__(self, tables: Sequence[KnownTable], tracks: int) -> None:
        self._tables = tables
        self._tracks = tracks
        self._pieces = [0.0] * len(tables)
        """By place: what the longest update is expected to take."""
        self.work = 0.0
        """That of all tables together."""
        self._loads = [_Load() for _ in tables]
        """By place: what each asks of the tracks."""
        self._load = _Load()
        """That of all tables together."""
        self._known = KnownFixedCosts(len(tables))
        self.share_out()

    def share_out(self) -> None:
        """Tables take part or do so no longer, or costs or targets have moved."""
        taking_part = [table for table in self._tables if table.condition.status is TableStatus.ACTIVE]
        tightest = sorted((slack_of(table), table.place) for table in taking_part)[:2]
        self._tightest = [*tightest, (math.inf, -1), (math.inf, -1)]
        self._pieces = [0.0] * len(self._tables)
        self.work = 0.0
        self._loads = [_Load() for _ in self._tables]
        self._load = _Load()
        self._known = KnownFixedCosts(len(self._tables))
        for table in self._tables:
            self._weigh(table)
        for table in self._tables:
            self.limit(table)

    def afforded(self, table: KnownTable) -> float:
        """Seconds that an update of the table may take, for all that the others can wait."""
        (slack, place), (second, _), *_ = self._tightest
        return _AFFORDED * (second if place == table.place else slack)

    def limit(self, table: KnownTable) -> None:
        """The table's costs may have moved: how long one update may take, and what it may gain, follows from them."""
        seconds = self.afforded(table)
        self._weigh(table)
        if not table.spec.computes_whole:
            self._cut(table, seconds)
        if table.condition.status is TableStatus.ACTIVE and not math.isinf(seconds):
            self._count(table)

    def _cut(self, table: KnownTable, seconds: float) -> None:
        is_limited = not math.isinf(seconds)
        cost = table.estimate.steps
        fixed = min(cost.certainly_fixed, self._known.of(table.estimate))
        if is_limited:
            seconds = min(seconds, max(_LONG * fixed, LONGEST_PIECE))
        within = max(seconds, _FIXED_COSTS * fixed, min(self._fixed_costs * fixed, seconds / _AFFORDED))
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

    @property
    def _fixed_costs(self) -> float:
        """How many of its fixed costs a piece takes at least: more of them where tables do not keep up else."""
        left = self._tracks - self._load.data
        if left <= 0.0:
            # Nobody keeps up whatever is saved: the longer pieces are, the longer everybody waits.
            needed = _MORE + (_MORE - 1.0) * left / (_HOPELESS * self._tracks)
        else:
            needed = self._load.fixed / (_FOR_FIXED * left)
        return _FIXED_COSTS * max(1.0, min(needed, _MORE))

    def _weigh(self, table: KnownTable) -> None:
        """What the table asks of the tracks if its pieces are as short as may be, and what it tells of fixed costs."""
        spec, seconds = table.spec, self.afforded(table)
        is_cut = table.condition.status is TableStatus.ACTIVE and not (spec.computes_whole or spec.update_stream)
        self._known.note(table.place, table.estimate if is_cut else None)
        load = _Load()
        if is_cut and not (math.isinf(seconds) or table.estimate.is_guess):
            period, fixed = table.candidate.period, self._known.of(table.estimate)
            data = table.estimate.steps.data_within(max(seconds, _FIXED_COSTS * fixed), freely=period)
            if not math.isinf(data):
                # Files come whole.
                stride = period * max(1.0, math.floor(data / period))
                load = _Load(fixed / stride, max(0.0, table.estimate.of(stride) - fixed) / stride)
        before, self._loads[table.place] = self._loads[table.place], load
        self._load.add(load, before)

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
