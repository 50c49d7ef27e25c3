"""What the scheduler knows of a table: what is pending, how it stands, and the candidate that follows from both."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from freshtide.scheduling.allocations.partition import Lane
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.conditions import Condition, TableStatus
from freshtide.scheduling.estimates import Estimate, KnownCosts
from freshtide.scheduling.pending import Pending
from freshtide.scheduling.ready import ReadyQueue
from freshtide.scheduling.scheduled import ASSUMED_PERIOD, ScheduledTable

# Time stamps are sums: one that is just so many periods away must not fall out by its last digit.
_ROUNDING: Final = 1.0 + 1e-9
# Compiled, what a module imports is looked up with each call, unless it is a constant of its own.
_bisect: Final = bisect_right


@dataclass(slots=True, kw_only=True)
class KnownTable:
    """A table among its sources and dependents, with the three things about it that change."""

    name: str
    place: int
    """Where it stands in the declaration."""
    spec: ScheduledTable
    stride: float
    """How much freshness one update may gain: the limit of chopping."""
    estimate: Estimate
    pending: Pending
    condition: Condition
    candidate: Candidate
    """The update that could start next. It means something while it waits."""
    sources: list[KnownTable] = field(default_factory=list)
    dependents: list[KnownTable] = field(default_factory=list)
    plain: bool = False
    """Whether nothing has ever happened to it but that data arrived and was loaded, and nothing hangs on that.

    So there are no sources, dependents, costs to learn, reservations, failures, rebuilds or pauses to think of. It
    saves time and changes nothing: whatever makes a table less than plain may leave it so for ever."""
    lane: Lane = field(init=False)
    queue: ReadyQueue = field(init=False)
    """That of its lane. Both are the dispatcher's to say."""

    @property
    def is_behind(self) -> bool:
        """Whether there is anything to update: data to load, or something loaded before to compute anew."""
        pending = self.pending
        return bool(pending.stamps) or (pending.is_wanted_anew and self.condition.freshness is not None)

    def propose(self, now: float) -> bool:
        """Bring the candidate up to date; False if there is nothing to update."""
        pending, candidate = self.pending, self.candidate
        if not self.plain:
            if candidate.update_stream:
                return self._propose_newest(now)
            if pending.is_wanted_anew:
                return self._propose_again()
        stamps = pending.stamps
        if not stamps:
            return False
        goal, freshness = stamps[-1], self.condition.freshness
        if freshness is not None and goal > freshness + self.stride and not self.condition.first_load:
            goal = self._chopped(freshness)
        self.aim_at(goal)
        candidate.released_at = pending.since[0]
        if goal < stamps[-1] and self.estimate.learns:
            if pending.left_over is None:
                pending.left_over = len(stamps)
            candidate.cost = self.estimate.doubted(candidate.cost, missed=len(stamps) - pending.left_over)
        return True

    def aim_at(self, goal: float) -> None:
        """Let the update go up to there, with what that gains and costs."""
        candidate, freshness = self.candidate, self.condition.freshness
        if freshness is None:
            # Nothing is loaded yet, so the first data stands for one period, like any other.
            delta = goal - self.pending.stamps[0] + candidate.period
        else:
            delta = goal - freshness if goal > freshness else 0.0
        candidate.upto, candidate.delta = goal, delta
        candidate.cost = self.estimate.of(delta)

    def _propose_newest(self, now: float) -> bool:
        """Staleness is how long the oldest pending update has waited, whatever its time stamp (Moga et al. 2009, 3.3).

        A view of update streams may gain time stamps as well, from other sources.
        """
        pending, candidate = self.pending, self.candidate
        gained = 0.0
        if pending.is_wanted_anew:
            if not self._propose_again():
                return False
            gained = candidate.delta
        elif not pending.stamps:
            return False
        else:
            goal, freshness = pending.stamps[-1], self.condition.freshness
            # What is left of an earlier update may be stamped before what that one has loaded.
            candidate.upto = goal if freshness is None else max(goal, freshness)
            candidate.released_at = min(pending.since)
            if self.sources and freshness is not None:
                gained = goal - freshness
        candidate.delta = max(gained, now - candidate.released_at, 0.0)
        candidate.cost = self.estimate.of(candidate.delta)
        return True

    def _chopped(self, freshness: float) -> float:
        """The largest pending time stamp within the stride, and at least the first (Golab et al. 2011, section 3.4)."""
        stamps = self.pending.stamps
        within = _bisect(stamps, freshness + self.stride * _ROUNDING)
        return stamps[max(0, within - 1)]

    def _propose_again(self) -> bool:
        """Something loaded before is to be computed anew."""
        pending, candidate, freshness = self.pending, self.candidate, self.condition.freshness
        goal, newest = freshness, pending.stamps[-1] if pending.stamps else None
        if newest is not None and freshness is not None and not self.condition.first_load:
            newest = self._chopped(freshness)
        keeps_its_place = pending.rebuild_wanted and not self.sources and goal is not None
        if newest is not None and not keeps_its_place:
            goal = newest
        if goal is None:
            return False
        start = freshness
        if start is None:
            start = (pending.stamps[0] if pending.stamps else goal) - candidate.period
        delta = max(0.0, goal - start)
        if pending.rebuild_wanted:
            # It gains no freshness by itself, but what waits behind it does, and it must not wait for ever.
            delta = max(delta, candidate.period, (goal if newest is None else newest) - start)
        candidate.upto, candidate.delta = goal, delta
        candidate.released_at = min(pending.wanted_since, pending.since[0]) if pending.since else pending.wanted_since
        candidate.cost = self.estimate.of(delta)
        return True

    def change(self, status: TableStatus, retry_at: float | None) -> None:
        """The table takes part or does not, from now on or from a moment on."""
        self.condition.change(status, retry_at)
        self.plain = False

    def want_rebuild(self, now: float) -> None:
        self.pending.rebuild_wanted, self.pending.wanted_since = True, now
        self.plain = False

    def disturb(self) -> None:
        """The surroundings fail while the update runs."""
        self.condition.disturbed, self.plain = True, False

    def started(self) -> None:
        """The update takes what is pending up to its goal, and what is wanted anew."""
        pending = self.pending
        if not self.plain:
            pending.take_wanted()
            if not pending.stamps or (pending.rebuild_taken and not self.sources):
                # A base table is computed anew from the files that it has.
                return
        pending.take(self.candidate.upto)

    def succeeded(self) -> None:
        """The update has been committed, and nothing is left of what was wrong before."""
        pending, condition = self.pending, self.condition
        condition.failures = 0
        pending.left_over = len(pending.stamps) - pending.taken
        if pending.left_over == 0:
            condition.first_load = False
        pending.rebuild_taken = pending.revision_taken = condition.disturbed = False

    def failed(self, *, counts: bool = True) -> None:
        """What the update had taken is pending again; whether that counts as a try."""
        if counts:
            self.condition.failures += 1
        self.plain = self.condition.disturbed = False
        self.pending.put_back()


def known_table(
    table: ScheduledTable, place: int, *, priority: float, chopping: float | None, costs: KnownCosts
) -> KnownTable:
    """What is known of a table at the start."""
    period = table.period or ASSUMED_PERIOD
    status = TableStatus.FAILED if table.failed else TableStatus.PAUSED if table.paused else TableStatus.ACTIVE
    return KnownTable(
        name=table.name,
        place=place,
        spec=table,
        stride=math.inf if chopping is None or table.period is None or table.update_stream else chopping * table.period,
        estimate=Estimate(table.cost, period, costs),
        pending=Pending(revision_wanted=table.revised_sources),
        condition=Condition(
            freshness=table.freshness,
            safe=table.safe,
            first_load=table.freshness is None,
            status=status,
            able=status is TableStatus.ACTIVE,
        ),
        candidate=Candidate(
            table=table.name, place=place, priority=priority, period=period, update_stream=table.update_stream
        ),
    )
