"""What the scheduler knows of a table: what is pending, how it stands, and the candidate that follows from both."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from freshtide.core.objective import credited
from freshtide.core.pieces import LONGEST_PIECE
from freshtide.core.staleness import trailing_edge
from freshtide.scheduling.allocations.partition import Lane
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.conditions import NOT_RUNNING, Condition, TableStatus
from freshtide.scheduling.estimates import Estimate, KnownCosts
from freshtide.scheduling.pending import Pending
from freshtide.scheduling.ready import ReadyQueue
from freshtide.scheduling.scheduled import ASSUMED_PERIOD, SLACK, Chopping, ScheduledTable

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
    chops_backlogs: bool
    """Whether that holds for a first backlog, too."""
    ages: bool
    """Whether its ordering asks how stale it is, and how long it has waited."""
    reach: Callable[[str, float], float | None] | None
    """How far an update to a cut takes a view: all the way, unless buckets have to close."""
    estimate: Estimate
    pending: Pending
    condition: Condition
    candidate: Candidate
    """The update that could start next. It means something while it waits."""
    sources: list[KnownTable] = field(default_factory=list)
    timed_sources: list[KnownTable] = field(default_factory=list)
    """Those that it goes by."""
    references: list[KnownTable] = field(default_factory=list)
    """Those that it takes as they are."""
    dependents: list[KnownTable] = field(default_factory=list)
    plain: bool = False
    """Whether nothing has ever happened to it but that data arrived and was loaded, and nothing hangs on that.

    So there are no sources, dependents, costs to learn, reservations, failures, rebuilds or pauses to think of. It
    saves time and changes nothing: whatever makes a table less than plain may leave it so for ever."""
    within: float | None = None
    """Seconds that an update may take for all that the others can wait; None: nothing limits it."""
    lane: Lane = field(init=False)
    queue: ReadyQueue = field(init=False)
    """That of its lane. Both are the dispatcher's to say."""

    @property
    def edge(self) -> float | None:
        """Up to where the sources let a view go; None while one of them has no data at all.

        A view of nothing but reference tables goes with whatever changes.
        """
        newest: float | None = None
        for source in self.references:
            changed = source.condition.freshness
            if changed is None:
                return None
            newest = changed if newest is None else max(newest, changed)
        if self.timed_sources:
            return trailing_edge([source.condition.safe for source in self.timed_sources])
        return newest

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
            if pending.revision_wanted or (pending.rebuild_wanted and not pending.goes_between):
                return self._propose_again(now)
        stamps = pending.stamps
        if not stamps:
            return False
        goal, freshness = stamps[-1], self.condition.freshness
        if freshness is not None and goal > freshness + self.stride and self._is_chopped:
            goal = self._chopped(freshness)
        self.aim_at(goal)
        candidate.released_at = pending.since[0]
        if self.ages:
            guessed = self.estimate.guessed()
            candidate.cost = candidate.cost * self.estimate.leaning if guessed is None else guessed
            self._grow_old(now, candidate.delta + stamps[-1] - goal)
        elif goal < stamps[-1] and self.estimate.learns:
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
            if not self._propose_again(now):
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
        if self.ages:
            candidate.cost *= self.estimate.leaning
            self._weigh(now, candidate.delta, candidate.delta)
        return True

    def _grow_old(self, now: float, pending: float) -> None:
        """How stale the table is by now, of which so much is pending."""
        candidate, freshness = self.candidate, self.condition.freshness
        if freshness is None:
            freshness = self.pending.stamps[0] - candidate.period if self.pending.stamps else now
        self._weigh(now, now - freshness if now > freshness else 0.0, pending)

    def _weigh(self, now: float, age: float, pending: float) -> None:
        """What the candidate is ranked by: of all that is pending, however it is cut.

        A piece counts like the whole that it is a part of, which takes as many pieces as it takes. By itself it would
        gain little, and who is cut for the sake of the others would come last.
        """
        candidate, waited = self.candidate, self._waited(now)
        is_cut = pending > candidate.delta > 0.0
        candidate.age, candidate.waited = age, waited
        credit = candidate.credit = credited(age, waited, candidate.target, is_cut=is_cut)
        candidate.gain = min(credit, max(pending, waited))
        candidate.work = candidate.cost
        if is_cut and self.estimate.is_seasoned:
            whole, piece = min(candidate.gain, pending), max(self.stride, candidate.delta)
            of_a_piece = candidate.cost * self.estimate.of(piece) / self.estimate.of(candidate.delta)
            candidate.work = max(candidate.cost, of_a_piece * whole / piece)

    def _waited(self, now: float) -> float:
        served_at, released_at = self.condition.served_at, self.candidate.released_at
        since = served_at if served_at > released_at else released_at
        unpaid = self.condition.unpaid
        return now - since + unpaid if now > since else unpaid

    @property
    def _is_chopped(self) -> bool:
        return self.chops_backlogs or not self.condition.first_load

    def _chopped(self, freshness: float) -> float:
        """The largest pending time stamp within the stride (Golab et al. 2011, section 3.4).

        At least the first: of files. A view whose trailing edge has leapt can be cut anywhere, where buckets let it.
        """
        stamps = self.pending.stamps
        within = _bisect(stamps, freshness + self.stride * _ROUNDING)
        if within:
            return stamps[within - 1]
        return self._cut_before(stamps[0], freshness) if self.sources else stamps[0]

    def _cut_before(self, edge: float, freshness: float) -> float:
        stride = self.stride
        while freshness + stride < edge:
            cut = freshness + stride
            reached = cut if self.reach is None else self.reach(self.name, cut)
            if reached is not None and reached > freshness:
                return reached
            # A bucket that is longer than the stride is closed as a whole.
            stride *= 2.0
        return edge

    def _propose_again(self, now: float) -> bool:
        """Something loaded before is to be computed anew."""
        pending, candidate, freshness = self.pending, self.candidate, self.condition.freshness
        goal, newest = freshness, pending.stamps[-1] if pending.stamps else None
        if newest is not None and freshness is not None and self._is_chopped:
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
        if self.ages:
            candidate.cost *= self.estimate.leaning
        if pending.in_parts and self.within is not None:
            # A part takes as long as it may, whatever an ordinary update does.
            candidate.cost = max(candidate.cost, min(self.within, LONGEST_PIECE))
        if self.ages:
            self._grow_old(now, candidate.delta)
        return True

    def change(self, status: TableStatus, retry_at: float | None) -> None:
        """The table takes part or does not, from now on or from a moment on."""
        self.condition.change(status, retry_at)
        self.plain = False

    def redefine(self) -> None:
        """The table is to hold something else: it is as good as never computed, also if its update still runs."""
        condition, pending = self.condition, self.pending
        condition.freshness = condition.safe = None
        condition.first_load, condition.failures = True, 0
        condition.outdated = condition.track != NOT_RUNNING
        self.change(condition.status, None)
        pending.drop_untaken()

    def want_rebuild(self, now: float, *, wished: bool, before_loads: bool) -> None:
        self.pending.want_rebuild(now, wished=wished, before_loads=before_loads)
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

    def succeeded(
        self, freshness: float | None, safe: float | None, *, revised: bool, unfinished: bool = False
    ) -> None:
        """The update has been committed, or was one part of a rebuild; nothing is left of what was wrong before."""
        pending, condition = self.pending, self.condition
        # A part of a view that was defined anew does not bring back what it was before.
        is_nothing = condition.outdated or (unfinished and condition.freshness is None)
        condition.freshness, condition.safe, condition.revised = freshness, safe, revised
        if is_nothing:
            condition.freshness = condition.safe = None
        condition.failures = 0
        pending.left_over = len(pending.stamps) - pending.taken
        if pending.left_over == 0 and not is_nothing:
            condition.first_load = False
        rebuild, revision, dropped = pending.rebuild_taken, pending.revision_taken, pending.rebuild_dropped
        if rebuild:
            pending.end_rebuild(goes_on=unfinished and not dropped)
        if rebuild or not pending.rebuild_wanted:
            pending.in_parts = False
        pending.rebuild_taken = pending.revision_taken = condition.disturbed = condition.outdated = False
        if unfinished and (revision or not dropped):
            pending.go_on(rebuild=rebuild and not dropped, revision=revision)

    def failed(self, *, counts: bool = True) -> None:
        """What the update had taken is pending again; whether that counts as a try."""
        if counts:
            self.condition.failures += 1
        self.plain = self.condition.disturbed = self.condition.outdated = False
        self.pending.put_back()


def known_table(
    table: ScheduledTable,
    place: int,
    *,
    chopping: Chopping,
    ages: bool,
    costs: KnownCosts,
    reach: Callable[[str, float], float | None] | None,
) -> KnownTable:
    """What is known of a table at the start, but for what it inherits."""
    period = table.period or ASSUMED_PERIOD
    by_periods = None if isinstance(chopping, str) else chopping
    status = TableStatus.FAILED if table.failed else TableStatus.PAUSED if table.paused else TableStatus.ACTIVE
    return KnownTable(
        name=table.name,
        place=place,
        spec=table,
        stride=math.inf
        if by_periods is None or table.period is None or table.update_stream or table.computes_whole
        else by_periods * table.period,
        chops_backlogs=chopping == SLACK,
        ages=ages,
        reach=reach,
        estimate=Estimate(table.cost, period, costs, cautious=ages),
        pending=Pending(revision_wanted=table.revised_sources),
        condition=Condition(
            freshness=table.freshness,
            safe=table.safe,
            first_load=table.freshness is None,
            status=status,
            able=status is TableStatus.ACTIVE,
        ),
        candidate=Candidate(
            table=table.name, place=place, priority=table.priority, period=period, update_stream=table.update_stream
        ),
    )
