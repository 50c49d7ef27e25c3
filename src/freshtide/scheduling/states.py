"""What the scheduler knows of a table, and how it changes."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from freshtide.core.costs import SHORTEST, Cost, CostModel
from freshtide.scheduling.candidates import Candidate
from freshtide.scheduling.doubts import KnownCosts
from freshtide.scheduling.ready import ReadyQueue

# A feed that declares no period is taken for one that delivers every minute: ordering and sharing out need a number.
ASSUMED_PERIOD = 60.0
NOT_RUNNING: Final = -1
# Time stamps are sums: one that is just so many periods away must not fall out by its last digit.
_ROUNDING: Final = 1.0 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledTable:
    """What the scheduler has to be told of a table, and the state it starts from."""

    name: str
    sources: tuple[str, ...] = ()
    priority: float = 1.0
    period: float | None = None
    """None: unknown; then updates are not chopped."""
    cost: Cost = field(default_factory=CostModel)
    freshness: float | None = None
    """None: nothing has ever been loaded."""
    safe: float | None = None
    paused: bool = False
    failed: bool = False
    update_stream: bool = False
    """Whether it is fed by an update stream: its staleness is then how long its oldest pending update has waited."""
    revised_sources: bool = False
    """Whether sources were revised after the table's last update."""
    phase: float = 0.0
    arrival_jitter: float = 0.0
    timestamp_jitter: float = 0.0
    """How regular the table's feed is (Leontyev et al. 2010, Definition 2); of views nothing is asked."""
    held_back: float = 0.0
    """How far what dependents may use stays behind the table's freshness."""
    expected_at: float | None = None
    """When data, or a movement of the sources, is expected next."""


class TableStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    FAILED = "failed"


@dataclass(slots=True, kw_only=True)
class TableState(Candidate):
    """The changing part of a table, and its candidate. Invariant: `taken` is 0 unless the table is running."""

    spec: ScheduledTable
    stride: float
    """How much freshness one update may gain: the limit of chopping."""
    freshness: float | None
    safe: float | None
    model: Cost
    learns: bool
    known_costs: KnownCosts
    """Of all tables together."""
    alpha: float
    beta: float
    status: TableStatus
    sources: list[TableState] = field(default_factory=list)
    dependents: list[TableState] = field(default_factory=list)
    pending: list[float] = field(default_factory=list)
    """Time stamps that no update has gone up to yet: of files, or for a view of its trailing edge.

    The first `taken` are those of the running update. Those and the others are ascending."""
    since: list[float] = field(default_factory=list)
    """When each of them came up; never descending but for that, so that the first is the oldest."""
    taken: int = 0
    left_over: int | None = None
    """How many were pending when an update last ended, or when a piece of a first backlog was proposed."""
    first_load: bool
    """Whether nothing was ever loaded at the start, and the table has not caught up since: a backlog is not chopped."""
    track: int = NOT_RUNNING
    running_rebuild: bool = False
    running_revision: bool = False
    disturbed: bool = False
    """Whether the surroundings failed while the update ran."""
    failures: int = 0
    retry_at: float | None = None
    plain: bool = False
    """Whether nothing has ever happened to it but that data arrived and was loaded, and nothing hangs on that.

    So there are no sources, dependents, costs to learn, reservations, failures, rebuilds or pauses to think of. It
    saves time and changes nothing: whatever makes a table less than plain may leave it so for ever."""
    able: bool = True
    """Whether the table takes part and is not to be tried again later."""
    rebuild_wanted: bool = False
    revision_wanted: bool = False
    """Whether sources have changed behind the table's back: it is to be updated even if it gets no fresher."""
    wanted_since: float = 0.0
    """When a rebuild or a revision was asked for."""
    lane: int = 0
    queue: ReadyQueue = field(init=False)
    """That of its lane."""
    own: int = 0
    """The home tracks that its lane prefers."""
    partitioned_cost: float = 0.0
    """E(P) when the tables were last shared out."""
    expected_at: float = math.inf
    moment: float = 0.0
    """Of an update stream: the moment of the decision, which its staleness hangs on."""

    def arrived_among(self, timestamp: float, at: float) -> None:
        """Data has come that does not simply follow what is pending: it is late, or of an update stream."""
        if not self.update_stream:
            place = bisect_right(self.pending, timestamp, self.taken)
            self.pending.insert(place, timestamp)
            # It waits no shorter for being late than what it stands before.
            self.since.insert(place, min([at, *self.since[place : place + 1]]))
        elif len(self.pending) > self.taken:
            # Together with the updates that wait it is one piece, as old as the oldest of them.
            self.pending[-1], self.since[-1] = max(self.pending[-1], timestamp), min(self.since[-1], at)
        else:
            self.pending.append(timestamp)
            self.since.append(at)

    def seen_edge(self, edge: float | None, now: float) -> None:
        """The trailing edge of a view's sources is there now."""
        pending, since, taken = self.pending, self.since, self.taken
        # It can have gone back: a source has been set back by hand.
        while len(pending) > taken and (edge is None or pending[-1] > edge):
            pending.pop()
            since.pop()
        freshness = self.freshness
        while len(pending) > taken and freshness is not None and pending[taken] <= freshness:
            del pending[taken], since[taken]
        if edge is None or (freshness is not None and edge <= freshness):
            return
        if not pending or pending[-1] < edge:
            pending.append(edge)
            since.append(now)

    def set_standing(self, status: TableStatus, retry_at: float | None) -> None:
        self.status, self.retry_at = status, retry_at
        self.able = status is TableStatus.ACTIVE and retry_at is None
        self.plain = False

    def propose(self) -> bool:
        """Bring the candidate up to date; False if there is nothing to update."""
        if not self.plain:
            if self.update_stream:
                return self._propose_newest()
            if self.rebuild_wanted or self.revision_wanted:
                return self._propose_again()
        pending = self.pending
        if not pending:
            return False
        goal, freshness = pending[-1], self.freshness
        if freshness is not None and goal > freshness + self.stride and not self.first_load:
            goal = self.chopped(freshness)
        self.aim_at(goal)
        self.released_at = self.since[0]
        if self.learns and goal < pending[-1]:
            if self.left_over is None:
                self.left_over = len(pending)
            self.cost = self.known_costs.believed(self.cost, self.period_cost, missed=len(pending) - self.left_over)
        return True

    def aim_at(self, goal: float) -> None:
        """Let the update go up to there, with what that gains and costs."""
        freshness = self.freshness
        if freshness is None:
            # Nothing is loaded yet, so the first data stands for one period, like any other.
            delta = goal - self.pending[0] + self.period
        else:
            delta = goal - freshness if goal > freshness else 0.0
        self.upto, self.delta = goal, delta
        cost = self.alpha + self.beta * delta
        self.cost = cost if cost > SHORTEST else SHORTEST

    def _propose_newest(self) -> bool:
        """Staleness is how long the oldest pending update has waited, whatever its time stamp (Moga et al. 2009, 3.3).

        A view of update streams may gain time stamps as well, from other sources.
        """
        gained = 0.0
        if self.rebuild_wanted or self.revision_wanted:
            if not self._propose_again():
                return False
            gained = self.delta
        elif not self.pending:
            return False
        else:
            goal, freshness = self.pending[-1], self.freshness
            # What is left of an earlier update may be stamped before what that one has loaded.
            self.upto = goal if freshness is None else max(goal, freshness)
            self.released_at = min(self.since)
            if self.sources and freshness is not None:
                gained = goal - freshness
        self.delta = max(gained, self.moment - self.released_at, 0.0)
        self.cost = max(self.alpha + self.beta * self.delta, SHORTEST)
        return True

    def chopped(self, freshness: float) -> float:
        """The largest pending time stamp within the stride, and at least the first (Golab et al. 2011, section 3.4)."""
        within = bisect_right(self.pending, freshness + self.stride * _ROUNDING)
        return self.pending[max(0, within - 1)]

    def _propose_again(self) -> bool:
        """Something loaded before is to be computed anew."""
        goal, newest = self.freshness, self.pending[-1] if self.pending else None
        if newest is not None and self.freshness is not None and not self.first_load:
            newest = self.chopped(self.freshness)
        keeps_its_place = self.rebuild_wanted and not self.sources and goal is not None
        if newest is not None and not keeps_its_place:
            goal = newest
        if goal is None:
            return False
        start = self.freshness
        if start is None:
            start = (self.pending[0] if self.pending else goal) - self.period
        delta = max(0.0, goal - start)
        if self.rebuild_wanted:
            # It gains no freshness by itself, but what waits behind it does, and it must not wait for ever.
            delta = max(delta, self.period, (goal if newest is None else newest) - start)
        self.upto, self.delta = goal, delta
        self.released_at = min(self.wanted_since, self.since[0]) if self.since else self.wanted_since
        self.cost = max(self.alpha + self.beta * delta, SHORTEST)
        return True

    def want_rebuild(self, now: float) -> None:
        self.rebuild_wanted, self.wanted_since, self.plain = True, now, False

    def start_anew(self) -> bool:
        """Take what is wanted anew with the update; whether it takes what is pending as well."""
        self.running_rebuild, self.rebuild_wanted = self.rebuild_wanted, False
        self.running_revision, self.revision_wanted = self.revision_wanted, False
        return bool(self.pending) and bool(self.sources or not self.running_rebuild)

    def learn(self, gained: float, seconds: float) -> None:
        """An update that gained so much freshness took so long."""
        before = self.period_cost
        self.model = self.model.observed(gained, seconds)
        self.alpha, self.beta = self.model.coefficients
        self.known_costs.total += self.period_cost - before

    def succeeded(self) -> None:
        """The update has been committed, and nothing is left of what was wrong before."""
        self.failures = 0
        self.left_over = len(self.pending) - self.taken
        if self.left_over == 0:
            self.first_load = False
        self.running_rebuild = self.running_revision = self.disturbed = False

    def failed(self, *, counts: bool = True) -> None:
        """What the update had taken is pending again; whether that counts as a try."""
        if counts:
            self.failures += 1
        self.plain = self.disturbed = False
        self.track = NOT_RUNNING
        self.taken = 0
        self.rebuild_wanted |= self.running_rebuild
        self.revision_wanted |= self.running_revision
        self.running_rebuild = self.running_revision = False
        together = sorted(zip(self.pending, self.since, strict=True))
        self.pending, self.since = [stamp for stamp, _ in together], [came for _, came in together]
        for at in range(len(self.since) - 2, -1, -1):
            self.since[at] = min(self.since[at], self.since[at + 1])

    @property
    def period_cost(self) -> float:
        """E(P)."""
        return max(self.alpha + self.beta * self.period, SHORTEST)


def initial_state(
    table: ScheduledTable, place: int, *, priority: float, chopping: float | None, known_costs: KnownCosts
) -> TableState:
    """The state of a table at the start."""
    alpha, beta = table.cost.coefficients
    period = table.period or ASSUMED_PERIOD
    status = TableStatus.FAILED if table.failed else TableStatus.PAUSED if table.paused else TableStatus.ACTIVE
    state = TableState(
        table=table.name,
        place=place,
        priority=priority,
        period=period,
        spec=table,
        update_stream=table.update_stream,
        stride=math.inf if chopping is None or table.period is None or table.update_stream else chopping * table.period,
        freshness=table.freshness,
        safe=table.safe,
        first_load=table.freshness is None,
        model=table.cost,
        learns=table.cost.learns,
        known_costs=known_costs,
        alpha=alpha,
        beta=beta,
        status=status,
        able=status is TableStatus.ACTIVE,
        revision_wanted=table.revised_sources,
        expected_at=math.inf if table.expected_at is None else table.expected_at,
    )
    known_costs.total += state.period_cost
    known_costs.tables += 1
    return state
